"""A random forest over Morgan bits as plain arrays, loaded without unpickling objects and evaluated with numpy only.

The nodes of a tree are stored in preorder, so that a node's left child, taken when the tested bit is off, is the next
node. Since only one bit in fifty is on, a traversal mostly increments the node index and jumps only when a bit is on. A
leaf is stored as a node that tests an extra column, which is on for every molecule, and jumps to itself. Leaves thus
need no special case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

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


N_BITS = 2048
LEAF_COLUMN = N_BITS
_DTYPES = {"feature": "<i2", "right": "<i4", "probability": "<f8", "roots": "<i4"}
_MOLECULES_PER_BLOCK = 256  # their bits, 512 kB, stay in the second-level cache
_STEPS_PER_ROUND = 6  # after this many steps, finished traversals are removed


@dataclass(frozen=True, eq=False, slots=True)
class Forest(Classifier):
    """Trees that map the 2048 bits of a molecule to the probability that it is active; the arrays are read-only.

    Attributes:
        feature: ``(n_nodes,)`` int16; the bit that a node tests, or `LEAF_COLUMN` in a leaf.
        right: ``(n_nodes,)`` int32; the index of the child taken when the bit is on, or of the node itself in a leaf.
            The child taken when the bit is off is the next node.
        probability: ``(n_nodes,)`` float64 in [0, 1]; the fraction of the active class in a leaf, 0 in other nodes.
        roots: ``(n_trees,)`` int32; the indices of the trees' roots, increasing from 0. A tree extends to the root of
            the next tree.

    Raises:
        ValueError: The arrays are not a valid forest: a traversal would leave its tree or never end, or a probability
            lies outside [0, 1].
    """

    what: ClassVar = "forest"
    types: ClassVar[Mapping[str, str]] = _DTYPES
    feature: NDArray[np.int16]
    right: NDArray[np.int32]
    probability: NDArray[np.float64]
    roots: NDArray[np.int32]

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            array = getattr(self, name)
            if array.ndim != 1 or array.dtype != np.dtype(dtype):
                raise ValueError(f"{name} must be a vector of {dtype}, got {array.dtype} of shape {array.shape}")
            read_only = array.view()
            read_only.flags.writeable = False
            object.__setattr__(self, name, read_only)
        _check_structure(self)

    @property
    def n_trees(self) -> int:
        """The number of trees, at least 1."""
        return len(self.roots)

    @classmethod
    def from_pickle(cls, path: Path) -> Self:
        """Read a scikit-learn RandomForestClassifier over 2048 bits; its second class counts as active.

        Raises:
            DataError: The file is missing or holds no such forest (see `read_trees`), or its trees are malformed.
        """
        trees = read_trees(path, N_BITS)
        try:
            return cls.from_trees(trees)
        except ValueError as error:
            raise DataError(
                f"{path} does not hold a valid forest ({error}); train it on {N_BITS} bits of 0 and 1"
            ) from error

    @classmethod
    def from_trees(cls, trees: Sequence[TreeArrays]) -> Self:
        """Build a forest from trees over 2048 bits; the second class counts as active.

        Raises:
            ValueError: ``trees`` is empty, one of them is not a tree, a threshold does not separate 0 from 1, or the
                class weights of a leaf are negative, infinite or all 0.
        """
        return cls(**_join_trees(trees))

    def predict(self, fingerprints: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the probability that each molecule is active: the mean of `probability` in the leaves that it reaches.

        A molecule gets exactly the same probability in every batch.

        Args:
            fingerprints: ``(n, 2048)`` uint8 or bool; any value other than 0 is an on bit; n may be 0.

        Returns:
            ``(n,)`` probabilities.

        Raises:
            ValueError: The shape is not ``(n, 2048)``.
        """
        if fingerprints.ndim != 2 or fingerprints.shape[1] != N_BITS:
            raise ValueError(f"expected fingerprints of shape (n, {N_BITS}), got {fingerprints.shape}")
        probabilities = np.empty(len(fingerprints))
        for start in range(0, len(fingerprints), _MOLECULES_PER_BLOCK):
            block = slice(start, start + _MOLECULES_PER_BLOCK)
            probabilities[block] = self._predict_block(fingerprints[block])
        return probabilities

    def _predict_block(self, fingerprints: NDArray[Any]) -> NDArray[np.float64]:
        """Traverse all trees for all molecules of a block at once.

        Traversals are ordered by tree, then by molecule, so that adjacent traversals read nodes close in memory.
        """
        n_molecules, width = len(fingerprints), N_BITS + 1
        columns = np.ones((n_molecules, width), dtype=np.bool_)
        columns[:, :N_BITS] = fingerprints
        bits = columns.reshape(-1)
        nodes = np.repeat(self.roots, n_molecules)
        rows = np.tile(np.arange(0, n_molecules * width, width, dtype=np.int32), self.n_trees)
        traversals = np.arange(len(nodes))
        leaves = np.empty(len(nodes), dtype=np.int32)
        while len(nodes):
            for _ in range(_STEPS_PER_ROUND):
                turns = np.flatnonzero(bits.take(self.feature.take(nodes) + rows))
                targets = self.right.take(nodes.take(turns))
                nodes += 1
                nodes[turns] = targets
            leaves[traversals] = nodes  # overwritten until the traversal reaches its leaf
            walking = np.flatnonzero(self.feature.take(nodes) != LEAF_COLUMN)
            nodes, rows, traversals = nodes.take(walking), rows.take(walking), traversals.take(walking)
        total = np.zeros(n_molecules)
        # Sum tree by tree: the summation order of np.sum, and thus the last digit, depends on the shape.
        for fractions in self.probability.take(leaves).reshape(self.n_trees, n_molecules):
            total += fractions
        return np.minimum(total / self.n_trees, 1.0)


