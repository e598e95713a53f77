"""How many threads numerical libraries use, which they ask the environment for when they load."""

from typing import Final

THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The variables that limit them. Processes that work side by side should have one thread each: more of them than there
are cores wait for each other."""
