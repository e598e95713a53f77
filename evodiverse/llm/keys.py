"""Keys: from the environment or a ``.env`` file, and out of every message."""

import os
import re
from pathlib import Path

from dotenv import dotenv_values

from evodiverse.errors import InputError, describe

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST_SECRET = 6  # characters; a shorter value would stand in many words


def load_env_file(path: Path) -> None:
    """Add the variables of a ``.env`` file to the environment, where those that are there already stay.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        values = dotenv_values(path) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path.absolute()} ({describe(error)}); mend or remove it") from error
    for name, value in values.items():
        if value and not os.environ.get(name):  # an empty variable is none
            try:
                os.environ[name] = value
            except ValueError as error:
                raise InputError(f"{path.absolute()}: {name} cannot be a variable ({error}); mend it") from error
    for name, value in list(os.environ.items()):
        if name.endswith("_API_KEY") and not value.strip():
            del os.environ[name]


def redact(text: str, *secrets: str | None) -> str:
    """Return ``text`` without ``secrets`` and the values of variables whose name says that they are secret."""
    values = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    values |= {secret for secret in secrets if secret is not None}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return text
