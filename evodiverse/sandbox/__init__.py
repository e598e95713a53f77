"""The sandbox for untrusted programs: each runs in its own process, which can compute but do nothing else."""
