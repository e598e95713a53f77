"""A score composed of components, each with its raw value, its transform and its weight."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from evodiverse.errors import ContractError
from evodiverse.kit.own_columns import OwnColumn
from evodiverse.tasks.molecules.asking import ask
from evodiverse.tasks.molecules.objective.combination import COMBINATIONS, Values
from evodiverse.tasks.molecules.objective.components import Measure
from evodiverse.tasks.molecules.objective.settings import PREFIX, Part, read_objective

RAW, VALUE = "_raw", "_value"
"""What the columns of a component end with: its raw value, and its score from 0 to 1."""

COLUMNS: Final[Mapping[str, OwnColumn]] = {
    f"<component>{RAW}": OwnColumn(
        float, "what the component of the objective measured, before its transform", "of the component"
    ),
    f"<component>{VALUE}": OwnColumn(float, "the score that the transform made of it", "0 to 1"),
}
"""The columns of ``evaluations`` that each component of an objective adds, with its name in the angle brackets."""


def find_raw_columns(settings: Mapping[str, Any]) -> list[str]:
    """Return the columns of what each component measured, from the flat settings of a run."""
    start = f"{PREFIX}components."
    names = dict.fromkeys(key.removeprefix(start).partition(".")[0] for key in settings if key.startswith(start))
    return [f"{name}{RAW}" for name in names]


@dataclass(frozen=True, slots=True)
class Measured:
    """What an objective says of n molecules.

    Attributes:
        scores: ``(n,)`` from 0 to 1, NaN where a component has no value.
        raw: ``(n, k)``, what the components measured.
        values: ``(n, k)`` from 0 to 1, what their transforms made of it.
    """

    scores: Values
    raw: Values
    values: Values


@dataclass(frozen=True)
class Objective:
    """Several components that are combined to one score; it can be sent to worker processes.

    Attributes:
        combine: How; a name of `COMBINATIONS`.
        parts: The components with their names and transforms.
        measures: What measures each of them.
    """

    combine: str
    parts: tuple[Part, ...]
    measures: tuple[Measure, ...]

    @classmethod
    def build(cls, settings: Mapping[str, Any], artifact: Callable[[str], Path]) -> Self:
        """Return the objective that settings name.

        Args:
            settings: What ``task.objective`` holds.
            artifact: Gives the path of a published file by its name.

        Raises:
            InputError: Something is wrong with the settings.
            DataError: A published file is damaged.
        """
        combine, parts = read_objective(settings)
        return cls(combine, parts, tuple(part.component.build(artifact) for part in parts))

    @property
    def columns(self) -> dict[str, type]:
        """The log's columns, two for each component."""
        return {f"{part.name}{end}": float for part in self.parts for end in (RAW, VALUE)}

    def measure(self, smiles: Sequence[str]) -> Measured:
        """Return what the components and their combination come to; one molecule's does not depend on the others.

        Args:
            smiles: n canonical SMILES.

        Raises:
            ServiceError: A user's function raised something.
            ContractError: It answered something else than a number for each molecule, or, where it has no transform,
                one outside [0, 1].
        """
        raw = np.empty((len(smiles), len(self.parts)))
        values = np.empty_like(raw)
        for column, (part, measure) in enumerate(zip(self.parts, self.measures, strict=True)):
            raw[:, column] = ask(measure, smiles, f"the component {part.name}")
            if part.transform is not None:
                with np.errstate(over="ignore"):  # a number beyond all others scores 0 or 1
                    values[:, column] = part.transform(raw[:, column])
                continue
            values[:, column] = raw[:, column]
            outside = (values[:, column] < 0) | (values[:, column] > 1)
            if outside.any():
                first = int(np.argmax(outside))
                raise ContractError(
                    f"the component {part.name} measured {values[first, column]} for {smiles[first]}; outside [0, 1] "
                    f"it needs a task.objective.components.{part.name}.transform"
                )
        weights = np.array([part.component.weight for part in self.parts])
        # Rounding may carry a mean of ones past 1.
        scores = np.clip(COMBINATIONS[self.combine](values, weights), 0.0, 1.0)
        return Measured(scores, raw, values)

    def describe(self) -> str:
        """Return in a sentence what the score is made of, as a language model is told."""
        return describe_parts(self.combine, self.parts)


def describe_parts(combine: str, parts: Sequence[Part]) -> str:
    """Return in a sentence what a score is made of."""
    terms = "; ".join(part.component.describe() for part in parts)
    return f"It is the {combine.replace('_', ' ')} of scores from 0 to 1 for: {terms}."
