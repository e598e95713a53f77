"""The components of an objective: for each kind, a class of settings that builds the measuring function."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import isnan, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from omegaconf import MISSING
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator, rdMolDescriptors

from evodiverse.kit.documented import documented, documented_mapping
from evodiverse.tasks.molecules.oracle import PUBLISHED, find_oracle_source, find_oracle_violations, open_oracle
from evodiverse.tasks.molecules.parsing import find_smarts_violation, molecule_of, read_smarts
from evodiverse.tasks.molecules.properties import ELEMENTS, PROPERTIES, check_size, count_atoms, in_words, isomer_score
from evodiverse.tasks.molecules.settings import Oracle

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


Measure = Callable[[list[str]], Any]
"""Maps ``n`` valid SMILES to ``(n,)`` raw values, NaN for a molecule without one; can be sent to worker processes."""


@dataclass
class Component:
    """The keys that all components have; a component is one of the measured quantities that make up a score."""

    kind: str = documented("what is measured", default=MISSING)
    weight: float = documented("weight in the mean, or exponent in the product", default=1.0, above=0, most=1e6)
    transform: dict[str, Any] = documented_mapping(
        "maps the raw value to a score from 0 to 1: a kind and its numbers; not needed if the raw value is a score"
    )

    @property
    def is_share(self) -> bool:
        """Whether all raw values lie in [0, 1], so that no transform is needed."""
        return True

    def find_violations(self, prefix: str) -> Iterator[str]:  # noqa: ARG002
        """Yield a message for each value of this component that cannot be used; it begins with the key of the value.

        Args:
            prefix: What precedes the keys of this component, such as ``task.objective.components.logp.``.
        """
        yield from ()

    def find_source(self, artifact_sha256: Callable[[str], str]) -> Path | str | None:  # noqa: ARG002
        """Return what the raw values depend on (see `find_oracle_source`), or None if they depend on no file.

        Args:
            artifact_sha256: A function that returns the SHA-256 of a published file, given its name.
        """
        return None

    @abstractmethod
    def build(self, artifact: Callable[[str], Path]) -> Measure:
        """Return the function that maps ``n`` SMILES to ``(n,)`` raw values, which no transform has turned into scores.

        A molecule without a value gets NaN.

        Args:
            artifact: A function that returns the path of a published file, given its name. Only published classifiers
                need such a file.
        """

    @abstractmethod
    def describe(self) -> str:
        """Return a few words on what is measured, for prompts."""


@dataclass
class Property(Component):
    """A property that RDKit computes; ``kind`` is its name in `PROPERTIES`."""

    @property
    def is_share(self) -> bool:
        """Whether all values of the property lie in [0, 1]."""
        return self.kind in {"qed", "sp3_share"}

    def build(self, artifact: Callable[[str], Path]) -> Measure:  # noqa: ARG002
        """Return the function that computes the property; ``artifact`` is not used."""
        return partial(_measure_property, self.kind)

    def describe(self) -> str:
        """Return the name of the property in words."""
        return in_words(self.kind)


@dataclass
class OracleComponent(Oracle, Component):
    """A published classifier, or a user's own forest or function; the keys are those of ``task.oracle``."""

    @property
    def is_share(self) -> bool:
        """Whether the scores can be used without a transform, which is always True.

        If a user's function has no transform, an error is raised when it returns a score outside [0, 1].
        """
        return True

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield what is wrong with the oracle's keys, or with the user's file or function that they name."""
        if self.elsewhere:
            yield f"{prefix}elsewhere=true is allowed in task.oracle only; set published, path or _target_ instead"
        else:
            yield from find_oracle_violations(self, prefix)

    def find_source(self, artifact_sha256: Callable[[str], str]) -> Path | str | None:
        """Return what the oracle's scores depend on (see `find_oracle_source`); never None."""
        return find_oracle_source(self, artifact_sha256)

    def build(self, artifact: Callable[[str], Path]) -> Measure:
        """Return the oracle, which is itself the function that measures raw values.

        Args:
            artifact: A function that returns the path of a published classifier, given its name.
        """
        return open_oracle(self, artifact)

    def describe(self) -> str:
        """Return what a published oracle predicts, or the name of the user's own oracle."""
        if self.is_own:
            return str(self._target_ or Path(str(self.path)).stem)
        return PUBLISHED[str(self.published)].activity


