"""The content of ``run.json``: every key that is read, and the values that it may have."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, TypeAlias

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

STATUSES: Final = ("running", "complete", "failed", "interrupted", "asking")
_ANY: Final = "*"
_MOST_DEEP: Final = 8
_MOST_SHOWN: Final = 60
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,254}")

Key: TypeAlias = tuple[str, ...]
"""The path of keys to a value in a record; ``*`` stands for any key, or for any place in a list."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of value: its description in messages, and a predicate for its values."""

    words: str
    admits: Callable[[Any], bool]

    @property
    def or_null(self) -> "_Kind":
        return _Kind(f"{self.words} or null", lambda value: value is None or self.admits(value))


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and isfinite(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64


def _is_setting(value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth < _MOST_DEEP and all(_is_setting(each, depth + 1) for each in inner)
    return True


_TEXT: Final = _Kind("text", lambda value: isinstance(value, str))
_NAMED: Final = _Kind("the name of a folder", lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)))
_PLACED: Final = _Kind(
    "the path of a folder",
    lambda value: isinstance(value, str) and all(_NAME.fullmatch(part) for part in value.split("/", maxsplit=1)),
)
_NUMBER: Final = _Kind("a finite number", _is_number)
_WHOLE: Final = _Kind("a 64-bit integer", _is_whole)
_COUNT: Final = _Kind("an integer of at least 0", lambda value: _is_whole(value) and value >= 0)
_POSITIVE: Final = _Kind("an integer of at least 1", lambda value: _is_whole(value) and value > 0)
_OBJECT: Final = _Kind("an object", lambda value: isinstance(value, dict))
_LIST: Final = _Kind("a non-empty list", lambda value: isinstance(value, list) and bool(value))
_SETTING: Final = _Kind("a setting", _is_setting)
_STATUS: Final = _Kind(f"one of {', '.join(STATUSES)}", lambda value: value in STATUSES)
_BETA: Final = _Kind('a finite number or "inf"', lambda value: value == "inf" or _is_number(value))

