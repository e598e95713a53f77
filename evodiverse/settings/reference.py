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
    bool: "true or false",
    list[int]: "list of integers",
    list[float]: "list of numbers",
    list[Any]: "list",
    list[str]: "list of strings",
}
_HEAD = "| key | meaning | default | unit | type | values |\n|---|---|---|---|---|---|\n"


def render(sections: Mapping[str, tuple[type, str, Mapping[str, Any]]]) -> str:
    """Return Markdown text with a heading and a table for each section.

    Args:
        sections: The sections by heading, each with the schema, the prefix of its keys, and the values of a run that
            overrides nothing, by dotted key.
    """
    return "\n".join(
        f"## {heading}\n\n{_HEAD}"
        + "".join(
            _row(key, field, kind, defaults)
            for key, field, kind in walk_keys(schema, prefix)
            if "doc" in field.metadata
        )
        for heading, (schema, prefix, defaults) in sections.items()
    )


def _row(key: str, field: Field[Any], kind: Any, defaults: Mapping[str, Any]) -> str:
    doc = field.metadata["doc"]
    if not field.metadata["changes_log"]:
        doc += " (not part of a run's identity)"
    default = field.default if field.default_factory is MISSING else field.default_factory()
    values, shown = str(field.metadata["bounds"]), f"`{show(defaults.get(key, default))}`"
    return f"| `{key}` | {doc} | {shown} | {field.metadata['unit']} | {_kind(kind)} | {values} |\n"


def _kind(kind: Any) -> str:
    if get_origin(kind) is dict:
        return "keys"
    if kind is Any:
        return "any"
    if get_origin(kind) is UnionType:
        return " or ".join([*(_KINDS[option] for option in get_args(kind) if option is not NoneType), "null"])
    return _KINDS[kind]
