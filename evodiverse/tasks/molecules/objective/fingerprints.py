"""The fingerprints for similarities, under their usual names."""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator, rdMolDescriptors

Fingerprint = Any
"""A vector of bits or counts for which RDKit computes Tanimoto similarities; None if it would take too long."""

MOST_FEATURES: Final = 80
"""The most pharmacophore features of a molecule with a fingerprint ``PHCO``, whose time grows with their cube.

Drugs have up to about 30, which takes 30 ms. A molecule of 80 atoms may have 134, which would take 6 s.
"""


def _morgan(radius: int, *, features: bool = False) -> Callable[[Chem.Mol], Fingerprint]:
    atoms = rdFingerprintGenerator.GetMorganFeatureAtomInvGen() if features else None
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=radius, atomInvariantsGenerator=atoms)
    return generator.GetSparseCountFingerprint


def _atom_pairs() -> Callable[[Chem.Mol], Fingerprint]:
    return rdFingerprintGenerator.GetAtomPairGenerator(maxDistance=10).GetSparseCountFingerprint


def _torsions() -> Callable[[Chem.Mol], Fingerprint]:
    return rdFingerprintGenerator.GetTopologicalTorsionGenerator().GetSparseCountFingerprint


def _paths() -> Callable[[Chem.Mol], Fingerprint]:
    return rdFingerprintGenerator.GetRDKitFPGenerator().GetFingerprint


def _maccs() -> Callable[[Chem.Mol], Fingerprint]:
    return rdMolDescriptors.GetMACCSKeysFingerprint


def _pharmacophores() -> Callable[[Chem.Mol], Fingerprint]:
    from rdkit.Chem.Pharm2D import Generate, Gobbi_Pharm2D  # here: slow to import

    def compute(molecule: Chem.Mol) -> Fingerprint:
        factory = Gobbi_Pharm2D.factory
        features: list[Any] = factory.GetMolFeats(molecule)  # type: ignore[no-untyped-call]
        if sum(map(len, features)) > MOST_FEATURES:
            return None
        return Generate.Gen2DFingerprint(molecule, factory)  # type: ignore[no-untyped-call]

    return compute


_GENERATORS: Final[Mapping[str, Callable[[], Callable[[Chem.Mol], Fingerprint]]]] = MappingProxyType(
    {
        "ECFP4": lambda: _morgan(2),
        "ECFP6": lambda: _morgan(3),
        "FCFP4": lambda: _morgan(2, features=True),
        "FCFP6": lambda: _morgan(3, features=True),
        "AP": _atom_pairs,
        "TT": _torsions,
        "RDK": _paths,
        "MACCS": _maccs,
        "PHCO": _pharmacophores,
    }
)
FINGERPRINTS: Final = tuple(_GENERATORS)
"""The names of the fingerprints. The first six are count vectors: of extended and functional connectivity, of atom
pairs (at most 10 bonds apart) and of topological torsions. The others are bit vectors: of RDKit's paths, of MACCS keys
and of Gobbi and Poppinger's two-dimensional pharmacophores."""


@cache
def generator(name: str) -> Callable[[Chem.Mol], Fingerprint]:
    """Return the function that computes the fingerprint with this name."""
    return _GENERATORS[name]()
