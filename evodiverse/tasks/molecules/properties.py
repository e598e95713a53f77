"""Properties of molecules: those that RDKit computes, the closeness to a formula, QED, SA and the scaffold."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from typing import Final

from rdkit import Chem
from rdkit.Chem import QED, Crippen, Descriptors, GraphDescriptors, Lipinski, rdMolDescriptors

from evodiverse.tasks.molecules.parsing import canonical_form, logged_molecule


def sa_score(molecule: Chem.Mol) -> float:
    """Return the synthetic accessibility score, 1 (easy) to 10 (hard) (Ertl and Schuffenhauer 2009)."""
    from rdkit.Contrib.SA_Score import sascorer  # here: reading its table of fragments takes most of a second

    return float(sascorer.calculateScore(molecule))


PROPERTIES: Final[Mapping[str, Callable[[Chem.Mol], float]]] = {
    "qed": QED.qed,  # drug-likeness, 0 to 1 (Bickerton 2012)
    "sa": sa_score,
    "logp": Crippen.MolLogP,  # type: ignore[attr-defined]  # Wildman and Crippen 1999
    "tpsa": rdMolDescriptors.CalcTPSA,  # Å², of N and O (Ertl 2000)
    "weight": Descriptors.MolWt,  # type: ignore[attr-defined]  # g/mol, average
    "rings": rdMolDescriptors.CalcNumRings,
    "aromatic_rings": rdMolDescriptors.CalcNumAromaticRings,
    "rotatable_bonds": rdMolDescriptors.CalcNumRotatableBonds,
    "donors": rdMolDescriptors.CalcNumHBD,
    "acceptors": rdMolDescriptors.CalcNumHBA,
    "sp3_share": rdMolDescriptors.CalcFractionCSP3,
    "heavy_atoms": Lipinski.HeavyAtomCount,
    "bertz": GraphDescriptors.BertzCT,  # complexity (Bertz 1981)
}
_IN_WORDS: Final = {
    "qed": "drug-likeness (QED)",
    "sa": "ease of synthesis (SA score)",
    "logp": "logP",
    "tpsa": "polar surface area (TPSA)",
    "weight": "molecular weight",
    "donors": "hydrogen-bond donors",
    "acceptors": "hydrogen-bond acceptors",
    "sp3_share": "share of sp3 carbons",
    "bertz": "complexity (BertzCT)",
}


def in_words(name: str) -> str:
    """Return the name of a property for use in a sentence."""
    return _IN_WORDS.get(name, name.replace("_", " "))


ELEMENTS = frozenset(Chem.GetPeriodicTable().GetElementSymbol(number) for number in range(1, 119))
"""The symbols of all elements."""
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


def isomer_score(target: Counter[str], molecule: Chem.Mol) -> float:
    """Return how close the formula of a molecule is to a target formula.

    The score is the geometric mean of Gaussians: one with a sigma of 1 for the number of atoms of each element in the
    target, and one with a sigma of 2 for the number of all atoms. Hydrogens count as atoms.

    Args:
        target: The number of atoms of each element in the target formula.
        molecule: The molecule to score.

    Returns:
        A score from 0 to 1, which is 1 only for isomers of the target.
    """
    # CalcMolFormula appends the charge, sign first.
    counts = count_atoms(re.split(r"[+-]", rdMolDescriptors.CalcMolFormula(molecule))[0])
    squares = [float(counts[element] - count) ** 2 for element, count in target.items()]
    squares.append(((counts.total() - target.total()) / 2) ** 2)
    return exp(-0.5 * sum(squares) / len(squares))


@dataclass(frozen=True, slots=True)
class Quality:
    """The drug-likeness and the synthetic accessibility of a molecule.

    Attributes:
        qed: The quantitative estimate of drug-likeness, 0 to 1, higher is better (Bickerton 2012).
        sa_score: The synthetic accessibility score, 1 (easy) to 10 (hard) (Ertl and Schuffenhauer 2009).
    """

    qed: float
    sa_score: float

    @property
    def sa(self) -> float:
        """The synthetic accessibility as (10 − ``sa_score``) / 9, 0 (hard) to 1 (easy)."""
        return (10 - self.sa_score) / 9


@lru_cache(maxsize=20_000)
def find_scaffold(smiles: str) -> str:
    """Return the canonical SMILES of the Murcko scaffold of a valid SMILES, or "" for a molecule without rings."""
    from rdkit.Chem.Scaffolds import MurckoScaffold  # here so that invalid settings are reported fast

    scaffold: str = MurckoScaffold.MurckoScaffoldSmiles(mol=logged_molecule(smiles))  # type: ignore[no-untyped-call]
    return canonical_form(scaffold) or scaffold


@lru_cache(maxsize=20_000)
def assess(smiles: str) -> Quality:
    """Return the QED and the SA score of a valid SMILES."""
    molecule = logged_molecule(smiles)
    return Quality(float(QED.qed(molecule)), sa_score(molecule))  # type: ignore[no-untyped-call]


def is_drug_like(smiles: str) -> bool:
    """Return whether a valid SMILES has a QED above 0.5 and an SA score (1 to 10) below 5.5 (paper, figure ``mol``)."""
    quality = assess(smiles)
    return quality.qed > 0.5 and quality.sa_score < 5.5
