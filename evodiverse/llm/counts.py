"""Counts of tokens as providers report them, which may be any JSON value."""

import re
from typing import Any

# The largest count that one query can plausibly have; more than any model reads or writes.
MAX_TOKENS = 10_000_000
_COUNT_NAME = re.compile(r".+tokens|.*token_?count|(prompt_)?eval_count", re.IGNORECASE)
_USAGE_NAMES = ("usage", "usageMetadata")
# Longer integers are read as floats.
_MAX_DIGITS = 20


def is_count(value: object) -> bool:
    """Return whether this is a possible number of tokens of one query: an int from 0 to `MAX_TOKENS`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS


def drop_impossible_counts(entries: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object of a reply without its impossible counts of tokens.

    A single such count would make litellm reject the whole reply. Without it, the count is unknown, as if the provider
    had not reported it. A count is impossible if it is fractional, negative, not finite, above `MAX_TOKENS`, a boolean,
    a string, a list or an object; 7.0 counts as 7.
    """
    kept: dict[str, Any] = {}
    for name, value in entries.items():
        if name in _USAGE_NAMES and value is not None:
            kept[name] = _usable_usage(value)
        elif not _COUNT_NAME.fullmatch(name) or value is None or is_count(value):
            kept[name] = value
        elif isinstance(value, float) and value.is_integer() and is_count(int(value)):
            kept[name] = int(value)
    return kept


def _usable_usage(usage: Any) -> dict[str, Any]:
    """Return a provider's usage report without values that litellm rejects.

    A JSON object that is the value of a field keeps only valid token counts, and objects whose names end in
    ``details``. If the report itself is not a JSON object, the result is empty.
    """
    if not isinstance(usage, dict):
        return {}
    return {
        name: _usable_part(value) if isinstance(value, dict) else value
        for name, value in usage.items()
        if isinstance(value, dict | list) or not name.lower().endswith("details")
    }


def _usable_part(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of the usage report, such as ``prompt_tokens_details``, without values that litellm rejects."""
    return {
        name: _usable_part(value) if isinstance(value, dict) else value
        for name, value in part.items()
        if (isinstance(value, dict) if name.lower().endswith("details") else is_count(value))
    }


def parse_int(digits: str) -> float:
    """Return the number that an integer in JSON stands for, as a float if it is long: Python refuses very long ones."""
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)
