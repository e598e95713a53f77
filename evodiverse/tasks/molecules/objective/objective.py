"""``task.objective``: a score composed of components, each with a raw value, a transform and a weight."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from evodiverse.errors import ContractError, InputError
from evodiverse.kit.apart import Apart
from evodiverse.kit.documented import nearest, setting
from evodiverse.kit.hints import wrong_type
from evodiverse.kit.typed import merge_typed
from evodiverse.tasks.molecules.objective import transforms
from evodiverse.tasks.molecules.objective.components import COMPONENTS, NUMBERS, Component, Measure
from evodiverse.tasks.molecules.objective.transforms import COMBINATIONS, Transform, Values
from evodiverse.tasks.molecules.oracle import RegressionOracle, ask
from evodiverse.vocabulary import OwnColumn, Reason, Rejection

RAW, VALUE, SPREAD = "_raw", "_value", "_spread"
"""The suffixes of a component's columns: its raw value, its score from 0 to 1, and how uncertain its raw value is."""

COLUMNS: Final[Mapping[str, OwnColumn]] = {
    f"<component>{RAW}": OwnColumn(
        float, "what the component of the objective measured, before its transform", "of the component"
    ),
    f"<component>{VALUE}": OwnColumn(float, "score of the component, after its transform", "0 to 1"),
    f"<component>{SPREAD}": OwnColumn(
        float,
        "only for a [regression forest](molecules.md#your-own-forest): standard deviation of its trees' predictions; "
        "the larger, the more it guesses",
        "of the component",
    ),
}
"""The columns of ``evaluations`` that a component of an objective adds; ``<component>`` stands for its name."""


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
    plain = {key: value for key, value in values.items() if key != "components"}
    settings, violations = merge_typed(ObjectiveSettings, plain, PREFIX)
    components = {} if values.get("components") is None else values["components"]
    if not isinstance(components, Mapping):
        violations.append(f"{PREFIX}components must be a group of keys, got {components}")
        components = {}
    elif not 1 <= len(components) <= _MOST:
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
    if isinstance(smiles := values.get("smiles"), str):
        values = {**values, "smiles": [smiles]}
    component, violations = _read_kind(COMPONENTS, values, prefix)
    if violations:
        raise InputError(*violations)
    violations, transform = list(component.find_violations(prefix)), None
    key = f"{prefix}transform."
    if component.transform:
        transform, wrong = _read_kind(transforms.TRANSFORMS, component.transform, key)
        violations += wrong
    elif component.kind in NUMBERS:
        violations.append(f"{prefix}transform has no value; set one, as {component.kind} is not a score from 0 to 1")
    if isinstance(transform, transforms.Linear) and transform.low == transform.high:
        violations.append(f"{key}low and {key}high are both {transform.low}; they must differ")
    if isinstance(transform, transforms.DoubleSigmoid) and transform.low >= transform.high:
        violations.append(f"{key}low={transform.low:g} must be below {key}high={transform.high:g}")
    if not violations and (mismatch := component.find_mismatch(transform)):
        violations.append(f"{prefix}transform {mismatch}")
    if violations:
        raise InputError(*violations)
    return component, transform


