"""Read the trees of a pickled scikit-learn forest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evodiverse.tasks.molecules.inert_pickle import Record, build_array, read_pickle, refuse, state_of

NO_CHILD: Final = -1


class TreeArrays(NamedTuple):
    """One tree as scikit-learn stores it, with one entry per node and the root first.

    Attributes:
        left: ``(n,)``; the index of the child taken at or below the threshold, or `NO_CHILD` in a leaf.
        right: ``(n,)``; the index of the child taken above the threshold, or `NO_CHILD` in a leaf.
        feature: ``(n,)``; the column whose value the node tests, meaningless in a leaf.
        threshold: ``(n,)``; the threshold of the test, meaningless in a leaf.
        class_weights: ``(n, 2)``; the weights of the two classes among the node's training samples, as counts or
            fractions.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    class_weights: NDArray[np.float64]


class _Forest(Record):
    """The recorded content of a pickled RandomForestClassifier; the scikit-learn class itself is never created."""


class _Estimator(Record):
    """The recorded content of a pickled DecisionTreeClassifier; the scikit-learn class itself is never created."""


class _Tree(Record):
    """The recorded content of a pickled scikit-learn Tree; ``args[0]`` is its number of features."""


_ADMITTED: Final[Mapping[tuple[str, str], type[Record]]] = {
    ("sklearn.ensemble.forest", "RandomForestClassifier"): _Forest,
    ("sklearn.ensemble._forest", "RandomForestClassifier"): _Forest,
    ("sklearn.tree.tree", "DecisionTreeClassifier"): _Estimator,
    ("sklearn.tree._classes", "DecisionTreeClassifier"): _Estimator,
    ("sklearn.tree._tree", "Tree"): _Tree,
}


def read_trees(path: Path, n_features: int) -> list[TreeArrays]:
    """Read the trees of a pickled random forest with two classes and one output.

    Args:
        path: A file written by ``pickle.dump``, protocol 3 or later.
        n_features: The number of columns that every tree must have been trained on.

    Raises:
        DataError: The file is missing, is not a pickle, names a class or function that no forest needs, or does not
            hold such a forest.
    """

    def convert(forest: Any) -> list[TreeArrays]:
        estimators = state_of(forest, _Forest)["estimators_"]
        if not isinstance(estimators, list):
            refuse(f"expected a list of trees, got {type(estimators).__name__}")
        return [_tree_arrays(state_of(estimator, _Estimator)["tree_"], n_features) for estimator in estimators]

    remedy = "give a RandomForestClassifier saved with pickle.dump(forest, file, protocol=4)"
    return read_pickle(path, "forest", _ADMITTED, convert, remedy)


def _tree_arrays(tree: Any, n_features: int) -> TreeArrays:
    """Build one tree's arrays from its record, and check that the tree was trained on ``n_features`` columns."""
    state = state_of(tree, _Tree)
    if tree.args[0] != n_features:  # not quoted in the message, as a small pickle can hold an enormous value
        refuse(f"expected trees over {n_features} features, got another number")
    nodes = build_array(state["nodes"])
    weights = build_array(state["values"])
    if nodes.ndim != 1 or weights.shape != (len(nodes), 1, 2):
        refuse(f"expected two classes and one output, got values of shape {weights.shape} and nodes of {nodes.shape}")
    return TreeArrays(
        left=nodes["left_child"].astype(np.int64),
        right=nodes["right_child"].astype(np.int64),
        feature=nodes["feature"].astype(np.int64),
        threshold=nodes["threshold"].astype(np.float64),
        class_weights=weights[:, 0, :].astype(np.float64),
    )
