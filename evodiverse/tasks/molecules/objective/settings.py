"""Reading and checking ``task.objective``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evodiverse.errors import InputError
from evodiverse.kit.documented import nearest, setting
from evodiverse.kit.hints import wrong_type
from evodiverse.kit.typed import merge_typed
from evodiverse.tasks.molecules.objective.components import COMPONENTS, NUMBERS, Component
from evodiverse.tasks.molecules.objective.transforms import COMBINATIONS, TRANSFORMS, DoubleSigmoid, Linear, Transform

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST: Final = 30
PREFIX: Final = "task.objective."


@dataclass
class ObjectiveSettings:
    """``task.objective``: a score composed of several components.

    Attributes:
        combine: how the scores of the components are combined
        components: what is measured: for each name of your choice, a kind and its keys
    """

    combine: str = setting(default="geometric_mean", choices=tuple(COMBINATIONS))
    components: dict[str, Any] = field(default_factory=dict)


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
    settings, violations = merge_typed(ObjectiveSettings, values, PREFIX)
    components = {} if settings is None else settings.components
    if settings is not None and not 1 <= len(components) <= _MOST:
        violations.append(f"{PREFIX}components must hold 1 to {_MOST} components, got {len(components)}")
    parts = []
    for name, one in components.items():
        key = f"{PREFIX}components.{name}"
        if not _NAME.fullmatch(str(name)):
            violations.append(
                f"{key}: a name may have at most 40 lower-case letters, digits and _, and must start with a letter"
            )
        elif one is None:
            violations.append(f"{key} must not be null; to drop the component, write ~{key}")
        else:
            try:
                parts.append(Part(str(name), *read_component(one, f"{key}.")))
            except InputError as error:
                violations += error.violations
    if violations:
        raise InputError(*violations)
    return settings.combine, tuple(parts)


def read_component(values: object, prefix: str) -> tuple[Component, Transform | None]:
    """Read a component with its transform, which is None if it has none.

    Args:
        values: The kind of the component and the keys of that kind.
        prefix: The prefix of these keys, for error messages.

    Raises:
        InputError: The values are invalid. The message lists everything that is wrong with them.
    """
    if not isinstance(values, Mapping):
        raise InputError(wrong_type(prefix[:-1], "a group of keys with a kind", values))
    smiles = values.get("smiles")
    component: Component = _read_kind(
        COMPONENTS, {**values, "smiles": [smiles]} if isinstance(smiles, str) else values, prefix
    )
    violations, transform = list(component.find_violations(prefix)), None
    if component.transform:
        try:
            transform = _read_kind(TRANSFORMS, component.transform, f"{prefix}transform.")
        except InputError as error:
            violations += error.violations
    elif component.kind in NUMBERS:
        violations.append(f"{prefix}transform has no value; set one, as {component.kind} is not a score from 0 to 1")
    if isinstance(transform, Linear) and transform.low == transform.high:
        violations.append(
            f"{prefix}transform.low and {prefix}transform.high are both {transform.low}; they must differ"
        )
    if isinstance(transform, DoubleSigmoid) and transform.low >= transform.high:
        bounds = f"{prefix}transform.low={transform.low:g} must be below {prefix}transform.high={transform.high:g}"
        violations.append(bounds)
    if not violations and (mismatch := component.find_mismatch(transform)):
        violations.append(f"{prefix}transform {mismatch}")
    if violations:
        raise InputError(*violations)
    return component, transform


def _read_kind(kinds: Mapping[str, type], values: Mapping[str, Any], prefix: str) -> Any:
    """Return an instance of the class that the key ``kind`` names.

    Args:
        kinds: The classes of components or of transforms, by kind.
        values: The key ``kind`` and the keys of that kind.
        prefix: The prefix of these keys, for error messages.

    Raises:
        InputError: The values are invalid. The message lists everything that is wrong with them.
    """
    kind = values.get("kind")
    if not kind:
        raise InputError(f"{prefix}kind has no value; use one of {', '.join(kinds)}")
    if str(kind) not in kinds:
        raise InputError(f"{prefix}kind={kind} is unknown; {nearest(str(kind), list(kinds))}")
    own = {key: value for key, value in values.items() if kinds is COMPONENTS or key != "kind"}
    instance, violations = merge_typed(kinds[kind], own, prefix)
    if violations:
        raise InputError(*violations)
    return instance
