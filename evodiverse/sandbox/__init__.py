"""The sandbox for untrusted programs: each runs in its own process, which can do little more than compute."""
