"""Messages about unknown keys and invalid values."""

import difflib
import re
import shlex
from collections.abc import Sequence
from itertools import takewhile

from yaml import MarkedYAMLError

MAX_CHOICES = 3
_PLAIN = re.compile(r"[\w./+-]*\.[a-z]+", re.ASCII)  # a path that both Hydra and a shell take as it is


def nearest_key(key: str, known: Sequence[str]) -> str:
    """Return a question that suggests the known keys most similar to ``key``, or else the command that prints all keys.

    The suggestions are the first of the following that exist. More than `MAX_CHOICES` keys in 3 or 5 count as none.

    1. a key of the same group whose name differs only in underscores and case
    2. a key with the same name in another group
    3. the keys of the same group whose names contain all words of the key
    4. a key of the same group with a similar spelling
    5. for a key without a group, the keys of any group whose names contain all words of the key
    6. for a key without a group, a key of any group with a similar spelling
    """
    parent, _, name = key.rpartition(".")
    same_name = [other for other in known if other.rpartition(".")[2] == name]
    siblings = {other.rpartition(".")[2]: other for other in known if other.rpartition(".")[0] == parent}
    matches = (
        [siblings[other] for other in siblings if _letters(other) == _letters(name)]
        or difflib.get_close_matches(key, same_name, n=1, cutoff=0.0)
        or _with_words_of(name, list(siblings.values()))
        or [siblings[match] for match in difflib.get_close_matches(name, list(siblings), n=1, cutoff=0.5)]
        or _with_words_of(name, [] if parent else known)
        or difflib.get_close_matches(key, [] if parent else known, n=1, cutoff=0.5)
    )
    return f"did you mean {' or '.join(matches)}?" if matches else "evodiverse --cfg job prints all keys"


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def _with_words_of(name: str, keys: Sequence[str]) -> list[str]:
    """Return the keys whose last parts contain all words of a name; none if there are more than `MAX_CHOICES`."""
    words = set(name.lower().split("_"))
    found = [key for key in keys if words <= set(key.rpartition(".")[2].lower().split("_"))]
    return found if len(found) <= MAX_CHOICES else []


def write_override(key: str, text: str) -> str:
    """Return a command-line override that sets a key to a text, quoted for Hydra and for the shell where needed."""
    if _PLAIN.fullmatch(text):
        return f"{key}={text}"
    return shlex.quote(f"{key}={quote_value(text)}")


def quote_value(text: str) -> str:
    """Return a text in quotes, which Hydra reads as exactly this text."""
    escaped = re.sub(r'(\\+)(?="|\Z)', r"\1\1", text).replace('"', '\\"')  # backslashes count only before a quote
    return f'"{escaped}"'


def wrong_type(key: str, expected: str, value: object) -> str:
    """Return a message about a value of the wrong type.

    Args:
        key: The dotted key.
        expected: The expected type, in words that follow "must be".
        value: The value; the message shows None as null.
    """
    return f"{key} must be {expected}, got {'null' if value is None else value}"


def first_line(error: BaseException) -> str:
    """Return the first informative line of an error's message, or the name of its class if the message is empty.

    Leading lines that end in a colon are joined with the line after them. For an error in YAML, the result starts with
    the file, line and column of the error.
    """
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    head = list(takewhile(lambda line: line.endswith(":"), lines))
    return " ".join(lines[: len(head) + 1]) or type(error).__name__
