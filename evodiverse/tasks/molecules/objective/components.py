"""The components of an objective: for each kind, a class of settings that builds the measuring function."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import Any, Final

import numpy as np
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator, rdMolDescriptors

from evodiverse.kit.documented import setting
from evodiverse.tasks.molecules import oracle
from evodiverse.tasks.molecules.objective.transforms import Transform
from evodiverse.tasks.molecules.parsing import find_smarts_violations, molecule_of, read_smarts
from evodiverse.tasks.molecules.properties import ELEMENTS, PROPERTIES, count_atoms, in_words, isomer_score
from evodiverse.tasks.molecules.settings import Oracle

Fingerprint = Any
"""A vector of bits or counts for which RDKit computes Tanimoto similarities; None if it would take too long."""

MOST_FEATURES: Final = 80
"""The most pharmacophore features of a molecule with a fingerprint ``PHCO``, whose time grows with their cube.

Drugs have up to about 30, which takes 30 ms. A molecule of 80 atoms may have 134, which would take 6 s.
"""
_PROBABILITIES: Final = np.linspace(0.0, 1.0, 1001)


def _morgan(radius: int, atoms: Any = None) -> Callable[[Chem.Mol], Fingerprint]:
    return rdFingerprintGenerator.GetMorganGenerator(radius, atomInvariantsGenerator=atoms).GetSparseCountFingerprint


def _find_pharmacophores(molecule: Chem.Mol) -> Fingerprint:
    from rdkit.Chem.Pharm2D import Generate, Gobbi_Pharm2D  # here: slow to import

    features: list[Any] = Gobbi_Pharm2D.factory.GetMolFeats(molecule)  # type: ignore[no-untyped-call]
    if sum(map(len, features)) > MOST_FEATURES:
        return None
    return Generate.Gen2DFingerprint(molecule, Gobbi_Pharm2D.factory)  # type: ignore[no-untyped-call]


_FUNCTIONS: Final = rdFingerprintGenerator.GetMorganFeatureAtomInvGen()
FINGERPRINTS: Final[Mapping[str, Callable[[Chem.Mol], Fingerprint]]] = {
    "ECFP4": _morgan(2),
    "ECFP6": _morgan(3),
    "FCFP4": _morgan(2, _FUNCTIONS),
    "FCFP6": _morgan(3, _FUNCTIONS),
    "AP": rdFingerprintGenerator.GetAtomPairGenerator(maxDistance=10).GetSparseCountFingerprint,
    "TT": rdFingerprintGenerator.GetTopologicalTorsionGenerator().GetSparseCountFingerprint,
    "RDK": rdFingerprintGenerator.GetRDKitFPGenerator().GetFingerprint,
    "MACCS": rdMolDescriptors.GetMACCSKeysFingerprint,
    "PHCO": _find_pharmacophores,
}
"""The fingerprints by name. The first six are count vectors: of extended and functional connectivity, of atom pairs (at
most 10 bonds apart) and of topological torsions. The others are bit vectors: of RDKit's paths, of MACCS keys and of
Gobbi and Poppinger's two-dimensional pharmacophores."""


Measure = Callable[[list[str]], Any]
"""Maps ``n`` valid SMILES to ``(n,)`` raw values, NaN for a molecule without one; can be sent to worker processes."""


