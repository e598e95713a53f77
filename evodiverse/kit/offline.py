"""The environment variable that forbids the use of the network."""

import os
from typing import Final

from evodiverse.errors import DataError

OFFLINE_VARIABLE: Final = "EVODIVERSE_OFFLINE"
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("", "0", "false", "no", "off")


def is_offline() -> bool:
    """Return whether ``EVODIVERSE_OFFLINE`` forbids the network.

    Raises:
        DataError: The value means neither yes nor no. A wrong guess could allow network access that the user forbids.
    """
    value = os.environ.get(OFFLINE_VARIABLE, "").strip().lower()
    if value not in _YES + _NO:
        raise DataError(f"{OFFLINE_VARIABLE} must be 1 or 0, got {value!r}; 1 keeps EvoDiverse off the network")
    return value in _YES
