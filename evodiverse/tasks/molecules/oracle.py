"""Oracles that measure molecules: published fingerprint classifiers, a user's own forest or a user's function.

`ask` calls any of them, and checks what it returns.
"""

import functools
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evodiverse.errors import ContractError, DataError, EvoDiverseError, InputError, Interrupted, ServiceError, describe
from evodiverse.kit.apart import Apart, TooLongError
from evodiverse.kit.documented import join_or
from evodiverse.kit.files import read_shipped
from evodiverse.kit.inputs import expanded, input_sha256
from evodiverse.kit.own_code import locate
from evodiverse.tasks.molecules.classifier_files import load_one_of
from evodiverse.tasks.molecules.forest import Forecast, Forest, RegressionForest, Trees, morgan_fingerprints
from evodiverse.tasks.molecules.parsing import molecule_of
from evodiverse.tasks.molecules.settings import FAIL, RETRY, SKIP, Oracle
from evodiverse.tasks.molecules.support_vectors import SupportVectorMachine
from evodiverse.vocabulary import Reason, Rejection

OracleFunction = Callable[[list[str]], ArrayLike]
"""Maps a batch of SMILES to one number for each, in order; NaN for a molecule that it cannot score."""

Classifier: TypeAlias = Forest | SupportVectorMachine

_TARGET: Final = "task.oracle._target_"


@dataclass(frozen=True, slots=True)
class Published:
    """A published classifier, with the entries of ``published.yaml``, which says what they are."""

    kind: str
    target: str
    activity: str
    meaning: str
    arrays_sha256: str
    pinned_scores: Mapping[str, float]


PUBLISHED: Final[Mapping[str, Published]] = {
    name: Published(**entries) for name, entries in read_shipped(Path(__file__).with_name("published.yaml")).items()
}


@dataclass(frozen=True, slots=True)
class ClassifierOracle:
    """An oracle that scores molecules by a classifier's probability of activity.

    The oracle holds only the origin of the classifier, so that sending the oracle to worker processes is cheap. Each
    worker process loads the classifier when it scores its first batch. Loading fails if a user's file has changed since
    the oracle was created, or if a published file does not hold the published classifier.

    Attributes:
        path: The file that the classifier is read from. The ``.npz`` of a published pickle is stored next to it.
        origin: The name in `PUBLISHED` of a published classifier, or the SHA-256 of a file with a user's own forest.
    """

    path: Path
    origin: str

    @property
    def classifier(self) -> Classifier:
        """The classifier itself, which is cached after it has been loaded.

        Raises:
            DataError: The file is missing, is damaged, has changed, or does not hold this classifier.
        """
        load = _load_published if self.origin in PUBLISHED else _load_own
        return cast("Classifier", load(self.origin, self.path))  # as `open_forest` has found

    def __call__(self, smiles: Sequence[str]) -> NDArray[np.float64]:
        """Return the ``(n,)`` scores in [0, 1] of ``n`` valid SMILES, in order; see `Forest.score`."""
        return self.classifier.score([molecule_of(text) for text in smiles])


@dataclass(frozen=True, slots=True)
class RegressionOracle:
    """An oracle that measures molecules by a user's own regression forest, sent to worker processes as the one above.

    Attributes:
        path: The file that the forest is read from.
        origin: The SHA-256 of the file.
    """

    path: Path
    origin: str

    def __call__(self, smiles: Sequence[str]) -> NDArray[np.float64]:
        """Return the ``(n,)`` numbers that the forest predicts for ``n`` valid SMILES, in order."""
        return self.forecast(smiles).mean

    def forecast(self, smiles: Sequence[str]) -> Forecast:
        """Return what the forest predicts for valid SMILES, with the spread of its trees.

        Raises:
            DataError: The file is missing, or has changed since the oracle was created.
        """
        forest = cast("RegressionForest", _load_own(self.origin, self.path))  # as `open_forest` has found
        return forest.predict(morgan_fingerprints(map(molecule_of, smiles)))


def open_published(name: str, path: Path) -> ClassifierOracle:
    """Return the oracle of a published classifier after testing it on a few molecules with known scores.

    This guards against a version of RDKit whose fingerprints differ from those that the classifier was trained on.

    Args:
        name: The name of the classifier in `PUBLISHED`.
        path: The published pickle.

    Raises:
        DataError: The file does not hold this classifier, or a score differs by more than 1e-9.
    """
    oracle, pinned = ClassifierOracle(path, name), PUBLISHED[name].pinned_scores
    for smiles, score in zip(pinned, oracle(list(pinned)), strict=True):
        if not abs(score - pinned[smiles]) <= 1e-9:  # NaN must fail
            raise DataError(
                f"the {name} oracle must score {smiles} as {pinned[smiles]}, got {score}; the fingerprints of this "
                "version of RDKit differ from those it was trained on; install another version"
            )
    return oracle


