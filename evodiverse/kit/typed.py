"""Conversion of nested mappings to dataclass objects, with a message for every invalid key."""

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass, make_dataclass
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evodiverse.kit.documented import find_beyond
from evodiverse.kit.hints import nearest_key, wrong_type

_WORDS: Final[Mapping[object, str]] = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a group of keys",
}


def walk_keys(schema: type, prefix: str = "") -> Iterator[tuple[str, Field[Any], Any]]:
    """Yield all keys that a dataclass describes as (dotted key, field, type), each group before the keys in it."""
    kinds = get_type_hints(schema)
    for field in fields(schema):
        if field.metadata.get("omegaconf_ignore"):
            continue
        key, kind = f"{prefix}{field.name}", kinds[field.name]
        yield key, field, kind
        for option in _options(kind):
            if isinstance(option, type) and is_dataclass(option):
                yield from walk_keys(option, f"{key}.")


def flatten(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield all leaves of nested mappings as (dotted key, value); lists and empty mappings are leaves."""
    return find_values(settings, {})


def find_values(values: Mapping[str, Any], kinds: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in nested mappings as (dotted key, value).

    Args:
        values: The mappings.
        kinds: The types of all keys, by dotted key. A mapping is taken apart if its key stands for a group of keys, or
            is unknown.
        prefix: The prefix of the keys.
    """
    for name, value in values.items():
        key = f"{prefix}{name}"
        is_group = any(map(is_dataclass, _options(kinds.get(key))))
        if isinstance(value, Mapping) and (is_group or (value and key not in kinds)):
            yield from find_values(value, kinds, f"{key}.")
        else:
            yield key, value


def merge_typed(schema: type, values: Mapping[str, Any], prefix: str) -> tuple[Any, list[str]]:
    """Convert a nested mapping to an object of a dataclass, and collect all errors.

    Args:
        schema: The dataclass to convert to.
        values: The values, by name. For a field of type dict, whose keys the user chooses, null means an empty group.
        prefix: The prefix of the keys in the messages, such as ``task.``.

    Returns:
        The object, and the messages about unknown keys, missing values, and values that have the wrong type or are
        beyond the bounds of their keys. In the object, a key with a value of the wrong type keeps its default, so that
        the rest can be checked. The object is None if a key without a default has no value, or if the value of a group
        of keys is not a mapping.
    """
    typed = OmegaConf.structured(schema)
    OmegaConf.set_readonly(typed, False)  # the configuration of a frozen dataclass is read-only
    kinds = {key: kind for key, _, kind in walk_keys(schema)}
    violations, wrong, lacks_group = [], set(), False
    for key, value in find_values(values, kinds):
        if key not in kinds:
            violations.append(f"{prefix}{key} is unknown; {nearest_key(prefix + key, [prefix + one for one in kinds])}")
            continue
        holds_any_keys = get_origin(kinds[key]) is dict
        try:
            given = {} if value is None and holds_any_keys else value
            OmegaConf.update(typed, key, given, merge=holds_any_keys and isinstance(value, Mapping))
        except OmegaConfBaseException:
            violations.append(wrong_value(f"{prefix}{key}", value, kinds[key]))
            wrong.add(key)
            lacks_group |= holds_any_keys or any(map(is_dataclass, _options(kinds[key])))
    absent = [key for key, value in find_leaves(typed) if value == MISSING]
    violations += [f"{prefix}{key} has no value; set it" for key in absent if key not in wrong]
    if absent or lacks_group:
        return None, violations
    settings = OmegaConf.to_object(typed)
    return settings, [*violations, *find_beyond(settings, prefix)]


def find_leaves(config: DictConfig) -> Iterator[tuple[str, Any]]:
    """Yield all leaves of a configuration as (dotted key, value), without resolving interpolations."""
    return flatten(OmegaConf.to_container(config))  # type: ignore[arg-type]


def wrong_value(key: str, value: object, kind: object, shown: object = None) -> str:
    """Return a message about a value that does not fit the type of its key, or about its first item that does not.

    Args:
        key: The dotted key.
        value: The value.
        kind: The type.
        shown: What the message shows; None for the value or its item.
    """
    items = next((get_args(option)[0] for option in _options(kind) if get_origin(option) is list), Any)
    for at, item in enumerate(value if isinstance(value, list) else ()):
        if not _fits(item, items):
            return wrong_value(f"{key}[{at}]", item, items, shown)
    words = dict.fromkeys(map(_describe, _options(kind)))
    expected = "a value other than null" if value is None else " or ".join(words)
    return wrong_type(key, expected, value if shown is None else shown)


def _fits(value: object, kind: Any) -> bool:
    typed = OmegaConf.structured(make_dataclass("Typed", [("value", kind)]))
    try:
        typed.value = value
    except OmegaConfBaseException:
        return False
    return True


def _describe(option: Any) -> str:
    """Return what a value of a type is, in words that follow "must be"."""
    return "a group of keys" if is_dataclass(option) else _WORDS.get(get_origin(option) or option, "a single value")


def _options(kind: object) -> list[Any]:
    """Return the members of a union type, or any other type as the only item of a list; NoneType is left out."""
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return [option for option in options if option is not NoneType]
