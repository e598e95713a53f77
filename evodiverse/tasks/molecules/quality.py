"""How drug-like and how easy to make a molecule is, and what its scaffold is (paper, appendix on molecules)."""

from dataclasses import dataclass
from functools import lru_cache

from rdkit import Chem
from rdkit.Chem import QED
from rdkit.Chem.Scaffolds import MurckoScaffold


@dataclass(frozen=True, slots=True)
class Quality:
    """What chemists ask of a molecule.

    Attributes:
        qed: Quantitative estimate of drug-likeness, 0 to 1, higher is better (Bickerton 2012).
        sa_score: Synthetic accessibility, 1 (easy) to 10 (hard) (Ertl and Schuffenhauer 2009).
        scaffold: SMILES of the Murcko scaffold, empty for a molecule without rings.
    """

    qed: float
    sa_score: float
    scaffold: str

    @property
    def sa(self) -> float:
        """Synthetic accessibility as (10 − SA)/9: 0 (hard) to 1 (easy)."""
        return (10 - self.sa_score) / 9


@lru_cache(maxsize=20_000)
def assess(smiles: str) -> Quality:
    """Return the quality of a valid SMILES."""
    from rdkit.Contrib.SA_Score import sascorer  # reads a table of fragments, which takes most of a second

    molecule = Chem.MolFromSmiles(smiles)
    scaffold = MurckoScaffold.MurckoScaffoldSmiles(mol=molecule)  # type: ignore[no-untyped-call]
    qed = QED.qed(molecule)  # type: ignore[no-untyped-call]
    return Quality(float(qed), float(sascorer.calculateScore(molecule)), scaffold)
