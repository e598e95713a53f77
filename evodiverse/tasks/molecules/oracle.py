"""Oracles that score molecules: published fingerprint classifiers, a user's own forest or a user's function."""

import functools
import importlib
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from evodiverse.errors import DataError, InputError, Interrupted, describe
from evodiverse.kit.documented import join_or
from evodiverse.kit.inputs import expanded, input_sha256
from evodiverse.tasks.molecules.classifier_files import Classifier
from evodiverse.tasks.molecules.forest import N_BITS, Forest
from evodiverse.tasks.molecules.parsing import molecule_of
from evodiverse.tasks.molecules.settings import Oracle
from evodiverse.tasks.molecules.support_vectors import SupportVectorMachine, as_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array


OracleFunction = Callable[[list[str]], ArrayLike]
"""Maps a batch of SMILES to one number for each, in order; NaN for a molecule that it cannot score."""

_LOG = logging.getLogger("evodiverse.tasks.molecules")
_MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=N_BITS)
_FEATURES = rdFingerprintGenerator.GetMorganGenerator(
    radius=3, atomInvariantsGenerator=rdFingerprintGenerator.GetMorganFeatureAtomInvGen()
)
_ZIP_MAGIC = b"PK\x03\x04"
_PIN_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Published:
    """A published classifier: its description, and the checksum and scores that it must have.

    Attributes:
        kind: The class of the classifier.
        target: The name of its target, for prompts.
        activity: What it predicts, in a few words, for prompts.
        meaning: One sentence on what its score measures, for prompts.
        arrays_sha256: The SHA-256 of its arrays.
        pinned_scores: The scores that scikit-learn gives to a few molecules, for `ClassifierOracle.check_pinned`. The
            scores of forests were computed with scikit-learn 1.2.2, which can still unpickle these forests. The scores
            of other classifiers were computed with scikit-learn 1.9.1.
    """

    kind: type[Classifier]
    target: str
    activity: str
    meaning: str
    arrays_sha256: str
    pinned_scores: Mapping[str, float]


PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "jnk3": Published(
            kind=Forest,
            target="JNK3",
            activity="inhibition of JNK3",
            meaning="It measures how strongly a molecule inhibits c-Jun N-terminal kinase 3 (JNK3).",
            arrays_sha256="d10aea864b9f79749e626ec35283736769c1e05952362af334943766bebc72cb",
            pinned_scores=MappingProxyType(
                {
                    "O=C(c1ccc(Cn2c(=O)[nH]c3ccccc3c2=O)cc1)N1CCN(c2ccccc2)CC1": 0.66,
                    "C[NH+]1CCc2c(sc(NC(=O)c3ccccc3F)c2C#N)C1": 0.5,
                    "Cn1cc(N2CCC[C@H](Nc3nccc(OCc4ccccc4)n3)C2)cn1": 0.34,
                    "O=C(c1cncs1)N1CCC(n2c(CCc3ccccc3)nc3cccnc32)CC1": 0.03,
                }
            ),
        ),
        "gsk3b": Published(
            kind=Forest,
            target="GSK3β",
            activity="inhibition of GSK3β",
            meaning="It measures how strongly a molecule inhibits glycogen synthase kinase 3 beta (GSK3β).",
            arrays_sha256="86214bc8c6b9f13663c056c14d63947a1d2f96700dad36d2373b216377faf1b0",
            pinned_scores=MappingProxyType(
                {
                    "CC(C)CNc1nc(N)c([N+](=O)[O-])c(NCc2ccco2)n1": 0.69,
                    "Cc1nn(-c2ccc(F)cc2)cc1-c1ccnc(NCc2ccccc2)n1": 0.59,
                    "O=C1Nc2cccc(O)c2Nc2cc(Cl)ccc21": 0.56,
                    "Cc1cnc2c(S(=O)(=O)N(Cc3ccco3)C3CC3)cccc2c1": 0.05,
                }
            ),
        ),
        "drd2": Published(
            kind=SupportVectorMachine,
            target="DRD2",
            activity="activity at the dopamine receptor D2",
            meaning="It measures how likely a molecule is active at the dopamine receptor D2 (DRD2).",
            arrays_sha256="7282c2463570824a1f03fc3c072907e549dbba5db42233bb27e4e238574af3d1",
            pinned_scores=MappingProxyType(
                {
                    "O=C(CCCN1CCC(O)(c2ccc(Cl)cc2)CC1)c1ccc(F)cc1": 0.9999993745656254,  # haloperidol
                    "Cc1nc2n(c(=O)c1CCN1CCC(c3noc4cc(F)ccc34)CC1)CCCC2": 0.9826242691070421,  # risperidone
                    "CN1CCN(C2=Nc3cc(Cl)ccc3Nc3ccccc32)CC1": 0.84118748439398,  # clozapine
                    "NCCc1ccc(O)c(O)c1": 0.5680806734339598,  # dopamine
                    "CC(=O)Oc1ccccc1C(=O)O": 0.00030779248192998733,  # aspirin
                }
            ),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class ClassifierOracle:
    """An oracle that scores molecules by a classifier's probability of activity.

    The oracle holds only the origin of the classifier, so that sending the oracle to worker processes is cheap. Each
    worker process loads the classifier when it scores its first batch. Loading fails if a user's file has changed since
    the oracle was created, or if a published file does not hold the published classifier.

    Attributes:
        path: The pickle or ``.npz`` that the classifier was read from.
        sha256: The SHA-256 of that file for a user's own forest, else None.
        published_name: The name in `PUBLISHED` of a published classifier, else None.
    """

    path: Path
    sha256: str | None = None
    published_name: str | None = None

    @classmethod
    def published(cls, name: str, path: Path) -> Self:
        """Return the oracle of a published classifier.

        Args:
            name: The name of the classifier in `PUBLISHED`.
            path: The published pickle. The ``.npz`` converted from it is stored next to it.

        Raises:
            DataError: No classifier has this name, or the file does not hold this classifier.
        """
        if name not in PUBLISHED:
            raise DataError(f"no published oracle is named {name!r}; use {join_or([*PUBLISHED])}")
        _published(name, path)
        return cls(path, published_name=name)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Return the oracle of a user's own forest.

        The first bytes of the file tell whether it is read as an ``.npz`` or as a pickle; its name does not matter.

        Raises:
            InputError: The file is missing, is damaged, or does not hold a forest trained on 2048-bit fingerprints.
        """
        absolute = expanded(path).absolute()
        sha256 = input_sha256(absolute, "task.oracle.path")
        _file_forest(absolute, sha256)
        return cls(absolute, sha256)

    @property
    def classifier(self) -> Classifier:
        """The classifier itself, which is cached after it has been loaded."""
        if self.published_name is not None:
            return _published(self.published_name, self.path)
        return _file_forest(self.path, str(self.sha256))

    def __call__(self, smiles: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of each molecule, in order; a molecule's score does not depend on its batch.

        Args:
            smiles: ``n`` SMILES; n may be 0.

        Returns:
            ``(n,)`` scores in [0, 1], higher is better; NaN if the SMILES cannot be parsed or has no atoms.
        """
        molecules = [molecule_of(text) for text in smiles]
        is_molecule = np.array([mol is not None and mol.GetNumAtoms() > 0 for mol in molecules], dtype=np.bool_)
        scores = np.full(len(molecules), np.nan)
        valid = [mol for mol, is_valid in zip(molecules, is_molecule, strict=True) if is_valid]
        classifier = self.classifier
        if isinstance(classifier, SupportVectorMachine):
            scores[is_molecule] = classifier.predict(feature_counts(valid))
        elif isinstance(classifier, Forest):
            scores[is_molecule] = classifier.predict(morgan_fingerprints(valid))
        return scores

    def check_pinned(self) -> None:
        """Check that a published classifier gives its `Published.pinned_scores`; a user's own forest has none to check.

        This guards against a version of RDKit whose fingerprints differ from those the classifier was trained on.

        Raises:
            DataError: A score differs by more than 1e-9.
        """
        if self.published_name is None:
            return
        pinned = PUBLISHED[self.published_name].pinned_scores
        for smiles, score in zip(pinned, self(list(pinned)), strict=True):
            if not abs(score - pinned[smiles]) <= _PIN_TOLERANCE:  # NaN must fail
                raise DataError(
                    f"the {self.published_name} oracle must score {smiles} as {pinned[smiles]}, got {score}; the "
                    "fingerprints of this version of RDKit differ from those it was trained on; install another version"
                )


@dataclass(frozen=True, slots=True)
class TargetOracle:
    """An oracle that scores molecules by a user's function, or by an instance of a user's class.

    The oracle holds only the dotted name, so that the function need not be picklable. Each worker process imports the
    function once, with its first batch.

    Attributes:
        target: The dotted name, ``module.name``.
    """

    target: str

    def check(self) -> None:
        """Import the function now.

        Raises:
            InputError: There is no such function or class, or importing or instantiating it raised an exception.
        """
        _located(self.target)

    def find_source(self) -> Path | str:
        """Return the file of the function's module, or the function's dotted name if the module has no file."""
        self.check()
        source = Path(getattr(sys.modules[self.target.rpartition(".")[0]], "__file__", None) or "")
        return source if source.is_file() else self.target

    def __call__(self, smiles: list[str]) -> ArrayLike:
        """Return the answer of the user's function, which should be one number for each SMILES; callers check it."""
        return _located(self.target)(smiles)


def import_targets(oracles: Sequence[TargetOracle]) -> None:
    """Import users' functions, so that their first calls need not; see `TargetOracle.check`."""
    for oracle in oracles:
        oracle.check()


@dataclass(frozen=True, slots=True)
class ElsewhereOracle:
    """A placeholder for ``task.oracle.elsewhere=true``: the evaluator obtains the scores from outside this process."""

    def __call__(self, smiles: Sequence[str]) -> NDArray[np.float64]:
        """Refuse to score molecules.

        Raises:
            InputError: Always. The message names the evaluators that work with this oracle.
        """
        raise InputError(
            f"task.oracle.elsewhere=true cannot score {len(smiles)} molecules in this process; use evaluator=command "
            "or evaluator=ask"
        )


def morgan_fingerprints(molecules: Sequence[Chem.Mol]) -> NDArray[np.uint8]:
    """Return the Morgan fingerprints of radius 2 that the published forests were trained on.

    They are equal bit for bit to ``AllChem.GetMorganFingerprintAsBitVect(mol, 2, 2048)``.

    Args:
        molecules: ``n`` molecules, none of them None; n may be 0.

    Returns:
        ``(n, 2048)`` uint8 array of 0 and 1.
    """
    vectors = _MORGAN.GetFingerprints(list(molecules), numThreads=1)
    packed = b"".join(DataStructs.BitVectToBinaryText(vector) for vector in vectors)
    return np.unpackbits(np.frombuffer(packed, np.uint8).reshape(-1, N_BITS // 8), axis=1, bitorder="little")


def feature_counts(molecules: Sequence[Chem.Mol]) -> "csr_array":
    """Return the counts of feature-based Morgan fingerprints of radius 3 (FCFP6), the input of the DRD2 classifier.

    Args:
        molecules: ``n`` molecules, none of them None; n may be 0.

    Returns:
        ``(n, 2048)`` float32 sparse array.
    """
    return as_counts([_FEATURES.GetSparseCountFingerprint(mol).GetNonzeroElements() for mol in molecules])


@functools.cache
def _published(name: str, path: Path) -> Classifier:
    """Load a published classifier from its converted copy next to ``path``, or convert it and store the copy."""
    expected = PUBLISHED[name]
    converted = path.with_name(f"{path.name}.npz")
    if converted.exists():
        try:
            classifier = expected.kind.load_npz(converted)
        except DataError as error:
            _LOG.warning("%s; converting %s again", error, name)
        else:
            if classifier.arrays_sha256() == expected.arrays_sha256:
                return classifier
    classifier = expected.kind.from_pickle(path)
    if classifier.arrays_sha256() != expected.arrays_sha256:
        raise DataError(f"{path} does not hold the published {name} oracle; run `evodiverse-data fetch {name}`")
    try:
        classifier.save_npz(converted)
    except OSError as error:
        _LOG.warning("cannot store the converted %s oracle at %s (%s)", name, converted, error.strerror or error)
    return classifier


@functools.lru_cache(maxsize=16)  # more forests than an objective usually has
def _file_forest(path: Path, sha256: str) -> Forest:
    """Load a user's forest, and refuse a file that has changed since the oracle was created."""
    if input_sha256(path, "task.oracle.path") != sha256:
        raise DataError(f"the forest {path} has changed since the run began; restore the old file or start a new run")
    with path.open("rb") as file:
        is_npz = file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC
    return Forest.load_npz(path) if is_npz else Forest.from_pickle(path)


@functools.cache
def _located(target: str) -> OracleFunction:
    """Return the function with this dotted name, or an instance of the class with this name."""
    module_name, _, name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), name)
        function: OracleFunction = found() if isinstance(found, type) else found
    except Interrupted:
        raise
    except BaseException as error:  # a user's module may raise anything
        raise InputError(
            f"task.oracle._target_={target} cannot be used ({describe(error)}); set it to module.name of a function or "
            "of a class without arguments, in a module that is installed or in the current folder"
        ) from error
    if not callable(function):
        raise InputError(
            f"task.oracle._target_={target} is neither a function nor a class whose instances can be called"
        )
    return function


OWN_PREFIX: Final = "task.oracle."
"""The prefix of the keys of an oracle that gives the whole score, not only that of one component of an objective."""


def find_oracle_violations(oracle: Oracle, prefix: str) -> list[str]:
    """Return what is wrong with the settings of an oracle, and with the user's file or function that they name.

    Args:
        oracle: The settings.
        prefix: The prefix of their keys, for error messages: `OWN_PREFIX`, or that of a component of an objective.
    """
    is_whole_score = prefix == OWN_PREFIX
    keys = ("path", "_target_", "elsewhere") if is_whole_score else ("published", "path", "_target_")
    given = [key for key in keys if getattr(oracle, key) not in (None, False)]
    if len(given) > 1:
        return [f"{' and '.join(f'{prefix}{key}' for key in given)} exclude each other; set all but one to null"]
    if oracle.is_own:
        try:
            open_own_oracle(oracle)
        except InputError as error:
            return [_under(prefix, given[0], violation) for violation in error.violations]
        return []
    if oracle.published is None:
        known = "published, path, _target_ or elsewhere" if is_whole_score else "published, path or _target_"
        return [f"{prefix.rstrip('.')} names no oracle; set {known}"]
    if oracle.published not in PUBLISHED:
        return [f"{prefix}published={oracle.published} is unknown; use {join_or([*PUBLISHED])}"]
    return []


def _under(prefix: str, key: str, violation: str) -> str:
    """Return the message ``violation`` with the full key of the faulty setting at its start.

    If the message starts with ``task.oracle.``, this is replaced by ``prefix``. Otherwise ``prefix`` and ``key`` are
    put in front of it.
    """
    if violation.startswith(OWN_PREFIX):
        return f"{prefix}{violation.removeprefix(OWN_PREFIX)}"
    return f"{prefix}{key}: {violation}"


def open_oracle(oracle: Oracle, artifact: Callable[[str], Path]) -> OracleFunction:
    """Return the oracle that settings name. A published one is first tested on a few molecules with known scores.

    Args:
        oracle: The settings.
        artifact: A function that returns the path of a published file, given its name.

    Raises:
        InputError: The user's own oracle cannot be used.
        DataError: The published oracle is damaged, or does not give these molecules their known scores.
    """
    own = open_own_oracle(oracle)
    if own is not None:
        return own
    name = str(oracle.published)
    published = ClassifierOracle.published(name, artifact(name))
    published.check_pinned()
    return published


def open_own_oracle(oracle: Oracle) -> OracleFunction | None:
    """Return the user's own oracle after checking it, or None if the settings name none.

    For ``elsewhere=true``, this is an `ElsewhereOracle`, which cannot score molecules itself.
    """
    if oracle.elsewhere:
        return ElsewhereOracle()
    if oracle._target_ is not None:
        target = TargetOracle(oracle._target_)
        target.check()
        return target
    return None if oracle.path is None else ClassifierOracle.from_file(oracle.path)


def find_oracle_source(oracle: Oracle, artifact_sha256: Callable[[str], str]) -> Path | str:
    """Return what the scores of an oracle depend on: a user's file, or the SHA-256 of a published one.

    For a user's function, the source is the file of its module, or its dotted name if the module has no file. If the
    scores are obtained from outside this process (``task.oracle.elsewhere=true``), it is the word ``elsewhere``.

    Args:
        oracle: The settings.
        artifact_sha256: A function that returns the SHA-256 of a published file, given its name.
    """
    if oracle.elsewhere:
        return "elsewhere"
    if oracle._target_ is not None:
        return TargetOracle(oracle._target_).find_source()
    return artifact_sha256(str(oracle.published)) if oracle.path is None else expanded(oracle.path)
