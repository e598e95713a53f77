"""Which molecules of a library a pool starts from: any, different ones, or good ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rdkit.SimDivFilters.rdSimDivPickers import MaxMinPicker

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.asking import ask
from evodiverse.tasks.molecules.diversity import fingerprint
from evodiverse.tasks.molecules.initial import AnyLibrary, Molecule
from evodiverse.tasks.molecules.objective.components import Component, Measure, OracleComponent
from evodiverse.tasks.molecules.objective.settings import read_component
from evodiverse.tasks.molecules.objective.transforms import Transform
from evodiverse.tasks.molecules.settings import Initial

Choose = Callable[[AnyLibrary, int, np.random.Generator], list[Molecule]]
"""Returns so many molecules of a library, fewer where it has no more."""

_PREFIX: Final = "task.initial.score."


def choose_any(library: AnyLibrary, size: int, rng: np.random.Generator) -> list[Molecule]:
    """Draw molecules uniformly."""
    return library.sample(size, rng)


@dataclass(frozen=True, slots=True)
class ChooseDifferent:
    """Choose molecules that are far apart, among some drawn uniformly.

    The first is drawn; each next one is that whose Tanimoto similarity to the nearest chosen before is lowest, by
    Morgan fingerprints (MaxMin: Ashton et al. 2002; RDKit's picker).

    Attributes:
        among: Molecules drawn.
    """

    among: int

    def __call__(self, library: AnyLibrary, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Return the molecules in the order chosen."""
        drawn = _draw(library, self.among, rng)
        if len(drawn) <= size:
            return drawn
        bits = [fingerprint(molecule.smiles) for molecule in drawn]
        first = int(rng.integers(len(drawn)))
        chosen = MaxMinPicker().LazyBitVectorPick(bits, len(bits), size, [first])
        return [drawn[index] for index in chosen]


@dataclass(frozen=True, slots=True)
class ChooseBest:
    """Choose the molecules with the highest scores among some drawn uniformly; equal ones as they stand in the file.

    Attributes:
        among: Molecules drawn.
        measure: Gives their raw values. One without, which is NaN, is not chosen.
        transform: Makes scores of raw values, None where they are scores.
    """

    among: int
    measure: Measure
    transform: Transform | None

    def __call__(self, library: AnyLibrary, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Return the molecules, the best first."""
        drawn = _draw(library, self.among, rng)
        scores = ask(self.measure, [molecule.smiles for molecule in drawn], "task.initial.score")
        if self.transform is not None:
            with np.errstate(over="ignore"):  # a number beyond all others scores 0 or 1
                scores = self.transform(scores)
        ranked = np.argsort(-scores, kind="stable")
        return [drawn[index] for index in ranked[~np.isnan(scores[ranked])][:size].tolist()]


def find_violations(initial: Initial) -> list[str]:
    """Return what is wrong with the keys of ``task.initial`` that say how to choose."""
    if initial.choose == "random":
        return [] if initial.score is None else [f"{_PREFIX[:-1]} is set, but not used; set task.initial.choose=score"]
    violations = []
    if initial.among < initial.size:
        violations.append(
            f"task.initial.among={initial.among} is less than task.initial.size={initial.size}; choose among more"
        )
    if initial.choose == "score":
        violations += _read_score(initial.score)[2]
    elif initial.score is not None:
        violations.append(f"{_PREFIX[:-1]} is set, but not used; set task.initial.choose=score")
    return violations


def build(initial: Initial, artifact: Callable[[str], Path]) -> Choose:
    """Return what chooses.

    Args:
        initial: How.
        artifact: Gives the path of a published file by its name.

    Raises:
        InputError: The score cannot be used; names what is wrong.
    """
    if initial.choose == "random":
        return choose_any
    if initial.choose == "diverse":
        return ChooseDifferent(initial.among)
    component, transform, violations = _read_score(initial.score)
    if component is None or violations:
        raise InputError(*violations)
    return ChooseBest(initial.among, component.build(artifact), transform)


def _draw(library: AnyLibrary, among: int, rng: np.random.Generator) -> list[Molecule]:
    """Return molecules drawn uniformly, as they stand in the file."""
    return sorted(library.sample(among, rng), key=lambda molecule: molecule.line)


def _read_score(score: object) -> tuple[Component | None, Transform | None, list[str]]:
    """Return the component that a score names, its transform, and what is wrong with it."""
    if score is None:
        return None, None, [f"{_PREFIX[:-1]} has no value; name what is scored, such as qed"]
    values = score if isinstance(score, Mapping) else {"kind": score}
    component, transform, violations = read_component(values, _PREFIX)
    if isinstance(component, OracleComponent):
        violations = [f"{_PREFIX}kind=oracle would cost oracle calls; use another kind, such as qed"]
    return component, transform, violations
