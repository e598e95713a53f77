"""Where files are kept that all runs share."""

import os
from pathlib import Path

import platformdirs

from evodiverse.errors import DataError


def cache_folder() -> Path:
    """Return the folder of the cache: ``EVODIVERSE_CACHE``, else the platform's; it need not exist yet.

    Raises:
        DataError: It lies in a home that is none.
    """
    chosen = os.environ.get("EVODIVERSE_CACHE")
    try:
        return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("evodiverse"))
    except RuntimeError as error:
        raise DataError(f"EVODIVERSE_CACHE={chosen} cannot be used ({error}); name another folder") from error
