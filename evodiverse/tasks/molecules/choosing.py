"""Choosing the molecules of a library that a pool starts from: at random, for diversity, or by score."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rdkit.SimDivFilters.rdSimDivPickers import MaxMinPicker

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.asking import ask
from evodiverse.tasks.molecules.diversity import fingerprint
from evodiverse.tasks.molecules.initial import Molecule
from evodiverse.tasks.molecules.objective.components import Component, Measure, OracleComponent
from evodiverse.tasks.molecules.objective.settings import read_component
from evodiverse.tasks.molecules.objective.transforms import Transform
from evodiverse.tasks.molecules.settings import Initial

Sample = Callable[[int, np.random.Generator], list[Molecule]]
"""Draws different molecules of a library uniformly: as many as requested, or fewer if the library is smaller."""

Choose = Callable[[Sample, int, np.random.Generator], list[Molecule]]
"""Chooses the molecules that a pool starts from out of those that it draws: at most as many as requested."""

_PREFIX: Final = "task.initial.score."


def choose_any(sample: Sample, size: int, rng: np.random.Generator) -> list[Molecule]:
    """Draw ``size`` molecules uniformly, or all if there are fewer."""
    return sample(size, rng)


@dataclass(frozen=True, slots=True)
class ChooseDifferent:
    """Choose molecules that are far apart, from a uniformly drawn sample.

    The first molecule is drawn at random. Each further molecule is the one whose largest Tanimoto similarity (Morgan
    fingerprints) to those already chosen is the smallest (MaxMin: Ashton et al. 2002; RDKit's picker).

    Attributes:
        among: The size of the sample.
    """

    among: int

    def __call__(self, sample: Sample, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Return ``size`` molecules in the order in which they were chosen.

        Up to ``among`` molecules are first drawn at random. If no more than ``size`` are drawn, all of them are
        returned, in the order of the file.
        """
        drawn = _draw_in_file_order(sample, self.among, rng)
        if len(drawn) <= size:
            return drawn
        bits = [fingerprint(molecule.smiles) for molecule in drawn]
        first = int(rng.integers(len(drawn)))
        chosen = MaxMinPicker().LazyBitVectorPick(bits, len(bits), size, [first])
        return [drawn[index] for index in chosen]


@dataclass(frozen=True, slots=True)
class ChooseBest:
    """Choose the molecules with the highest scores from a uniformly drawn sample; ties keep the order of the file.

    Attributes:
        among: The size of the sample.
        measure: The function that computes raw values. Molecules with a value of NaN are never chosen.
        transform: The function that maps raw values to scores, or None if the raw values are scores already.
    """

    among: int
    measure: Measure
    transform: Transform | None

    def __call__(self, sample: Sample, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Return up to ``size`` molecules, best first."""
        drawn = _draw_in_file_order(sample, self.among, rng)
        scores = ask(self.measure, [molecule.smiles for molecule in drawn], "task.initial.score").numbers
        if self.transform is not None:
            with np.errstate(over="ignore"):  # a value that overflows still scores 0 or 1
                scores = self.transform(scores)
        ranked = np.argsort(-scores, kind="stable")
        return [drawn[index] for index in ranked[~np.isnan(scores[ranked])][:size].tolist()]


def find_violations(initial: Initial) -> list[str]:
    """Return what is wrong with ``task.initial.choose``, ``.score``, ``.among`` and ``.measured``."""
    violations = []
    if initial.measured is not None and initial.path is None:
        violations.append(
            f"task.initial.measured={initial.measured} names a column of your own file; set task.initial.path, too"
        )
    if initial.choose != "score" and initial.score is not None:
        violations.append(
            "task.initial.score is set but not used; set task.initial.choose=score or task.initial.score=null"
        )
    if initial.choose != "random" and initial.among < initial.size:
        violations.append(
            f"task.initial.among={initial.among} must be at least task.initial.size={initial.size}; raise it"
        )
    return [*violations, *(_read_score(initial.score)[2] if initial.choose == "score" else [])]


def build(initial: Initial, artifact: Callable[[str], Path]) -> Choose:
    """Return the function that chooses initial molecules.

    Args:
        initial: The settings ``task.initial``.
        artifact: A function that returns the path of a published file, given its name.

    Raises:
        InputError: ``task.initial.choose`` is "score", but ``task.initial.score`` is missing or invalid. The message
            lists everything that is wrong with it.
    """
    if initial.choose == "random":
        return choose_any
    if initial.choose == "diverse":
        return ChooseDifferent(initial.among)
    component, transform, violations = _read_score(initial.score)
    if component is None or violations:
        raise InputError(*violations)
    return ChooseBest(initial.among, component.build(artifact), transform)


def _draw_in_file_order(sample: Sample, among: int, rng: np.random.Generator) -> list[Molecule]:
    """Draw up to ``among`` molecules uniformly, and return them in the order of the file."""
    return sorted(sample(among, rng), key=lambda molecule: molecule.line)


def _read_score(score: object) -> tuple[Component | None, Transform | None, list[str]]:
    """Return the component that ``task.initial.score`` names, its transform, and what is wrong with them.

    The transform is None if the component has none. If anything is wrong, both may be None.
    """
    if score is None:
        return None, None, [f"{_PREFIX[:-1]} has no value; set it to a property to choose by, such as qed"]
    values = score if isinstance(score, Mapping) else {"kind": score}
    component, transform, violations = read_component(values, _PREFIX)
    if isinstance(component, OracleComponent):
        violations = [
            f"{_PREFIX}kind=oracle is not allowed, as it would cost oracle calls; use another kind, such as qed"
        ]
    return component, transform, violations
