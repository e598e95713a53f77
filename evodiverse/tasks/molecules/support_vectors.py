"""A support vector machine on feature counts, stored as plain arrays and evaluated with numpy and scipy only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError
from evodiverse.tasks.molecules.classifier_files import (
    Classifier,
    Record,
    build_array,
    read_pickle,
    refuse,
    state_of,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class MachineArrays(NamedTuple):
    """A support vector classifier as libsvm stores it.

    Attributes:
        vectors: ``(n, n_features)``; the support vectors.
        coefficients: ``(n,)``; their signed weights in the decision value, which is positive for the first class.
        intercept: The intercept of the decision value.
        gamma: The factor in the kernel ``exp(-gamma |x - y|²)``.
        slope: The slope of the sigmoid that maps a decision value to a probability (Platt's A).
        offset: The offset of the same sigmoid (Platt's B).
    """

    vectors: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    intercept: float
    gamma: float
    slope: float
    offset: float


class _Classifier(Record):
    """The recorded content of a pickled scikit-learn SVC; the SVC itself is never created."""


_ADMITTED: Final[Mapping[tuple[str, str], type[Record]]] = {
    ("sklearn.svm.classes", "SVC"): _Classifier,
    ("sklearn.svm._classes", "SVC"): _Classifier,
}


def read_machine(path: Path, n_features: int) -> MachineArrays:
    """Read a pickled support vector classifier.

    Args:
        path: A file written by ``pickle.dump``, protocol 3 or later.
        n_features: The number of columns that the classifier must have been trained on.

    Raises:
        DataError: The file is missing, is not a pickle, names a class or function that no such classifier needs, or
            does not hold a classifier with two classes, an RBF kernel and probabilities.
    """

    def convert(classifier: Any) -> MachineArrays:
        state = state_of(classifier, _Classifier)
        if state["kernel"] != "rbf":
            refuse("expected an RBF kernel")
        vectors = build_array(state["support_vectors_"]).astype(np.float64)
        if vectors.ndim != 2 or vectors.shape[1] != n_features:
            refuse(f"expected vectors of {n_features} features, got an array of shape {vectors.shape}")
        # Attributes with a leading underscore are libsvm's own; scikit-learn negates the public ones for two classes.
        coefficients = build_array(state["_dual_coef_"]).astype(np.float64)
        if coefficients.shape != (1, len(vectors)):
            refuse(f"expected two classes, got coefficients of shape {coefficients.shape}")
        intercept, slope, offset = (_number(state[name]) for name in ("_intercept_", "_probA", "_probB"))
        return MachineArrays(vectors, coefficients[0], intercept, float(state["_gamma"]), slope, offset)

    remedy = "give an SVC(probability=True) with an RBF kernel saved with pickle.dump(machine, file, protocol=4)"
    return read_pickle(path, "support vector machine", _ADMITTED, convert, remedy)


def _number(record: Any) -> float:
    array = build_array(record)
    if array.shape != (1,):
        refuse(f"expected one number, got an array of shape {array.shape}")
    return float(array[0])


N_FEATURES: Final = 2048
_DTYPES: Final = {"vectors": "<u1", "coefficients": "<f8", "constants": "<f8"}
_MOST_COUNT: Final = 255
_LEAST_PROBABILITY: Final = 1e-7
_TOLERANCE: Final = 0.005 / 2
_MOST_ROUNDS: Final = 100
"""This and the two constants above are libsvm's: the bound on probabilities, the tolerance and the most iterations."""


@dataclass(frozen=True, eq=False, slots=True)
class SupportVectorMachine(Classifier):
    """A support vector machine with an RBF kernel and Platt's probabilities; the arrays are read-only.

    Attributes:
        vectors: ``(n, 2048)`` uint8; the support vectors, which are counts.
        coefficients: ``(n,)`` float64; their signed weights in the decision value.
        constants: ``(4,)`` float64; the intercept, the gamma of the kernel, and the slope and offset of the sigmoid
            (see `MachineArrays`).

    Raises:
        ValueError: An array has the wrong shape or type, or a value is invalid.
    """

    what: ClassVar = "support vector machine"
    types: ClassVar[Mapping[str, str]] = _DTYPES
    vectors: NDArray[np.uint8]
    coefficients: NDArray[np.float64]
    constants: NDArray[np.float64]
    _columns: NDArray[np.float32] = field(init=False, repr=False)
    _squares: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = len(self.vectors)
        shapes = {"vectors": (n, N_FEATURES), "coefficients": (n,), "constants": (4,)}
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != np.dtype(_DTYPES[name]) or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite {_DTYPES[name]} of shape {shape}")
            read_only = array.view()
            read_only.flags.writeable = False
            object.__setattr__(self, name, read_only)
        if n == 0 or self.constants[1] <= 0:
            raise ValueError("expected at least one support vector and a gamma above 0")
        # Sums of products of counts stay below 2**24, so they are exact in float32.
        object.__setattr__(self, "_columns", np.ascontiguousarray(self.vectors.T, dtype=np.float32))
        object.__setattr__(self, "_squares", (self.vectors.astype(np.float64) ** 2).sum(axis=1))

    @classmethod
    def from_pickle(cls, path: Path) -> Self:
        """Read a pickled scikit-learn SVC that was trained on 2048 feature counts per molecule.

        The second class of the SVC is taken as the active one.

        Raises:
            DataError: The file is missing or holds no such machine (see `read_machine`), or its vectors are not counts.
        """
        machine = read_machine(path, N_FEATURES)
        is_count = (machine.vectors >= 0) & (machine.vectors <= _MOST_COUNT) & (machine.vectors % 1 == 0)
        if not is_count.all():  # NaN fails too
            raise DataError(
                f"{path} does not hold a support vector machine over counts from 0 to {_MOST_COUNT}; train one on such "
                "counts"
            )
        constants = np.array([machine.intercept, machine.gamma, machine.slope, machine.offset])
        try:
            return cls(machine.vectors.astype(np.uint8), machine.coefficients, constants)
        except ValueError as error:
            raise DataError(f"{path} does not hold a valid support vector machine ({error}); train it again") from error

    def predict(self, counts: "csr_array") -> NDArray[np.float64]:
        """Return the probability of being active, as scikit-learn's ``predict_proba`` does.

        A molecule's value is the same to the last bit in every batch: squared distances are whole numbers, and each row
        is summed separately.

        Args:
            counts: ``(n, 2048)`` float32 whole numbers; n may be 0.

        Returns:
            ``(n,)`` probabilities in [0, 1].

        Raises:
            ValueError: The shape is not ``(n, 2048)``.
        """
        if counts.shape[1] != N_FEATURES:
            raise ValueError(f"expected counts of shape (n, {N_FEATURES}), got {counts.shape}")
        intercept, gamma, slope, offset = self.constants
        squares = counts.multiply(counts).sum(axis=1, dtype=np.float64)
        distances = squares[:, np.newaxis] + self._squares - 2.0 * (counts @ self._columns).astype(np.float64)
        decisions = (np.exp(-gamma * distances) * self.coefficients).sum(axis=1) + intercept
        return 1 - _couple(_sigmoid(slope * decisions + offset))


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(x)) without overflow."""
    probabilities: NDArray[np.float64] = 0.5 * (1 - np.tanh(values / 2))
    return probabilities


def _couple(pairwise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of the first of two classes after libsvm's coupling (Wu, Lin and Weng 2004, algorithm 2).

    For two classes the exact result would be the input itself. libsvm nevertheless iterates until the error is within a
    tolerance, and the published scores are the result of these iterations.

    Args:
        pairwise: ``(n,)`` probabilities of the first class.

    Returns:
        ``(n,)`` coupled probabilities.
    """
    first = np.clip(pairwise, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    second = 1 - first
    q = np.stack([np.stack([second**2, -first * second]), np.stack([-first * second, first**2])])
    p = np.full((2, len(first)), 0.5)
    is_open = np.ones(len(first), dtype=np.bool_)
    for _ in range(_MOST_ROUNDS):
        products = q[:, 0] * p[0] + q[:, 1] * p[1]
        value = p[0] * products[0] + p[1] * products[1]
        is_open &= np.abs(products - value).max(axis=0) >= _TOLERANCE
        if not is_open.any():
            break
        now = p
        for t in range(2):
            step = (value - products[t]) / q[t, t]
            now = now + np.where(np.arange(2)[:, np.newaxis] == t, step, 0.0)
            value = (value + step * (step * q[t, t] + 2 * products[t])) / (1 + step) ** 2
            products = (products + step * q[t]) / (1 + step)
            now = now / (1 + step)
        p = np.where(is_open, now, p)
    coupled: NDArray[np.float64] = p[0]
    return coupled


def as_counts(features: list[dict[int, int]]) -> "csr_array":
    """Return feature counts, folded modulo 2048, as the rows of a sparse array.

    Args:
        features: ``n`` mappings from a feature to its count in a molecule.

    Returns:
        ``(n, 2048)`` float32 sparse array.
    """
    from scipy.sparse import csr_array  # here: slow to import, and most runs do not need it

    folded: list[Any] = []
    for counts in features:
        row: dict[int, int] = {}
        for feature, count in counts.items():
            row[feature % N_FEATURES] = row.get(feature % N_FEATURES, 0) + count
        folded.append(sorted(row.items()))
    starts = np.cumsum([0, *map(len, folded)])
    columns = np.array([column for row in folded for column, _ in row], dtype=np.int64)
    values = np.array([count for row in folded for _, count in row], dtype=np.float32)
    return csr_array((values, columns, starts), shape=(len(features), N_FEATURES))
