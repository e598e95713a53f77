"""The cache folder, whose files all runs share."""

import os
from pathlib import Path

import platformdirs

from evodiverse.errors import DataError


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
