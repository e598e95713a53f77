"""What the surroundings say about the network: whether it may be used, and the command that does."""

import os
from collections.abc import Sequence

from evodiverse.data.artefacts import Artefact
from evodiverse.errors import DataError

OFFLINE_VARIABLE = "EVODIVERSE_OFFLINE"
_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")


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
