"""The closeness of a molecule to a molecular formula (GuacaMol, Brown et al. 2019)."""

import re
from collections import Counter
from math import exp

from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

ATOM_SIGMA = 1.0
TOTAL_SIGMA = 2.0
ELEMENTS = frozenset(Chem.GetPeriodicTable().GetElementSymbol(number) for number in range(1, 119))
"""The symbols of all elements."""
MAX_ATOMS = 1_000
"""The maximum number of atoms in a formula that molecules are compared with."""
_MAX_CHARACTERS = 200
_TERM = re.compile(r"([A-Z][a-z]?)(\d*)")


def count_atoms(formula: str) -> Counter[str]:
    """Return the number of atoms of each element in a molecular formula such as C9H10N2O2PF2Cl.

    Raises:
        ValueError: The text is not a molecular formula.
    """
    if not re.fullmatch(f"({_TERM.pattern})+", formula):
        raise ValueError(f"{formula!r} is not a molecular formula; write one such as C7H8N2O2")
    counts: Counter[str] = Counter()
    for element, count in _TERM.findall(formula):
        if element not in ELEMENTS:
            raise ValueError(f"{formula!r} has {element}, which is not an element")
        counts[element] += int(count or 1)
    if not counts.total():
        raise ValueError(f"{formula!r} has no atoms")
    return counts


def check_size(formula: str) -> None:
    """Check that a molecular formula has a sensible number of atoms; `count_atoms` checks the rest.

    Raises:
        ValueError: The formula has too many characters or atoms.
    """
    if len(formula) > _MAX_CHARACTERS:
        raise ValueError(f"expected at most {_MAX_CHARACTERS} characters, got {len(formula):,}; shorten it")
    if sum(int(count) for count in re.findall(r"\d+", formula)) > MAX_ATOMS:
        raise ValueError(f"{formula!r} has more than {MAX_ATOMS:,} atoms; lower the numbers")


def isomer_score(molecule: Chem.Mol, target: Counter[str]) -> float:
    """Return how close the formula of a molecule is to a target formula.

    The score is the geometric mean of Gaussians: one with a sigma of 1 for the number of atoms of each element in the
    target, and one with a sigma of 2 for the number of all atoms. Hydrogens count as atoms.

    Args:
        molecule: The molecule to score.
        target: The number of atoms of each element in the target formula.

    Returns:
        A score from 0 to 1, which is 1 only for isomers of the target.
    """
    # CalcMolFormula appends the charge, sign first.
    counts = count_atoms(re.split(r"[+-]", rdMolDescriptors.CalcMolFormula(molecule))[0])
    squares = [((counts[element] - count) / ATOM_SIGMA) ** 2 for element, count in target.items()]
    squares.append(((counts.total() - target.total()) / TOTAL_SIGMA) ** 2)
    return exp(-0.5 * sum(squares) / len(squares))