@dataclass
class Component:
    """The keys that all components have; a component is one of the measured quantities that make up a score.

    Attributes:
        kind: what is measured
        weight: weight in the mean, or exponent in the product
        transform: maps the raw value to a score from 0 to 1: a kind and its numbers; not needed if the raw value is a
            score
    """

    kind: str = setting()
    weight: float = setting(default=1.0, above=0, most=1e6)
    transform: dict[str, Any] = field(default_factory=dict)

    def find_violations(self, prefix: str) -> Iterator[str]:  # noqa: ARG002
        """Yield a message for each value of this component that cannot be used; it begins with the key of the value.

        Args:
            prefix: What precedes the keys of this component, such as ``task.objective.components.logp.``.
        """
        yield from ()

    def find_mismatch(self, transform: Transform | None) -> str | None:  # noqa: ARG002
        """Return what is wrong with a valid transform, or with its absence, for this valid component; None if nothing.

        The message continues the key ``transform``.
        """
        return None

    def find_source(self, artifact_sha256: Callable[[str], str]) -> Path | str | None:  # noqa: ARG002
        """Return what the raw values depend on (see `find_oracle_source`), or None if they depend on no file.

        Args:
            artifact_sha256: A function that returns the SHA-256 of a published file, given its name.
        """
        return None

    def build(self, artifact: Callable[[str], Path]) -> Measure:  # noqa: ARG002
        """Return the function that maps ``n`` SMILES to ``(n,)`` raw values, which no transform has turned into scores.

        A molecule without a value gets NaN.

        Args:
            artifact: A function that returns the path of a published file, given its name. Only published classifiers
                need such a file.
        """
        return self.measure_each

    def measure_each(self, smiles: Sequence[str]) -> list[float]:
        """Return the raw value of each molecule."""
        return [float(self.measure(molecule_of(text))) for text in smiles]

    def measure(self, molecule: Chem.Mol) -> float:
        """Return the raw value of a molecule."""
        raise NotImplementedError

    @abstractmethod
    def describe(self) -> str:
        """Return a few words on what is measured, for prompts."""


@dataclass
class Property(Component):
    """A property that RDKit computes; ``kind`` is its name in `PROPERTIES`."""

    def measure(self, molecule: Chem.Mol) -> float:
        """Return the property."""
        return PROPERTIES[self.kind](molecule)

    def describe(self) -> str:
        """Return the name of the property in words."""
        return in_words(self.kind)


@dataclass
class OracleComponent(Oracle, Component):
    """A published classifier, or a user's own forest or function; the keys are those of ``task.oracle``.

    If a user's function has no transform, an error is raised when it returns a score outside [0, 1].
    """

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield what is wrong with the oracle's keys, or with the user's file or function that they name."""
        if self.elsewhere:
            yield f"{prefix}elsewhere=true is allowed in task.oracle only; set published, path or _target_ instead"
        else:
            yield from oracle.find_oracle_violations(self, prefix)

    def find_mismatch(self, transform: Transform | None) -> str | None:
        """Return a message if a user's forest predicts numbers that a transform does not turn into useful scores."""
        if self.path is None:
            return None
        if isinstance(oracle.open_own_oracle(self), oracle.RegressionOracle):
            return None if transform else f"has no value; set one, as {self.path} is a regression forest"
        with np.errstate(over="ignore"):
            scores = transform(_PROBABILITIES) if transform else _PROBABILITIES
        if np.ptp(scores) >= 0.01:
            return None
        return (
            f"scores all probabilities alike, as {scores[0]:.2g}, and {self.path} predicts probabilities; correct the "
            "transform, or train the forest with --regression"
        )

    def find_source(self, artifact_sha256: Callable[[str], str]) -> Path | str | None:
        """Return what the oracle's scores depend on (see `find_oracle_source`); never None."""
        return oracle.find_oracle_source(self, artifact_sha256)

    def build(self, artifact: Callable[[str], Path]) -> Measure:
        """Return the oracle, which is itself the function that measures raw values."""
        return oracle.open_oracle(self, artifact)

    def describe(self) -> str:
        """Return what a published oracle predicts, or the name of the user's own oracle."""
        if self.is_own:
            return str(self._target_ or Path(str(self.path)).stem)
        return oracle.PUBLISHED[str(self.published)].activity


