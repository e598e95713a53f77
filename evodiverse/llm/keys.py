"""API keys: read from the environment or a ``.env`` file, and redacted from every message and reply."""

import json
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, quote_plus

from dotenv import dotenv_values

from evodiverse.errors import InputError, describe

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
# In characters. Shorter values occur within ordinary words, so they are not redacted.
_SHORTEST_SECRET = 8


def load_env_file(path: Path) -> None:
    """Add the variables of a ``.env`` file to the environment, without replacing those that have a value there.

    Variables named ``…_API_KEY`` then lose white space around their values, and are removed if nothing is left.

    Raises:
        InputError: The file cannot be read, or a variable in it is invalid.
    """
    try:
        for name, value in dotenv_values(path).items() if path.is_file() else ():
            if value and not os.environ.get(name):  # an empty variable counts as unset
                os.environ[name] = value
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path.absolute()} ({describe(error)}); fix or remove it") from error
    for name, value in list(os.environ.items()):
        if name.endswith("_API_KEY"):
            os.environ[name] = value.strip()  # such as the line break at the end of a file with the key
            if not value.strip():
                del os.environ[name]


def redact(text: str, *secrets: str | None) -> str:
    """Return a message with its secrets hidden.

    Args:
        text: The message.
        secrets: Secrets to hide in addition to the values of environment variables whose names mark them as secret,
            such as those with ``TOKEN`` in their name.
    """
    found = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    return _hide(text, found.union(secret for secret in secrets if secret is not None))


def redact_reply(text: str, *secrets: str) -> str:
    """Return a model's reply without secrets.

    A reply is data, and may contain the value of a harmless variable whose name only looks secret, such as MAX_TOKENS.
    So only the values of the environment variables for providers' keys (``…_API_KEY``) are hidden.

    Args:
        text: The reply.
        secrets: Secrets to hide in addition to these keys.
    """
    found = {value for name, value in os.environ.items() if name.endswith("_API_KEY")}
    return _hide(text, found.union(secrets))


def _hide(text: str, secrets: Iterable[str]) -> str:
    forms = {form for secret in secrets if len(secret) >= _SHORTEST_SECRET for form in _forms(secret)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, "***")
    return text


@lru_cache(maxsize=256)
def _forms(secret: str) -> frozenset[str]:
    """Return a secret as it is, and as it is written in JSON and in URLs."""
    in_json = (json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))
    content = secret.encode("utf-8", "surrogateescape")
    return frozenset({secret, *in_json, quote(content, safe=""), quote(content), quote_plus(content)})
