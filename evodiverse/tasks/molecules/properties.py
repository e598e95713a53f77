"""Molecular properties that RDKit computes, under the names that objectives, filters and libraries use."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from rdkit import Chem
from rdkit.Chem import QED, Crippen, Descriptors, GraphDescriptors, Lipinski, rdMolDescriptors

Property = Callable[[Chem.Mol], float]


def sa_score(molecule: Chem.Mol) -> float:
    """Return the synthetic accessibility score, 1 (easy) to 10 (hard) (Ertl and Schuffenhauer 2009)."""
    from rdkit.Contrib.SA_Score import sascorer  # here: reading its table of fragments takes most of a second

    return float(sascorer.calculateScore(molecule))


PROPERTIES: Final[Mapping[str, Property]] = MappingProxyType(
    {
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
)
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
