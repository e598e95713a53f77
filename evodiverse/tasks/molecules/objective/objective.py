"""A score composed of components, each with a raw value, a transform and a weight."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from evodiverse.errors import ContractError
from evodiverse.kit.apart import Apart
from evodiverse.tasks.molecules.asking import ask
from evodiverse.tasks.molecules.objective.components import Measure
from evodiverse.tasks.molecules.objective.settings import PREFIX, Part, read_objective
from evodiverse.tasks.molecules.objective.transforms import COMBINATIONS, Values
from evodiverse.tasks.molecules.oracle import RegressionOracle
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
            if part.transform is not None:
                with np.errstate(over="ignore"):  # a value that overflows still scores 0 or 1
                    values[:, column] = part.transform(raw[:, column])
                continue
            values[:, column] = raw[:, column]
            outside = (values[:, column] < 0) | (values[:, column] > 1)
            if outside.any():
                first = int(np.argmax(outside))
                raise ContractError(
                    f"{key} measured {values[first, column]} for {smiles[first]}, outside [0, 1]; set {key}.transform"
                )
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