@dataclass
class Similarity(Component):
    """The Tanimoto similarity to the most similar of the given molecules.

    Attributes:
        smiles: molecules to compare with; the most similar one counts
        fingerprint: fingerprint that is compared
    """

    smiles: list[str] = setting()
    fingerprint: str = setting(default="ECFP4", choices=tuple(FINGERPRINTS))

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield a message for each given molecule that is invalid or has an empty fingerprint.

        If no molecules are given, yield one message about that.
        """
        if not self.smiles:
            yield f"{prefix}smiles must name at least one molecule, got []"
        for smiles in self.smiles:
            with rdBase.BlockLogs():
                molecule = molecule_of(smiles)
            if molecule is None or molecule.GetNumAtoms() == 0:
                yield f"{prefix}smiles: {smiles!r} is not a molecule; write it as SMILES"
            elif (bits := FINGERPRINTS[self.fingerprint](molecule)) is None:
                yield f"{prefix}smiles: {smiles!r} has more than {MOST_FEATURES} {self.fingerprint} features"
            elif DataStructs.TanimotoSimilarity(bits, bits) == 0:
                yield f"{prefix}smiles: {smiles!r} has no {self.fingerprint} features, so nothing is similar to it"

    def measure(self, molecule: Chem.Mol) -> float:
        """Return the similarity; NaN if a fingerprint would take too long."""
        bits = FINGERPRINTS[self.fingerprint](molecule)
        known = _fingerprints(self.fingerprint, tuple(self.smiles))
        return nan if bits is None else max(DataStructs.BulkTanimotoSimilarity(bits, known))

    def describe(self) -> str:
        """Return in words with which molecules a candidate is compared, and by which fingerprint."""
        return f"similarity ({self.fingerprint}) to {' or '.join(self.smiles)}"


@dataclass
class Smarts(Component):
    """1 for a molecule that has a substructure (or does not have it, with ``present=False``), else 0.

    Attributes:
        smarts: the substructure
        present: whether the substructure must be present; false: absent
    """

    smarts: str = setting()
    present: bool = True

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield what is wrong with the pattern."""
        yield from find_smarts_violations(self.smarts, f"{prefix}smarts")

    def measure(self, molecule: Chem.Mol) -> float:
        """Return whether the molecule is as wanted."""
        return molecule.HasSubstructMatch(read_smarts(self.smarts)) == self.present

    def describe(self) -> str:
        """Return in words which substructure must be present or absent."""
        return f"{'presence' if self.present else 'absence'} of the substructure {self.smarts}"


@dataclass
class Atoms(Component):
    """The number of atoms of an element, hydrogens included.

    Attributes:
        element: symbol of the element
    """

    element: str = setting()

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield a message if ``element`` is not the symbol of a chemical element."""
        if self.element not in ELEMENTS:
            yield f"{prefix}element={self.element} is not an element; write a symbol such as F"

    def measure(self, molecule: Chem.Mol) -> float:
        """Return the number of atoms."""
        n_hydrogens = sum(atom.GetTotalNumHs() for atom in molecule.GetAtoms()) if self.element == "H" else 0
        return n_hydrogens + sum(atom.GetSymbol() == self.element for atom in molecule.GetAtoms())

    def describe(self) -> str:
        """Return a phrase for prompts that names the atoms that are counted."""
        return f"number of {self.element} atoms"


@dataclass
class Formula(Component):
    """The closeness of a molecule to a molecular formula, from 0 to 1 (see `isomer_score`).

    Attributes:
        formula: molecular formula, such as C7H8N2O2
    """

    formula: str = setting()

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield what is wrong with the formula."""
        try:
            count_atoms(self.formula)
        except ValueError as error:
            yield f"{prefix}formula: {error}"

    def measure(self, molecule: Chem.Mol) -> float:
        """Return how close the molecule's formula is."""
        return isomer_score(count_atoms(self.formula), molecule)

    def describe(self) -> str:
        """Return a phrase for prompts that names the molecular formula."""
        return f"closeness to the molecular formula {self.formula}"


@lru_cache(maxsize=64)
def _fingerprints(fingerprint: str, targets: tuple[str, ...]) -> list[Fingerprint]:
    return [FINGERPRINTS[fingerprint](molecule_of(text)) for text in targets]


COMPONENTS: Final[Mapping[str, type[Component]]] = {
    "oracle": OracleComponent,
    "similarity": Similarity,
    "smarts": Smarts,
    "atoms": Atoms,
    "formula": Formula,
    **dict.fromkeys(PROPERTIES, Property),
}
"""The kinds of components by name."""

NUMBERS: Final = {"atoms", *PROPERTIES} - {"qed", "sp3_share"}
"""The kinds whose raw values need not lie in [0, 1], so that they need a transform."""
