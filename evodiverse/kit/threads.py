"""How many threads numerical libraries use, which they ask the environment for when they load."""

import os
from typing import Final

THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The variables that limit them. Processes that work side by side should have one thread each: more of them than there
are cores wait for each other."""


def cap_threads() -> None:
    """Let numerical libraries that this process or its children load later use one thread, unless told otherwise."""
    for name in THREADS:
        os.environ.setdefault(name, "1")