def _check_structure(forest: Forest) -> None:
    """Raise ValueError unless every traversal ends in a leaf of its own tree and all probabilities lie in [0, 1]."""
    n_nodes, roots = len(forest.feature), forest.roots.astype(np.int64)
    if len(forest.right) != n_nodes or len(forest.probability) != n_nodes:
        raise ValueError(
            f"all arrays must have {n_nodes} nodes, got {len(forest.right)} in right and {len(forest.probability)} in "
            "probability"
        )
    sizes = np.diff(roots, append=n_nodes)
    if len(roots) == 0 or roots[0] != 0 or sizes.min() < 1:
        raise ValueError("roots must have at least one index, start at 0 and increase")
    if forest.feature.min() < 0 or forest.feature.max() > LEAF_COLUMN:
        raise ValueError(f"expected features in 0..{N_BITS - 1}, got {forest.feature.min()} to {forest.feature.max()}")
    node, end = np.arange(n_nodes), np.repeat(roots + sizes, sizes)
    is_leaf = forest.feature == LEAF_COLUMN
    ends_in_tree = (forest.right > node + 1) & (forest.right < end)
    if not np.where(is_leaf, forest.right == node, ends_in_tree).all():
        raise ValueError("each child must come after its parent, in the same tree")
    if not ((forest.probability >= 0) & (forest.probability <= 1)).all():  # NaN fails both
        raise ValueError("expected probabilities in [0, 1]")


def _join_trees(trees: Sequence[TreeArrays]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `Forest` of these trees, with the nodes of each tree in preorder.

    Raises:
        ValueError: ``trees`` is empty, one of them is not a tree, a threshold does not separate 0 from 1, or the class
            weights of a leaf are negative, infinite or all 0.
    """
    if not trees:
        raise ValueError("expected at least one tree, got none")
    roots = np.cumsum([0, *(len(tree.left) for tree in trees)])
    if roots[-1] > np.iinfo(np.int32).max:
        raise ValueError(f"expected fewer than 2**31 nodes, got {roots[-1]}")
    parts = [_preorder_tree(tree, int(root)) for tree, root in zip(trees, roots[:-1], strict=True)]
    feature, right, probability = (np.concatenate(column) for column in zip(*parts, strict=True))
    arrays = {"feature": feature, "right": right, "probability": probability, "roots": roots[:-1]}
    return {name: arrays[name].astype(dtype) for name, dtype in _DTYPES.items()}


def _preorder_tree(tree: TreeArrays, root: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return a tree's features, right children and probabilities in preorder, with its root at index ``root``."""
    order = _preorder(tree.left.tolist(), tree.right.tolist())
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    is_leaf = tree.left == NO_CHILD
    if ((tree.feature < 0) | (tree.feature >= N_BITS))[~is_leaf].any():
        raise ValueError(f"expected features in 0..{N_BITS - 1}")
    if not ((tree.threshold >= 0) & (tree.threshold < 1))[~is_leaf].all():
        raise ValueError("expected thresholds that separate 0 from 1")
    total = tree.class_weights.sum(axis=1)
    if not (np.isfinite(total) & (total > 0) & (tree.class_weights.min(axis=1) >= 0))[is_leaf].all():
        raise ValueError("expected class weights that are finite, at least 0 and not all 0")
    feature = np.where(is_leaf, LEAF_COLUMN, tree.feature)
    right = position[np.where(is_leaf, np.arange(len(order)), tree.right)] + root
    probability = np.zeros(len(order))
    np.divide(tree.class_weights[:, 1], total, out=probability, where=is_leaf)
    return feature[order], right[order], probability[order]


def _preorder(left: Sequence[int], right: Sequence[int]) -> NDArray[np.int64]:
    """Return the node indices in preorder: parent, left subtree, right subtree.

    Args:
        left: The index of each node's left child, or `NO_CHILD` in a leaf.
        right: The index of each node's right child, or `NO_CHILD` in a leaf.

    Raises:
        ValueError: The nodes are not a single binary tree with its root first: a child is missing, shared or out of
            range.
    """
    n_nodes = len(left)
    seen = [False] * n_nodes
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        if not 0 <= node < n_nodes or seen[node]:
            raise ValueError(f"expected every child exactly once, but node {node} is shared or does not exist")
        seen[node] = True
        order.append(node)
        if left[node] != NO_CHILD:
            stack += (right[node], left[node])
        elif right[node] != NO_CHILD:
            raise ValueError(f"expected two children or none, but node {node} has one")
    if len(order) != n_nodes:
        raise ValueError(f"expected {n_nodes} nodes below the root, reached {len(order)}")
    return np.array(order, dtype=np.int64)
