"""The content of ``run.json``: every key that is read, and the values that it may have."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypeAlias

from evodiverse.errors import InputError
from evodiverse.kit.files import read_shipped
from evodiverse.text import printable

RECORD: Final = "run.json"
MOST_BYTES: Final = 1 << 20
"""The largest size of a ``run.json`` that is read, in bytes; most files take 5 kB."""

SCHEMA: Final = 1
"""The version of the log format that this EvoDiverse writes.

EvoDiverse 0.1 wrote no version, which is read as 0; its files and columns are those of version 1. A change that older
readers would misunderstand increments the version.
"""

CHECKPOINT: Final = "checkpoint/state.json"
"""The file with the state after the last commit, from which the run resumes."""

JOBS: Final = "jobs"
"""The folder with the files of the user's program that evaluates candidates (``evaluator=command``)."""

ASKED: Final = "asked.csv"
"""The table of the candidates whose scores the run waits for (``evaluator=ask``)."""

PRICES: Final = "prices.json"
"""The prices of the run's models when it was started, in USD per token."""

LOCK: Final = ".lock"
"""The file that is locked by the process that writes the run; its content names that process."""

REPORT: Final = "report.html"
"""The page about a run that `evodiverse-report` writes next to its record."""

BEST: Final = "best"
"""The folder with files for people about the best candidates."""

CHOSEN: Final = "chosen.txt"
"""The file in the folder `BEST` with the task's line about the candidate that it chooses."""

CODE: Final = "code/"
"""The beginning of the keys under ``sources`` that stand for a user's code files; the path of the file follows."""

_MOST_SHOWN: Final = 60
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,254}")

Key: TypeAlias = tuple[str, ...]
"""The path of keys to a value in a record; ``*`` stands for any key, or for any place in a list."""


_TABLE: Final = read_shipped(Path(__file__).with_suffix(".yaml"))
_KINDS: Final[Mapping[Key, str]] = {tuple(key.split("/")): kind for key, kind in _TABLE["kinds"].items()}
MEANINGS: Final[Mapping[str, str]] = _TABLE["meanings"]
"""The meaning of each key of a record, for ``docs/columns.md``."""

SETTINGS: Final = tuple(key for key in _KINDS if len(key) == 2 and key[0] == "settings")
"""The keys of the settings that every record must have."""


def check_record(path: Path, record: Mapping[str, Any], needed: Sequence[Key]) -> None:
    """Check that this EvoDiverse can read a record, and that its values are of their kinds.

    Args:
        path: The path of the record, for messages.
        record: The record.
        needed: The keys that it must have.

    Raises:
        InputError: It is from a newer EvoDiverse, lacks a key, or is damaged.
    """
    schema = record.get("schema", 0)
    if _admits("a 64-bit integer", schema) and schema > SCHEMA:
        raise InputError(
            f"{path} was written by a newer EvoDiverse (log schema {schema}, this one reads up to {SCHEMA}); "
            "upgrade with pip install --upgrade evodiverse"
        )
    if absent := [".".join(key) for key in needed if not any(_find(record, key))]:
        raise InputError(
            f"{path} is not the record of a run (no {', '.join(absent)}); move it away or use overwrite=true"
        )
    bad = [
        f"{name} is {_show(value)}, expected {kind}"
        for key, kind in _KINDS.items()
        for name, value in _find(record, key)
        if not _admits(kind, value)
    ]
    if bad:
        raise InputError(f"{path} is damaged ({'; '.join(bad)}); run it again with overwrite=true")


def _admits(kind: str, value: Any) -> bool:
    """Return whether a value is of a kind, as ``record.yaml`` names kinds."""
    if kind.endswith(" or null"):
        return value is None or _admits(kind.removesuffix(" or null"), value)
    if kind.startswith("one of "):
        return value in kind.removeprefix("one of ").split(", ")
    return _TESTS[kind](value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64


_TESTS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "the name of a folder": lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)),
    "the path of a folder": lambda value: isinstance(value, str) and all(map(_NAME.fullmatch, value.split("/", 1))),
    "an object": lambda value: isinstance(value, dict),
    "a non-empty list": lambda value: isinstance(value, list) and bool(value),
    "a finite number": lambda value: _is_whole(value) or (isinstance(value, float) and isfinite(value)),
    'a finite number or "inf"': lambda value: value == "inf" or _admits("a finite number", value),
    "a 64-bit integer": _is_whole,
    "an integer of at least 0": lambda value: _is_whole(value) and value >= 0,
    "an integer of at least 1": lambda value: _is_whole(value) and value >= 1,
}


def _find(value: Any, key: Key, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted name and the value of each entry of ``value`` that ``key`` matches.

    A key with ``*`` may match several entries, and a key that does not exist matches none. ``name`` is the dotted name
    of ``value`` itself.
    """
    if not key:
        yield name, value
        return
    inner: Mapping[str, Any] = value if isinstance(value, dict) else {}
    if isinstance(value, list):
        inner = {str(place): each for place, each in enumerate(value)}
    for part in inner if key[0] == "*" else [key[0]]:
        if part in inner:
            yield from _find(inner[part], key[1:], f"{name}.{printable(part)}" if name else part)


def _show(value: Any) -> str:
    """Return a value as a message shows it, on one line of bounded length."""
    if isinstance(value, dict | list):
        article, noun = ("an", "object") if isinstance(value, dict) else ("a", "list")
        return f"{article} {noun}" if value else f"an empty {noun}"
    text = "null" if value is None else printable(repr(value))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
