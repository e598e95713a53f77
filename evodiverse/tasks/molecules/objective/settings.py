"""Reading and checking ``task.objective``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Final, cast

from evodiverse.errors import InputError
from evodiverse.kit.documented import documented, documented_mapping, nearest
from evodiverse.kit.hints import wrong_type
from evodiverse.kit.typed import merge_typed
from evodiverse.tasks.molecules.objective.components import COMPONENTS, Component
from evodiverse.tasks.molecules.objective.transforms import COMBINATIONS, TRANSFORMS, Linear, Transform

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST: Final = 30
PREFIX: Final = "task.objective."


@dataclass
class ObjectiveSettings:
    """``task.objective``: a score composed of several components."""

    combine: str = documented(
        "how the scores of the components are combined", default="geometric_mean", choices=tuple(COMBINATIONS)
    )
    components: dict[str, Any] = documented_mapping(
        "what is measured: for each name of your choice, a kind and its keys"
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A component with its name and its transform, which is None if the raw values are scores already."""

    name: str
    component: Component
    transform: Transform | None


def read_objective(values: Mapping[str, Any]) -> tuple[str, tuple[Part, ...]]:
    """Read an objective, and return the name of its combination and its components.

    Args:
        values: The content of ``task.objective``.

    Raises:
        InputError: The content is invalid. The message lists everything that is wrong with it, each fault with its key.
    """
    settings, violations = merge_typed(ObjectiveSettings, _without_components(values), PREFIX)
    components = {} if values.get("components") is None else values["components"]
    if not isinstance(components, Mapping):
        violations.append(f"{PREFIX}components must be a group of keys, got {components}")
        components = {}
    elif not 1 <= len(components) <= _MOST:
        violations.append(f"{PREFIX}components must hold 1 to {_MOST} components, got {len(components)}")
    parts = []
    for name, one in components.items():
        part, wrong = _read_part(str(name), one)
        parts.append(part)
        violations += wrong
    if violations:
        raise InputError(*violations)
    return settings.combine, tuple(cast("list[Part]", parts))


def _without_components(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != "components"}


def read_component(values: object, prefix: str) -> tuple[Component | None, Transform | None, list[str]]:
    """Read a component with its transform.

    Args:
        values: The kind of the component and the keys of that kind.
        prefix: The prefix of these keys, for error messages.

    Returns:
        The component; its transform, or None if it has none; and what is wrong with them. If anything is wrong, the
        component and the transform may be None.
    """
    if not isinstance(values, Mapping):
        return None, None, [wrong_type(prefix[:-1], "a group of keys with a kind", values)]
    misshapen = [*_find_misshapen(values, prefix)]
    if misshapen:
        return None, None, misshapen
    component, violations = _read_kind(COMPONENTS, _with_lists(values), prefix)
    if component is None or violations:
        return None, None, violations
    violations += component.find_violations(prefix)
    if not component.transform:
        if not component.is_share:
            violations.append(
                f"{prefix}transform has no value; set one, as {component.kind} is not a score from 0 to 1"
            )
        return component, None, violations
    transform, wrong = _read_kind(TRANSFORMS, component.transform, f"{prefix}transform.")
    return component, transform, [*violations, *wrong]


def _read_part(name: str, values: object) -> tuple[Part | None, list[str]]:
    """Return the component ``name`` of an objective and a list of errors; with errors, the component may be None."""
    prefix = f"{PREFIX}components.{name}."
    if not _NAME.fullmatch(name):
        return None, [
            f"{prefix[:-1]}: a name may have at most 40 lower-case letters, digits and _, and must start with a letter"
        ]
    if values is None:
        return None, [f"{prefix[:-1]} must not be null; to drop the component, write ~{prefix[:-1]}"]
    component, transform, violations = read_component(values, prefix)
    return None if component is None else Part(name, component, transform), violations


def _read_kind(kinds: Mapping[str, type], values: Mapping[str, Any], prefix: str) -> tuple[Any, list[str]]:
    """Return an instance of the class that the key ``kind`` names, and what is wrong with it.

    The instance is None if the kind is unknown, or if `merge_typed` returns None.

    Args:
        kinds: The classes of components or of transforms, by kind.
        values: The key ``kind`` and the keys of that kind.
        prefix: The prefix of these keys, for error messages.
    """
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        hint = nearest(kind, list(kinds)) if isinstance(kind, str) else f"use one of {', '.join(kinds)}"
        return None, [f"{prefix}kind={kind} is unknown; {hint}" if kind else f"{prefix}kind has no value; {hint}"]
    known = {one.name for one in fields(kinds[kind])}
    settings, violations = merge_typed(
        kinds[kind], {key: value for key, value in values.items() if key != "kind" or "kind" in known}, prefix
    )
    if settings is not None:
        violations += _find_unusable(settings, prefix)
    return settings, violations


def _find_unusable(settings: Any, prefix: str) -> Iterator[str]:
    """Yield errors that `find_beyond` does not report: numbers that are not finite, and a `Linear` with equal ends."""
    for one in fields(settings):
        value = getattr(settings, one.name)
        if isinstance(value, float) and not isfinite(value) and one.metadata["bounds"].admit(value):
            yield f"{prefix}{one.name} must be a finite number, got {value}"
    if isinstance(settings, Linear) and settings.low == settings.high:
        yield f"{prefix}low and {prefix}high are both {settings.low}; they must differ"


def _find_misshapen(values: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield an error if the ``smiles`` or the ``transform`` of a component has the wrong structure.

    If given, ``smiles`` must be a string or a list of strings, and ``transform`` must be a mapping or None.
    """
    smiles, transform = values.get("smiles", ""), values.get("transform")
    if not isinstance(smiles, str) and not (isinstance(smiles, list) and all(isinstance(one, str) for one in smiles)):
        yield wrong_type(f"{prefix}smiles", "a SMILES or a list of SMILES", smiles)
    if transform is not None and not isinstance(transform, Mapping):
        example = "{kind: gaussian, mu: 2, sigma: 1}"
        yield wrong_type(f"{prefix}transform", f"a group of keys with a kind, such as {example}", transform)


def _with_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of one component of a composed score, with a single SMILES wrapped in a list."""
    return {key: [value] if key == "smiles" and isinstance(value, str) else value for key, value in values.items()}
