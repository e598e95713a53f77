"""Choosing the molecules of a library that a pool starts from: at random, for diversity, or by score."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from rdkit.SimDivFilters.rdSimDivPickers import MaxMinPicker

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.diversity import fingerprint
from evodiverse.tasks.molecules.initial import Molecule
from evodiverse.tasks.molecules.objective.components import Component, Measure
from evodiverse.tasks.molecules.objective.objective import read_component
from evodiverse.tasks.molecules.objective.transforms import Transform
from evodiverse.tasks.molecules.oracle import ask
from evodiverse.tasks.molecules.settings import Initial

Sample = Callable[[int, np.random.Generator], list[Molecule]]
"""Draws different molecules of a library uniformly: as many as requested, or fewer if the library is smaller."""

Pick = Callable[[Sequence[Molecule], int, np.random.Generator], list[Molecule]]
"""Picks so many of the molecules that were drawn, which are in the order of the file."""

_PREFIX: Final = "task.initial.score."


@dataclass(frozen=True, slots=True)
class Choose:
    """Choose the molecules that a pool starts from; by default, at random.

    Attributes:
        among: The number of molecules that are drawn uniformly; None for as many as are chosen.
        pick: The function that chooses from them; None to take them all.
    """

    among: int | None = None
    pick: Pick | None = None

    def __call__(self, sample: Sample, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Return ``size`` molecules of a library, or fewer if it is smaller or has too few that can be chosen."""
        drawn = sample(self.among or size, rng)
        return drawn if self.pick is None else self.pick(sorted(drawn, key=lambda one: one.line), size, rng)


def _pick_different(drawn: Sequence[Molecule], size: int, rng: np.random.Generator) -> list[Molecule]:
    """Pick molecules that are far apart, and return them in the order in which they were picked; all if there are few.

    The first molecule is drawn at random. Each further molecule is the one whose largest Tanimoto similarity (Morgan
    fingerprints) to those already picked is the smallest (MaxMin: Ashton et al. 2002; RDKit's picker).
    """
    if len(drawn) <= size:
        return list(drawn)
    bits = [fingerprint(molecule.smiles) for molecule in drawn]
    first = int(rng.integers(len(drawn)))
    return [drawn[index] for index in MaxMinPicker().LazyBitVectorPick(bits, len(bits), size, [first])]


def _pick_best(
    measure: Measure, transform: Transform | None, drawn: Sequence[Molecule], size: int, _rng: np.random.Generator
) -> list[Molecule]:
    """Pick the molecules with the highest scores, best first; ties keep the order of the file.

    Args:
        measure: The function that computes raw values. Molecules with a value of NaN are never picked.
        transform: The function that maps raw values to scores, or None if the raw values are scores already.
        drawn: The molecules to pick from.
        size: The maximum number of molecules to pick.
    """
    scores, _ = ask(measure, [molecule.smiles for molecule in drawn], "task.initial.score")
    if transform is not None:
        with np.errstate(over="ignore"):  # a value that overflows still scores 0 or 1
            scores = transform(scores)
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
    try:
        if initial.choose == "score":
            _read_score(initial.score)
    except InputError as error:
        violations += error.violations
    return violations


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
        return Choose()
    if initial.choose == "diverse":
        return Choose(initial.among, _pick_different)
    component, transform = _read_score(initial.score)
    return Choose(initial.among, partial(_pick_best, component.build(artifact), transform))


def _read_score(score: object) -> tuple[Component, Transform | None]:
    """Return the component that ``task.initial.score`` names, and its transform, which is None if it has none.

    Raises:
        InputError: The value is missing or invalid. The message lists everything that is wrong with it.
    """
    if score is None:
        raise InputError(f"{_PREFIX[:-1]} has no value; set it to a property to choose by, such as qed")
    values = score if isinstance(score, Mapping) else {"kind": score}
    if values.get("kind") == "oracle":
        raise InputError(
            f"{_PREFIX}kind=oracle is not allowed, as it would cost oracle calls; use another kind, such as qed"
        )
    return read_component(values, _PREFIX)
