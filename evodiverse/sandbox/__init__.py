"""Untrusted programs: each runs in a process of its own that can compute and do nothing else."""
