"""Conversion of nested mappings to dataclass objects, with a message for every invalid key."""

from collections.abc import Iterator, Mapping
from typing import Any

from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evodiverse.kit.hints import nearest_key, wrong_value


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all leaves of nested mappings as (dotted key, value); lists are leaves."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def merge_typed(schema: type, values: Mapping[str, Any], prefix: str) -> tuple[Any, list[str]]:
    """Convert a nested mapping to an object of a dataclass, and collect all errors.

    Args:
        schema: The dataclass.
        values: The values, by name.
        prefix: The prefix of the keys in the messages, such as ``task.``.

    Returns:
        The object, without the keys that have errors, so that the rest can be checked; None if a key without a default
        has no value. The messages about unknown keys, values of a wrong type and missing values.
    """
    typed = OmegaConf.structured(schema)
    OmegaConf.set_readonly(typed, False)  # the configuration of a frozen dataclass is read-only
    known = [f"{prefix}{key}" for key, _ in find_leaves(typed)]
    violations, wrong = [], set()
    for key, value in flatten(values):
        try:
            OmegaConf.update(typed, key, value)
        except (AttributeError, KeyError):
            violations.append(f"{prefix}{key} is unknown; {nearest_key(prefix + key, known)}")
        except OmegaConfBaseException as error:
            violations.append(wrong_value(f"{prefix}{key}", value, error))
            wrong.add(key)
    absent = [key for key, value in find_leaves(typed) if value == MISSING]
    violations += [f"{prefix}{key} has no value; set it" for key in absent if key not in wrong]
    return None if absent else OmegaConf.to_object(typed), violations


def find_leaves(config: DictConfig) -> Iterator[tuple[str, Any]]:
    """Yield all leaves of a configuration as (dotted key, value), without resolving interpolations."""
    return flatten(OmegaConf.to_container(config))  # type: ignore[arg-type]
