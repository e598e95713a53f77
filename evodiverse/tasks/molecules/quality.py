"""Drug-likeness, synthetic accessibility and scaffolds of molecules (paper, appendix on molecules)."""

from dataclasses import dataclass
from functools import lru_cache

from rdkit import Chem
from rdkit.Chem import QED

from evodiverse.tasks.molecules.parsing import canonical_form
from evodiverse.tasks.molecules.properties import sa_score


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
    """Return the SMILES of the Murcko scaffold of a valid SMILES, or "" for a molecule without rings."""
    return molecule_scaffold(Chem.MolFromSmiles(smiles))


def molecule_scaffold(molecule: Chem.Mol) -> str:
    """Return the canonical SMILES of a molecule's Murcko scaffold, or "" for a molecule without rings."""
    from rdkit.Chem.Scaffolds import MurckoScaffold  # here so that invalid settings are reported fast

    scaffold: str = MurckoScaffold.MurckoScaffoldSmiles(mol=molecule)  # type: ignore[no-untyped-call]
    return canonical_form(scaffold) or scaffold


@lru_cache(maxsize=20_000)
def assess(smiles: str) -> Quality:
    """Return the QED and the SA score of a valid SMILES."""
    return assess_molecule(Chem.MolFromSmiles(smiles))


def assess_molecule(molecule: Chem.Mol) -> Quality:
    """Return the QED and the SA score of a molecule."""
    qed = QED.qed(molecule)  # type: ignore[no-untyped-call]
    return Quality(float(qed), sa_score(molecule))
