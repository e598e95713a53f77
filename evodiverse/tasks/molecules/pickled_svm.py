"""Read a pickled scikit-learn support vector classifier with two classes, an RBF kernel and probabilities."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evodiverse.tasks.molecules.inert_pickle import Record, build_array, read_pickle, refuse, state_of


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
