"""What the surroundings say about data: where the cache is, and whether the network may be used."""

import os
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from evodiverse.data.artefacts import Artefact
from evodiverse.errors import DataError

OFFLINE_VARIABLE = "EVODIVERSE_OFFLINE"
_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")


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


def is_offline() -> bool:
    """Say whether ``EVODIVERSE_OFFLINE`` forbids the network.

    Raises:
        DataError: It is neither a yes nor a no; guessing could reach the network against somebody's will.
    """
    value = os.environ.get(OFFLINE_VARIABLE, "").strip().lower()
    if value not in _YES + _NO:
        raise DataError(f"{OFFLINE_VARIABLE} must be 1 or 0, got {value!r}; 1 keeps EvoDiverse off the network")
    return value in _YES


def fetch_command(artefacts: Sequence[Artefact]) -> str:
    """Return the shell command that fetches these artefacts, even where ``EVODIVERSE_OFFLINE`` is set.

    Raises:
        DataError: ``EVODIVERSE_OFFLINE`` is neither a yes nor a no.
    """
    online = f"{OFFLINE_VARIABLE}=0 " if is_offline() else ""
    return f"{online}evodiverse-data fetch {' '.join(artefact.name for artefact in artefacts)}"
