"""Conversion of nested mappings to dataclass objects, with a message for every invalid key."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evodiverse.kit.documented import find_beyond
from evodiverse.kit.hints import first_line, nearest_key, wrong_type

_GROUP, _LIST, _PLAIN = "a group of keys", "a list", "a single value"
_NOT_NULL = "a value other than null"
_WORDS: Final[Mapping[object, str]] = {int: "an integer", float: "a number", bool: "true or false", str: "text"}


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


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all leaves of nested mappings as (dotted key, value); lists and empty mappings are leaves."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


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
    known = [f"{prefix}{key}" for key, _ in find_leaves(typed)]
    violations, wrong, lacks_group = [], set(), False
    kinds = {key: kind for key, _, kind in walk_keys(schema)}
    for key, value in _find_values(values, kinds):
        kind = kinds.get(key, Any)
        violation = _find_wrong_shape(f"{prefix}{key}", value, kind)
        try:
            if value is None and get_origin(kind) is dict:
                OmegaConf.update(typed, key, {}, merge=False)
            elif violation is None:
                OmegaConf.update(typed, key, value)
        except (AttributeError, KeyError):
            violations.append(f"{prefix}{key} is unknown; {nearest_key(prefix + key, known)}")
            continue
        except OmegaConfBaseException as error:
            violation = wrong_value(f"{prefix}{key}", value, kind, error, value)
        if violation is not None:
            violations.append(violation)
            wrong.add(key)
            lacks_group |= _shape(kind) == _GROUP
    absent = [key for key, value in find_leaves(typed) if value == MISSING]
    violations += [f"{prefix}{key} has no value; set it" for key in absent if key not in wrong]
    if absent or lacks_group:
        return None, violations
    settings = OmegaConf.to_object(typed)
    return settings, [*violations, *find_beyond(settings, prefix)]


def find_leaves(config: DictConfig) -> Iterator[tuple[str, Any]]:
    """Yield all leaves of a configuration as (dotted key, value), without resolving interpolations."""
    return flatten(OmegaConf.to_container(config))  # type: ignore[arg-type]


def wrong_value(key: str, value: object, kind: object, error: OmegaConfBaseException, shown: object) -> str:
    """Return a message about a value that OmegaConf refused.

    Args:
        key: The dotted key.
        value: The value.
        kind: The type of the key. The message quotes the error instead if this is Any.
        error: The error; it names the item if only an item of a list is wrong.
        shown: The value as the message shows it.
    """
    item = re.search(r"\[(\d+)\]$", str(error.full_key))
    if item and isinstance(value, list):
        key, value, kind = f"{key}{item[0]}", value[int(item[1])], _item_kind(kind)
    if value is None and kind is not Any:
        return wrong_type(key, _NOT_NULL, shown)
    expected = _describe(kind)
    return f"{key}={shown}: {first_line(error)}" if expected is None else wrong_type(key, expected, shown)


def _find_values(values: Mapping[str, Any], kinds: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all leaves of nested mappings as (dotted key, value).

    A mapping in the place of a plain value or a list is a leaf.
    """
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value and _shape(kinds.get(key, Any)) not in (_LIST, _PLAIN):
            yield from _find_values(value, kinds, f"{key}.")
        else:
            yield key, value


def _find_wrong_shape(key: str, value: object, kind: object) -> str | None:
    """Return a message if a value is a group of keys or a list, but its key needs something else; None otherwise.

    Each item of a list is checked in the same way, and a null item is reported unless the type of the items allows it.
    `merge_typed` relies on OmegaConf to find all other values of the wrong type.
    """
    expected, shape = _shape(kind), _GROUP if isinstance(value, Mapping) else _LIST if isinstance(value, list) else None
    if expected is None or shape is None:
        return None
    if shape != expected:
        return wrong_type(key, _describe(kind) or expected, value)
    items = value if isinstance(value, list) else []
    found = (_find_wrong_item(f"{key}[{at}]", item, _item_kind(kind)) for at, item in enumerate(items))
    return next((violation for violation in found if violation is not None), None)


def _find_wrong_item(key: str, item: object, kind: object) -> str | None:
    if item is None and kind is not Any and NoneType not in get_args(kind):
        return wrong_type(key, _NOT_NULL, item)
    return _find_wrong_shape(key, item, kind)


def _item_kind(kind: object) -> object:
    """Return the type of the items of a list type, or Any."""
    return next((get_args(option)[0] for option in _options(kind) if get_origin(option) is list), Any)


def _describe(kind: object) -> str | None:
    """Return what a value of a type is, in words that follow "must be"; None if that is unknown, as for Any."""
    words = [_WORDS.get(option, _shape_of(option)) for option in _options(kind)]
    return None if None in words else " or ".join(dict.fromkeys(map(str, words)))


def _shape(kind: object) -> str | None:
    """Return the shape of the values of a type: a group of keys, a list or a single value.

    The shape is None if it is unknown, as for Any, or if the members of a union have different shapes.
    """
    shapes = {_shape_of(option) for option in _options(kind)}
    return shapes.pop() if len(shapes) == 1 else None


def _shape_of(option: object) -> str | None:
    base = get_origin(option) or option
    if base is Any or not isinstance(base, type):
        return None
    if is_dataclass(base) or issubclass(base, dict):
        return _GROUP
    return _LIST if issubclass(base, list | tuple) else _PLAIN


def _options(kind: object) -> list[Any]:
    """Return the members of a union type, or any other type as the only item of a list; NoneType is left out."""
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return [option for option in options if option is not NoneType]
