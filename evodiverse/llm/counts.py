"""Counts of tokens as providers report them, which may be anything that JSON can say."""

import json
import re
from typing import Any

# More than any model reads or writes for one query.
MAX_TOKENS = 10_000_000
_COUNT_NAME = re.compile(r".+tokens|.*token_?count|(prompt_)?eval_count", re.IGNORECASE)
_USAGE_NAMES = ("usage", "usageMetadata")
# Python refuses to read much longer integers; no count has so many digits.
_MAX_DIGITS = 20


def is_count(value: object) -> bool:
    """Return whether this is a number of tokens that one query can have used: an int from 0 to `MAX_TOKENS`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS


def drop_impossible_counts(body: bytes) -> bytes:
    """Return the JSON of a reply without the counts of tokens that cannot be.

    litellm refuses a whole reply for the sake of one such count. Without it the count is unknown, as if the provider
    had not counted. Impossible is what is fractional, negative, not finite or above `MAX_TOKENS`, and a truth value, a
    text or a list; 7.0 is 7. A body that is no JSON, or is nested too deep to be read, is returned as it is.
    """
    try:
        content = json.loads(body, object_hook=_drop_from, parse_int=_parse_int)
        return json.dumps(content).encode()
    except (ValueError, RecursionError):
        return body


def _drop_from(entries: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object without impossible counts."""
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
    """Return what a provider says of the tokens that a reply used, whose parts hold counts and further parts alone."""
    if not isinstance(usage, dict):
        return {}
    return {
        name: _usable_part(value) if isinstance(value, dict) else value
        for name, value in usage.items()
        if isinstance(value, dict | list) or not name.lower().endswith("details")
    }


def _usable_part(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of the usage, such as ``prompt_tokens_details``, without what litellm would stumble over."""
    return {
        name: _usable_part(value) if isinstance(value, dict) else value
        for name, value in part.items()
        if (isinstance(value, dict) if name.lower().endswith("details") else is_count(value))
    }


def _parse_int(digits: str) -> float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)