def open_forest(path: str | Path) -> ClassifierOracle | RegressionOracle:
    """Return the oracle of a user's own forest.

    Raises:
        InputError: The file is missing, is damaged, or does not hold a forest trained on 2048-bit fingerprints.
    """
    absolute = expanded(path).absolute()
    origin = input_sha256(absolute, "task.oracle.path")
    kind = ClassifierOracle if isinstance(_load_own(origin, absolute), Forest) else RegressionOracle
    return kind(absolute, origin)


@functools.cache
def _load_published(name: str, path: Path) -> Classifier:
    """Load a published classifier from its converted copy next to ``path``, or convert it and store the copy."""
    expected, converted = PUBLISHED[name], path.with_name(f"{path.name}.npz")
    kind: type[Classifier] = Forest if expected.kind == Forest.what else SupportVectorMachine
    with suppress(DataError):  # not converted yet, or damaged
        classifier = kind.load(converted)
        if classifier.arrays_sha256() == expected.arrays_sha256:
            return classifier
    classifier = kind.load(path)
    if classifier.arrays_sha256() != expected.arrays_sha256:
        raise DataError(f"{path} does not hold the published {name} oracle; run `evodiverse-data fetch {name}`")
    with suppress(OSError):  # a cache that cannot be written only costs time
        classifier.save_npz(converted)
    return classifier


@functools.lru_cache(maxsize=16)  # more forests than an objective usually has
def _load_own(sha256: str, path: Path) -> Trees:
    """Load a user's forest, and refuse a file that has changed since the oracle was created."""
    if input_sha256(path, "task.oracle.path") != sha256:
        raise DataError(f"the forest {path} has changed since the run began; restore the old file or start a new run")
    return load_one_of((Forest, RegressionForest), path)


@dataclass(frozen=True, slots=True)
class TargetOracle:
    """An oracle that scores molecules by a user's function, or by an instance of a user's class.

    The oracle holds only the dotted name, so that the function need not be picklable. Each worker process imports the
    function once, with its first batch.

    Attributes:
        target: The dotted name, ``module.name``.
        on_error: What happens if the function raises an exception: the value of ``task.oracle.on_error``.
    """

    target: str
    on_error: str = SKIP

    def __call__(self, smiles: list[str]) -> ArrayLike:
        """Return the answer of the user's function, which should be one number for each SMILES; callers check it."""
        answer: ArrayLike = locate(_TARGET, self.target)(smiles)
        return answer


def import_targets(oracles: Sequence[TargetOracle]) -> None:
    """Import users' functions, so that their first calls need not."""
    for oracle in oracles:
        locate(_TARGET, oracle.target)


def score_elsewhere(smiles: Sequence[str]) -> NDArray[np.float64]:
    """Refuse to score molecules; the oracle for ``task.oracle.elsewhere=true``, whose scores the evaluator obtains.

    Raises:
        InputError: Always. The message names the evaluators that work with this oracle.
    """
    raise InputError(
        f"task.oracle.elsewhere=true cannot score {len(smiles)} molecules in this process; use evaluator=command "
        "or evaluator=ask"
    )


OWN_PREFIX: Final = "task.oracle."
"""The prefix of the keys of an oracle that gives the whole score, not only that of one component of an objective."""


def find_oracle_violations(oracle: Oracle, prefix: str = OWN_PREFIX) -> list[str]:
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
            own = open_own_oracle(oracle)
        except InputError as error:
            keyed = [each if each.startswith(OWN_PREFIX) else f"{OWN_PREFIX}{given[0]}: {each}" for each in error.args]
            return [f"{prefix}{each.removeprefix(OWN_PREFIX)}" for each in keyed]
        if is_whole_score and isinstance(own, RegressionOracle):
            remedy = "make it a component of task.objective, with a transform (docs/molecules.md)"
            return [f"{prefix}path={oracle.path} predicts numbers that are no scores from 0 to 1; {remedy}"]
        return []
    if oracle.published is None:
        known = "published, path, _target_ or elsewhere" if is_whole_score else "published, path or _target_"
        return [f"{prefix.rstrip('.')} names no oracle; set {known}"]
    if oracle.published not in PUBLISHED:
        return [f"{prefix}published={oracle.published} is unknown; use {join_or([*PUBLISHED])}"]
    return []


def open_oracle(oracle: Oracle, artifact: Callable[[str], Path]) -> OracleFunction:
    """Return the oracle that settings name. A published one is first tested on a few molecules with known scores.

    Args:
        oracle: The settings.
        artifact: A function that returns the path of a published file, given its name.

    Raises:
        InputError: The user's own oracle cannot be used.
        DataError: The published oracle is damaged, or does not give these molecules their known scores.
    """
    name = str(oracle.published)
    return open_own_oracle(oracle) or open_published(name, artifact(name))


