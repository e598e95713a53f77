"""The configuration reference, generated from the schema so that it cannot go out of date."""

from collections.abc import Mapping
from dataclasses import MISSING, Field
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from evodiverse.kit.typed import walk_keys
from evodiverse.settings.identity import show

_KINDS = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "bool",
    list[int]: "integers",
    list[float]: "numbers",
    list[Any]: "list",
    list[str]: "strings",
}
_HEAD = "| key | meaning | default | values |\n|---|---|---|---|\n"


def render(sections: Mapping[str, tuple[type, str, Mapping[str, Any]]]) -> str:
    """Return Markdown text with a heading and a table for each section.

    Args:
        sections: The sections by heading, each with the schema, the prefix of its keys, and the values of a run that
            overrides nothing, by dotted key.
    """
    seen: dict[str, str] = {}
    return "\n".join(
        f"## {heading}\n\n{_HEAD}"
        + "".join(
            _row(key, field, kind, defaults, seen)
            for key, field, kind in walk_keys(schema, prefix)
            if "doc" in field.metadata
        )
        for heading, (schema, prefix, defaults) in sections.items()
    )


def _row(key: str, field: Field[Any], kind: Any, defaults: Mapping[str, Any], seen: dict[str, str]) -> str:
    """Return the row of a key; a meaning that an earlier key has already refers to that key."""
    doc, bounds, unit = (field.metadata[name] for name in ("doc", "bounds", "unit"))
    first = seen.setdefault(doc, key)
    meaning = doc if first == key else f"as `{first}`"
    mark = "" if field.metadata["changes_log"] else "†"
    default = field.default if field.default_factory is MISSING else field.default_factory()
    values = _kind(kind)
    if bounds.names:
        values = f"{bounds} or null" if values.endswith("null") else str(bounds)
    elif str(bounds):
        values += f", {bounds}"
    if unit and unit not in doc:
        values += f" ({unit})"
    return f"| `{key}` | {meaning}{mark} | `{show(defaults.get(key, default))}` | {values} |\n"


def _kind(kind: Any) -> str:
    if get_origin(kind) is dict:
        return "keys"
    if kind is Any:
        return "any"
    if get_origin(kind) is UnionType:
        return " or ".join([*(_KINDS[option] for option in get_args(kind) if option is not NoneType), "null"])
    return _KINDS[kind]