def _read_kind(kinds: Mapping[str, type], values: Mapping[str, Any], prefix: str) -> tuple[Any, list[str]]:
    """Return an instance of the class that the key ``kind`` names, and what is wrong with it.

    The instance is None if the kind is unknown, or if `merge_typed` returns None.

    Args:
        kinds: The classes of components or of transforms, by kind.
        values: The key ``kind`` and the keys of that kind.
        prefix: The prefix of these keys, for error messages.
    """
    kind = values.get("kind")
    if not kind:
        return None, [f"{prefix}kind has no value; use one of {', '.join(kinds)}"]
    if str(kind) not in kinds:
        return None, [f"{prefix}kind={kind} is unknown; {nearest(str(kind), list(kinds))}"]
    own = {key: value for key, value in values.items() if kinds is COMPONENTS or key != "kind"}
    return merge_typed(kinds[kind], own, prefix)


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of an objective for ``n`` molecules.

    Attributes:
        scores: ``(n,)`` combined scores from 0 to 1; NaN for a molecule for which a component has no value.
        rejections: Why each molecule got no score; None for a molecule with a score.
        details: The values of the log columns for each molecule; None where a component has no value.
    """

    scores: Values
    rejections: Sequence[Rejection | None]
    details: Sequence[Mapping[str, float | None]]


@dataclass(frozen=True)
class Objective:
    """Several components that are combined into one score; can be sent to worker processes.

    Attributes:
        combine: The name of the combination in `COMBINATIONS`.
        parts: The components with their names and transforms.
        measures: The measuring function of each component.
    """

    combine: str
    parts: tuple[Part, ...]
    measures: tuple[Measure, ...]

    @classmethod
    def build(cls, settings: Mapping[str, Any], artifact: Callable[[str], Path]) -> Self:
        """Build the objective that settings describe.

        Args:
            settings: The content of ``task.objective``.
            artifact: A function that returns the path of a published file, given its name.

        Raises:
            InputError: The settings are invalid.
            DataError: A published file is damaged.
        """
        combine, parts = read_objective(settings)
        return cls(combine, parts, tuple(part.component.build(artifact) for part in parts))

    @property
    def columns(self) -> dict[str, type]:
        """The names and types of the log columns: raw value and score of each component, and spread of a regression."""
        ends = [(RAW, VALUE, SPREAD) if isinstance(each, RegressionOracle) else (RAW, VALUE) for each in self.measures]
        return {f"{part.name}{end}": float for part, own in zip(self.parts, ends, strict=True) for end in own}

    def measure(self, smiles: Sequence[str], apart: Apart | None = None) -> Measured:
        """Measure and combine the components; the result for a molecule does not depend on its batch.

        Args:
            smiles: ``n`` canonical SMILES.
            apart: The process in which users' functions are called; None for this process.

        Raises:
            ServiceError: A component raised an exception. EvoDiverse's own exceptions are passed on instead.
            ContractError: A component did not return one number for each molecule, or has no transform and returned a
                number outside [0, 1].
        """
        raw = np.empty((len(smiles), len(self.parts)))
        values = np.empty_like(raw)
        logged: dict[str, Values] = {}
        rejections: dict[int, Rejection] = {}
        for column, (part, measure) in enumerate(zip(self.parts, self.measures, strict=True)):
            key = f"{PREFIX}components.{part.name}"
            logged |= {f"{part.name}{RAW}": raw[:, column], f"{part.name}{VALUE}": values[:, column]}  # filled below
            if isinstance(measure, RegressionOracle):
                raw[:, column], logged[f"{part.name}{SPREAD}"] = measure.forecast(smiles)
            else:
                raw[:, column], faults = ask(measure, smiles, key, apart)
                rejections = {**faults, **rejections}
            with np.errstate(over="ignore"):  # a value that overflows still scores 0 or 1
                values[:, column] = part.transform(raw[:, column]) if part.transform else raw[:, column]
            if len(outside := np.flatnonzero((values[:, column] < 0) | (values[:, column] > 1))):
                shown = f"{values[outside[0], column]} for {smiles[outside[0]]}"
                raise ContractError(f"{key} measured {shown}, outside [0, 1]; set {key}.transform")
        weights = np.array([part.component.weight for part in self.parts])
        # Rounding may lift a mean of ones above 1.
        scores = np.clip(COMBINATIONS[self.combine](values, weights), 0.0, 1.0)
        details = [
            {name: None if isnan(number) else number for name, number in zip(logged, row, strict=True)}
            for row in np.stack([*logged.values()], axis=1).tolist()
        ]
        for place in np.flatnonzero(np.isnan(scores)).tolist():
            missing = next(name for name, number in details[place].items() if number is None)
            rejections.setdefault(place, Rejection(Reason.NON_FINITE, f"{missing} is NaN"))
        return Measured(scores, [rejections.get(place) for place in range(len(smiles))], details)


def describe_parts(combine: str, parts: Sequence[Part]) -> str:
    """Return a sentence that describes a combined score, for prompts."""
    terms = "; ".join(part.component.describe() for part in parts)
    return f"It is the {combine.replace('_', ' ')} of scores from 0 to 1 for: {terms}."