def open_own_oracle(oracle: Oracle) -> OracleFunction | None:
    """Return the user's own oracle after checking it, or None if the settings name none.

    For ``elsewhere=true``, this is `score_elsewhere`, which cannot score molecules itself.
    """
    if oracle.elsewhere:
        return score_elsewhere
    if oracle._target_ is not None:
        locate(_TARGET, oracle._target_)
        return TargetOracle(oracle._target_, oracle.on_error)
    return None if oracle.path is None else open_forest(oracle.path)


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
        locate(_TARGET, oracle._target_)
        source = Path(getattr(sys.modules[oracle._target_.rpartition(".")[0]], "__file__", None) or "")
        return source if source.is_file() else oracle._target_
    return artifact_sha256(str(oracle.published)) if oracle.path is None else expanded(oracle.path)


_PAUSES: Final = (1.0, 5.0)
"""The seconds before each further call for a molecule for which the function raised an exception."""


class RaisedError(ServiceError):
    """A scoring function raised an exception."""


Answers: TypeAlias = tuple[NDArray[np.float64], dict[int, Rejection]]
"""What a scoring function answered for ``n`` molecules: ``(n,)`` float64, NaN for a molecule without a value; and why
molecules got no value, by their places, where the function rejected them, raised an exception or took too long."""


def ask(function: OracleFunction, smiles: Sequence[str], name: str, apart: Apart | None = None) -> Answers:
    """Call a scoring function and return its numbers, without checking their range.

    A user's function rejects molecules by an `AssertionError`, and fails for them by any other exception
    (``task.oracle.on_error``). If it raises one for several molecules, or takes too long, it is called again for each.

    Args:
        function: A function that maps SMILES to numbers, in order.
        smiles: ``n`` SMILES.
        name: The name of the function in error messages, such as "the oracle".
        apart: The process in which a user's function is called; None for this process, and any time.

    Raises:
        ServiceError: The function raised another exception, and ``on_error`` is ``fail`` or the function is not a
            user's. EvoDiverse's own exceptions are passed on instead.
        ContractError: The function did not return one number for each molecule.
    """
    if not isinstance(function, TargetOracle):
        return _call(function, smiles, name), {}
    answer = _try(function, list(smiles), name, apart)
    for pause in _PAUSES if function.on_error == RETRY and len(smiles) == 1 else ():
        if not isinstance(answer, Rejection) or answer.reason != Reason.RAISED:
            break
        time.sleep(pause)
        answer = _try(function, list(smiles), name, apart)
    if not isinstance(answer, Rejection):
        return answer, {}
    if len(smiles) == 1:
        return np.array([np.nan]), {0: answer}
    numbers, faults = zip(*(ask(function, [text], name, apart) for text in smiles), strict=True)
    return np.concatenate(numbers), {place: one[0] for place, one in enumerate(faults) if one}


def _try(oracle: TargetOracle, smiles: list[str], name: str, apart: Apart | None) -> NDArray[np.float64] | Rejection:
    try:
        return _call_own(oracle, smiles, name) if apart is None else apart.call(_call_own, oracle, smiles, name)
    except TooLongError:
        return Rejection(Reason.TIMED_OUT, f"no score after {apart.timeout:g} s" if apart else "")
    except RaisedError as error:
        if oracle.on_error == FAIL:
            raise
        return Rejection(Reason.RAISED, str(error))


def _call_own(oracle: TargetOracle, smiles: list[str], name: str) -> NDArray[np.float64] | Rejection:
    try:
        return _call(oracle, smiles, name)
    except AssertionError as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(str(error).split())
        return Rejection(
            Reason.INVALID, said or f"{place.line or 'assert'} ({Path(place.filename).name}, line {place.lineno})"
        )


def _call(function: OracleFunction, smiles: Sequence[str], name: str) -> NDArray[np.float64]:
    try:
        answer = function(list(smiles))
    except (EvoDiverseError, Interrupted, AssertionError):
        raise
    except BaseException as error:  # noqa: BLE001 (a user's function may raise anything)
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise RaisedError(
            f"{name} raised {describe(error)} ({place.filename}, line {place.lineno})"
        ) from None  # the user's exception may not be picklable, so it cannot cross to another process
    try:
        if isinstance(answer, np.ma.MaskedArray):
            answer = np.ma.filled(answer.astype(np.float64), np.nan)
        numbers = np.asarray(answer)
    except Exception as error:  # a user's objects may raise anything
        raise ContractError(
            f"{name} must return one number for each molecule, got something else ({describe(error)})"
        ) from error
    if numbers.shape != (len(smiles),):
        raise ContractError(
            f"{name} returned an array of shape {numbers.shape} for {len(smiles)} molecules; "
            "it must return one score for each, in order"
        )
    if numbers.dtype.kind not in "bfiu":
        raise ContractError(f"{name} must return one number for each molecule, got values of type {numbers.dtype}")
    return numbers.astype(np.float64)
