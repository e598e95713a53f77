"""The environment variables that EvoDiverse and the libraries that it uses read."""

import os
from pathlib import Path
from typing import Final

import platformdirs

from evodiverse.errors import DataError

OFFLINE_VARIABLE: Final = "EVODIVERSE_OFFLINE"
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("", "0", "false", "no", "off")

THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The environment variables that set the number of threads.

Parallel processes should use one thread each, since more threads than cores slow each other down.
"""


def cache_folder() -> Path:
    """Return the cache folder, which may not exist yet: ``EVODIVERSE_CACHE``, or the platform's default.

    Raises:
        DataError: ``EVODIVERSE_CACHE`` starts with ``~``, and that home directory is unknown.
    """
    chosen = os.environ.get("EVODIVERSE_CACHE")
    try:
        return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("evodiverse"))
    except RuntimeError as error:
        raise DataError(f"EVODIVERSE_CACHE={chosen} cannot be used ({error}); name another folder") from error


def is_offline() -> bool:
    """Return whether ``EVODIVERSE_OFFLINE`` forbids the network.

    Raises:
        DataError: The value means neither yes nor no. A wrong guess could allow network access that the user forbids.
    """
    value = os.environ.get(OFFLINE_VARIABLE, "").strip().lower()
    if value not in _YES + _NO:
        raise DataError(f"{OFFLINE_VARIABLE} must be 1 or 0, got {value!r}; 1 keeps EvoDiverse off the network")
    return value in _YES


def cap_threads() -> None:
    """Let numerical libraries that are loaded later, here or in child processes, use one thread.

    Variables that are already set take precedence.
    """
    for name in THREADS:
        os.environ.setdefault(name, "1")