_KINDS: Final[Mapping[Key, _Kind]] = {
    ("schema",): _COUNT,
    ("status",): _STATUS,
    ("stopped_by",): _TEXT.or_null,
    ("error",): _TEXT.or_null,
    ("digest",): _TEXT,
    ("settings",): _OBJECT,
    ("settings", _ANY): _SETTING,
    ("settings", "task.name"): _PLACED,
    ("settings", "task.domain"): _TEXT,
    ("settings", "method.name"): _NAMED,
    ("settings", "method.ladder"): _LIST,
    ("settings", "method.ladder", _ANY): _BETA,
    ("settings", "method.capacity"): _POSITIVE,
    ("settings", "method.parents"): _POSITIVE,
    ("settings", "method.offspring"): _POSITIVE,
    ("settings", "llm.name"): _NAMED,
    ("settings", "budget.oracle_calls"): _POSITIVE,
    ("settings", "seed"): _WHOLE,
    ("overrides",): _OBJECT,
    ("overrides", _ANY): _SETTING,
    ("sources",): _OBJECT,
    ("sources", _ANY): _TEXT,
    ("begun_from",): _OBJECT,
    ("begun_from", "path"): _TEXT,
    ("begun_from", "oracle_calls"): _COUNT,
    ("corrected",): _LIST,
    ("versions",): _LIST,
    ("versions", _ANY): _OBJECT,
    ("versions", _ANY, _ANY): _TEXT,
    ("git_commit",): _TEXT.or_null,
    ("started",): _TEXT.or_null,
    ("seconds",): _OBJECT,
    ("seconds", _ANY): _NUMBER,
    ("totals",): _OBJECT,
    ("totals", "iterations"): _COUNT.or_null,
    ("totals", "oracle_calls"): _COUNT.or_null,
    ("totals", "best_score"): _NUMBER.or_null,
    ("llm",): _OBJECT,
    ("llm", "calls"): _COUNT.or_null,
}
MEANINGS: Final[Mapping[str, str]] = {
    "schema": f"the version of the log, now {SCHEMA}; missing in logs of EvoDiverse 0.1, which are still readable",
    "status": "`running`, `complete`, `failed`, `interrupted`, or `asking` (waits for `evodiverse-tell`)",
    "stopped_by": "what ended a complete run: `budget` (evaluations), `early_stop`, `patience`, `target`, `llm_calls`, "
    "`tokens`, `usd`, `seconds` or `engine` (that of a baseline finished by itself); null before the end",
    "error": "the message of the error that ended a failed run; null otherwise",
    "digest": "a digest of the settings that can change the log; a run is resumed only with the same digest",
    "settings": "the value of every configuration key that can change the log",
    "overrides": "the settings that differ from the defaults of the chosen task, method and llm",
    "sources": "the SHA-256 of all data and code that the results depend on, by role, such as `initial`",
    "begun_from": "the run with a smaller budget that this run continued: its `path`, and the `oracle_calls` taken "
    "from it; missing if there is none",
    "corrected": "for each time that a failed run was resumed after the user had changed code of their own, the "
    "SHA-256 of that code before; missing if this never happened",
    "versions": "the versions of EvoDiverse, Python and the libraries, and as `code` a digest of EvoDiverse's own "
    "code; resuming with others adds an entry",
    "git_commit": "the commit that EvoDiverse ran from, with `-dirty` if files had changed; null outside a checkout",
    "started": "when the run was started, in UTC",
    "seconds": "`wall` time in seconds over all starts of the run, and how much of it the `operator` and the "
    "`oracle` took, those of a continued run included. After a kill, the time since the last commit is missing",
    "totals": "how far the run got: `iterations`, `oracle_calls` and `best_score`",
    "llm": "the use of language models: `calls`, `prompt_tokens`, `completion_tokens` and `cost_usd`, "
    "the same for each pool (`pools`), and what counts against `budget.tokens` and `budget.usd` (`counted_tokens`, "
    "`counted_usd`), where a reply of unknown size or price counts as the most that it could have cost",
    "engine": "only in runs of `evodiverse-baseline`: the number of `evaluations` that the other engine counted",
}
"""The meaning of each key of a record, for ``docs/columns.md``."""

SETTINGS: Final = tuple(key for key in _KINDS if len(key) == 2 and key[0] == "settings" and key[1] != _ANY)
"""The keys of the settings that every record must have."""


def find_absent(record: Mapping[str, Any], needed: Iterable[Key]) -> list[str]:
    """Return the dotted names of those needed keys that are missing from a record."""
    return [".".join(key) for key in needed if not any(_find(record, key))]


def find_newer(record: Mapping[str, Any]) -> str | None:
    """Return an error message if a newer EvoDiverse wrote this record and this version cannot read it, else None.

    The message has no subject: the caller puts the path of the record in front.
    """
    schema = record.get("schema", 0)
    if not _is_whole(schema) or schema <= SCHEMA:
        return None
    return (
        f"was written by a newer EvoDiverse (log schema {schema}, this one reads up to {SCHEMA}); "
        "upgrade with pip install --upgrade evodiverse"
    )


def find_damage(record: Mapping[str, Any]) -> list[str]:
    """Return one phrase for each invalid value of a record, with its name and the expected kind of value."""
    return [
        f"{name} is {_show(value)}, expected {kind.words}"
        for key, kind in _KINDS.items()
        for name, value in _find(record, key)
        if not kind.admits(value)
    ]


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
    for part in inner if key[0] == _ANY else [key[0]]:
        if part in inner:
            yield from _find(inner[part], key[1:], f"{name}.{printable(part)}" if name else part)


def _show(value: Any) -> str:
    """Return a value as a message shows it, on one line of bounded length."""
    if isinstance(value, dict | list):
        article, noun = ("an", "object") if isinstance(value, dict) else ("a", "list")
        return f"{article} {noun}" if value else f"an empty {noun}"
    text = "null" if value is None else printable(repr(value))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