@dataclass
class Similarity(Component):
    """The Tanimoto similarity to the most similar of the given molecules."""

    smiles: list[str] = documented("molecules to compare with; the most similar one counts", default=MISSING)
    fingerprint: str = documented("fingerprint that is compared", default="ECFP4", choices=FINGERPRINTS)

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
            elif self.fingerprint in FINGERPRINTS:
                (similarity,) = _measure_similarity(self.fingerprint, (smiles,), [smiles])
                if isnan(similarity):
                    yield f"{prefix}smiles: {smiles!r} has more than {MOST_FEATURES} {self.fingerprint} features"
                elif similarity == 0:
                    yield f"{prefix}smiles: {smiles!r} has no {self.fingerprint} features, so nothing is similar to it"

    def build(self, artifact: Callable[[str], Path]) -> Measure:  # noqa: ARG002
        """Return the function that computes the similarity; ``artifact`` is not used."""
        return partial(_measure_similarity, self.fingerprint, tuple(self.smiles))

    def describe(self) -> str:
        """Return in words with which molecules a candidate is compared, and by which fingerprint."""
        return f"similarity ({self.fingerprint}) to {' or '.join(self.smiles)}"


@dataclass
class Smarts(Component):
    """1 for a molecule that has a substructure (or does not have it, with ``present=False``), else 0."""

    smarts: str = documented("the substructure", default=MISSING)
    present: bool = documented("whether the substructure must be present; false: absent", default=True)

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield what is wrong with the pattern."""
        violation = find_smarts_violation(self.smarts, f"{prefix}smarts")
        if violation:
            yield violation

    def build(self, artifact: Callable[[str], Path]) -> Measure:  # noqa: ARG002
        """Return the function that searches for the substructure; ``artifact`` is not used."""
        return partial(_measure_smarts, self.smarts, present=self.present)

    def describe(self) -> str:
        """Return in words which substructure must be present or absent."""
        return f"{'presence' if self.present else 'absence'} of the substructure {self.smarts}"


@dataclass
class Atoms(Component):
    """The number of atoms of an element, hydrogens included."""

    element: str = documented("symbol of the element", default=MISSING)

    @property
    def is_share(self) -> bool:
        """Whether the values lie in [0, 1]; always False, because they are numbers of atoms."""
        return False

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield a message if ``element`` is not the symbol of a chemical element."""
        if self.element not in ELEMENTS:
            yield f"{prefix}element={self.element} is not an element; write a symbol such as F"

    def build(self, artifact: Callable[[str], Path]) -> Measure:  # noqa: ARG002
        """Return the function that counts the atoms; ``artifact`` is not used."""
        return partial(_measure_each, partial(_count_element, self.element))

    def describe(self) -> str:
        """Return a phrase for prompts that names the atoms that are counted."""
        return f"number of {self.element} atoms"


@dataclass
class Formula(Component):
    """The closeness of a molecule to a molecular formula, from 0 to 1 (see `isomer_score`)."""

    formula: str = documented("molecular formula, such as C7H8N2O2", default=MISSING)

    def find_violations(self, prefix: str) -> Iterator[str]:
        """Yield what is wrong with the formula."""
        try:
            check_size(self.formula)
            count_atoms(self.formula)
        except ValueError as error:
            yield f"{prefix}formula: {error}"

    def build(self, artifact: Callable[[str], Path]) -> Measure:  # noqa: ARG002
        """Return the function that compares formulas; ``artifact`` is not used."""
        return partial(_measure_each, partial(isomer_score, count_atoms(self.formula)))

    def describe(self) -> str:
        """Return a phrase for prompts that names the molecular formula."""
        return f"closeness to the molecular formula {self.formula}"


COMPONENTS: Final[Mapping[str, type[Component]]] = MappingProxyType(
    {
        "oracle": OracleComponent,
        "similarity": Similarity,
        "smarts": Smarts,
        "atoms": Atoms,
        "formula": Formula,
        **dict.fromkeys(PROPERTIES, Property),
    }
)
"""The kinds of components by name."""


def _measure_property(name: str, smiles: Sequence[str]) -> list[float]:
    return _measure_each(PROPERTIES[name], smiles)


def _measure_each(measure: Callable[[Chem.Mol], float], smiles: Sequence[str]) -> list[float]:
    return [float(measure(molecule_of(text))) for text in smiles]


def _measure_similarity(fingerprint: str, targets: tuple[str, ...], smiles: Sequence[str]) -> list[float]:
    compute, known = generator(fingerprint), _fingerprints(fingerprint, targets)
    found = [compute(molecule_of(text)) for text in smiles]
    return [nan if bits is None else max(DataStructs.BulkTanimotoSimilarity(bits, known)) for bits in found]


@lru_cache(maxsize=64)
def _fingerprints(fingerprint: str, targets: tuple[str, ...]) -> list[Fingerprint]:
    return [generator(fingerprint)(molecule_of(text)) for text in targets]


def _measure_smarts(smarts: str, smiles: Sequence[str], *, present: bool) -> list[float]:
    pattern = read_smarts(smarts)
    return [float(molecule_of(text).HasSubstructMatch(pattern) == present) for text in smiles]


def _count_element(element: str, molecule: Chem.Mol) -> float:
    return sum(
        (atom.GetSymbol() == element) + (atom.GetTotalNumHs() if element == "H" else 0) for atom in molecule.GetAtoms()
    )
