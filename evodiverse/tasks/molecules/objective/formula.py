"""How close a molecule is to being an isomer of a formula (GuacaMol, Brown et al. 2019)."""

import re
from collections import Counter
from math import exp

from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

ATOM_SIGMA = 1.0
TOTAL_SIGMA = 2.0
ELEMENTS = frozenset(Chem.GetPeriodicTable().GetElementSymbol(number) for number in range(1, 119))
"""The symbols of all elements."""
_TERM = re.compile(r"([A-Z][a-z]?)(\d*)")


def count_atoms(formula: str) -> Counter[str]:
    """Return how many atoms of each element a molecular formula such as C9H10N2O2PF2Cl has.

    Raises:
        ValueError: It is no formula.
    """
    if not re.fullmatch(f"({_TERM.pattern})+", formula):
        raise ValueError(f"{formula!r} is no molecular formula such as C7H8N2O2")
    counts: Counter[str] = Counter()
    for element, count in _TERM.findall(formula):
        if element not in ELEMENTS:
            raise ValueError(f"{formula!r} has {element}, which is no element")
        counts[element] += int(count or 1)
    if not counts.total():
        raise ValueError(f"{formula!r} has no atoms")
    return counts


def isomer_score(molecule: Chem.Mol, target: Counter[str]) -> float:
    """Return the geometric mean of Gaussians of the number of each element of a formula and of all atoms.

    Hydrogens count. The Gaussians have a sigma of 1, that of all atoms one of 2.

    Args:
        molecule: Any molecule.
        target: Atoms of each element of the formula.

    Returns:
        A score from 0 to 1, which is 1 for an isomer alone.
    """
    # What CalcMolFormula writes behind a sign is a charge.
    counts = count_atoms(re.split(r"[+-]", rdMolDescriptors.CalcMolFormula(molecule))[0])
    squares = [((counts[element] - count) / ATOM_SIGMA) ** 2 for element, count in target.items()]
    squares.append(((counts.total() - target.total()) / TOTAL_SIGMA) ** 2)
    return exp(-0.5 * sum(squares) / len(squares))
