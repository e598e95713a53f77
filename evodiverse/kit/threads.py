"""The number of threads of numerical libraries, which they read from the environment when they are loaded."""

import os
from typing import Final

THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The environment variables that set the number of threads.

Parallel processes should use one thread each, since more threads than cores slow each other down.
"""


def cap_threads() -> None:
    """Let numerical libraries that are loaded later, here or in child processes, use one thread.

    Variables that are already set take precedence.
    """
    for name in THREADS:
        os.environ.setdefault(name, "1")
