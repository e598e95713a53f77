"""The configuration reference, generated from the schema so that it cannot go out of date."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

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
        f"## {heading}\n\n{_HEAD}" + "".join(_rows(schema, prefix, defaults))
        for heading, (schema, prefix, defaults) in sections.items()
    )


def _rows(schema: type, prefix: str, defaults: Mapping[str, Any]) -> Iterator[str]:
    for field in fields(schema):
        key = f"{prefix}{field.name}"
        inner = _inner(field.type)
        if inner is not None:
            yield from _rows(inner, f"{key}.", defaults)
        elif "doc" in field.metadata:
            yield _row(key, field, defaults)


def _row(key: str, field: Field[Any], defaults: Mapping[str, Any]) -> str:
    doc = field.metadata["doc"]
    if not field.metadata["changes_log"]:
        doc += " (not part of a run's identity)"
    default = field.default if field.default_factory is MISSING else field.default_factory()
    values, shown = str(field.metadata["bounds"]), f"`{show(defaults.get(key, default))}`"
    return f"| `{key}` | {doc} | {shown} | {field.metadata['unit']} | {_kind(field.type)} | {values} |\n"


def _inner(kind: Any) -> type | None:
    """Return the dataclass that describes the keys below a key, or None if the key holds a plain value."""
    for option in get_args(kind) or [kind]:
        if isinstance(option, type) and is_dataclass(option):
            return option
    return None


def _kind(kind: Any) -> str:
    if get_origin(kind) is dict:
        return "keys"
    if kind is Any:
        return "any"
    if get_origin(kind) is UnionType:
        return " or ".join([*(_KINDS[option] for option in get_args(kind) if option is not NoneType), "null"])
    return _KINDS[kind]
