"""The identity of a run: the settings that can change its log, and the folder name and digest that stand for them."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from evodiverse.kit.typed import flatten, walk_keys

MAX_LABEL_BYTES = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9._=,\[\]-]")
_ABSENT = object()
# The seed does not count as an override, since the path of a run has a folder for it. (The path also has folders for
# the task, method and llm, but those are the same in the baseline of `find_overrides`.)
NAMED_ELSEWHERE = frozenset({"seed"})


def quiet_keys(schema: type, prefix: str = "") -> frozenset[str]:
    """Return the dotted keys that the schema marks as unable to change a run's log."""
    return frozenset(key for key, field, _ in walk_keys(schema, prefix) if not field.metadata.get("changes_log", True))


def later_defaults(schema: type, prefix: str = "") -> dict[str, Any]:
    """Return the defaults of the keys that the schema marks as later than some runs, by dotted key."""
    return {key: field.default for key, field, _ in walk_keys(schema, prefix) if field.metadata.get("is_later")}


def identity(settings: Mapping[str, Any], quiet: frozenset[str], later: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that can change a run's log, by dotted key.

    These are all settings except those named in ``quiet`` and those that have their value in ``later``. Infinity
    becomes the string "inf".
    """
    return {
        key: _as_json(value)
        for key, value in sorted(flatten(settings))
        if key not in quiet and (key not in later or value != later[key])
    }


def digest(identity: Mapping[str, Any]) -> str:
    """Return a digest of the settings that `identity` returns: 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(dict(identity), sort_keys=True).encode()).hexdigest()[:16]


def find_overrides(
    identity: Mapping[str, Any], baseline: Mapping[str, Any], later: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings in which a run differs from one with the same task, method and llm and no other override.

    The seed is left out.

    Args:
        identity: The settings of the run, by dotted key.
        baseline: The settings of the run without other overrides, by dotted key.
        later: The values that `identity` leaves out, by dotted key.

    Returns:
        The run's values, sorted by key. A key that only the baseline has counts as an override with its value in
        ``later``, or else null, unless the run has a group in place of a plain value, or the reverse. For example, the
        baseline's ``search.early_stop.top`` is left out if the run has ``search.early_stop=null``, and the baseline's
        ``search.early_stop=null`` is left out if the run has ``search.early_stop.top``.
    """
    groups = {group for key in identity for group in _ancestors(key)}
    return {
        key: identity.get(key, later.get(key))
        for key in sorted((set(identity) | set(baseline)) - NAMED_ELSEWHERE)
        if identity.get(key, _ABSENT) != baseline.get(key, _ABSENT)
        and not (key not in identity and (key in groups or not identity.keys().isdisjoint(_ancestors(key))))
    }


def override_label(overrides: Mapping[str, Any], first: str | None = None) -> str:
    """Return the name of the folder that stands for a run's overrides.

    Args:
        overrides: The overrides.
        first: A word in front of them, such as the name of a user's own problem.

    Returns:
        The word, and ``key=value`` of each override, joined by commas, or "default". Characters that are awkward in
        paths become ``_``. If a character was replaced, or if the label is longer than 100 bytes, the label is cut to
        100 bytes, and 8 hexadecimal digits of a digest keep it unique.
    """
    parts = [*filter(None, [first]), *(f"{key}={show(value)}" for key, value in overrides.items())]
    label = ",".join(parts or ["default"])
    safe = _UNSAFE.sub("_", label)
    if safe == label and len(safe) <= MAX_LABEL_BYTES:
        return safe
    return f"{safe[:MAX_LABEL_BYTES]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"


def _ancestors(key: str) -> Iterator[str]:
    """Yield the groups that contain a key. A group may have a plain value, as in ``search.early_stop=null``."""
    parts = key.split(".")
    return (".".join(parts[:depth]) for depth in range(1, len(parts)))


def _as_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Path | bytes):  # possible in the settings of a user's own domain
        return str(value)
    return "inf" if value == math.inf else value


def show(value: Any) -> str:
    """Return a value as it is written on the command line."""
    if isinstance(value, list):
        return "[" + ",".join(show(item) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    return str(value)
