"""Random forests over Morgan bits as plain arrays, loaded without unpickling objects and evaluated with numpy only.

The nodes of a tree are stored in preorder, so that a node's left child, taken when the tested bit is off, is the next
node. Since only one bit in fifty is on, a traversal mostly increments the node index and jumps only when a bit is on. A
leaf is stored as a node that tests an extra column, which is on for every molecule, and jumps to itself. Leaves thus
need no special case.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem

from evodiverse.tasks.molecules.classifier_files import ArrayModel, Record, build_array, find_kind, state_of
from evodiverse.tasks.molecules.diversity import N_BITS, molecule_fingerprint, unpack

LEAF_COLUMN: Final = N_BITS
_NO_CHILD: Final = -1
_MOLECULES_PER_BLOCK = 256  # their bits, 512 kB, stay in the second-level cache


@dataclass(frozen=True, eq=False)
class Trees(ArrayModel):
    """Trees over the 2048 bits of a molecule; the arrays are read-only.

    Attributes:
        feature: ``(n_nodes,)`` int16; the bit that a node tests, or `LEAF_COLUMN` in a leaf.
        right: ``(n_nodes,)`` int32; the index of the child taken when the bit is on, or of the node itself in a leaf.
            The child taken when the bit is off is the next node.
        roots: ``(n_trees,)`` int32; the indices of the trees' roots, increasing from 0. A tree extends to the root of
            the next tree.
        leaf: The name of the array with what a leaf predicts.
        values: What scikit-learn stores for each node, in words, and how many numbers that is: the weights of two
            classes, of which the fraction of the second is predicted, or the prediction itself.

    Raises:
        ValueError: The arrays are not a valid forest: a traversal would leave its tree or never end.
    """

    remedy: ClassVar = (
        f"give a RandomForestClassifier or RandomForestRegressor over {N_BITS} bits saved with "
        "pickle.dump(forest, file, protocol=4), or a file of evodiverse-data train-forest"
    )
    leaf: ClassVar[str]
    values: ClassVar[tuple[str, int]]
    feature: NDArray[np.int16]
    right: NDArray[np.int32]
    roots: NDArray[np.int32]

    def __post_init__(self) -> None:
        n_nodes = len(self.feature)
        of_nodes = dict.fromkeys(("feature", "right", self.leaf), (n_nodes,))
        self.check_arrays(**of_nodes, roots=(len(self.roots),))
        roots = self.roots.astype(np.int64)
        sizes = np.diff(roots, append=n_nodes)
        if len(roots) == 0 or roots[0] != 0 or sizes.min() < 1:
            raise ValueError("roots must have at least one index, start at 0 and increase")
        least, most = self.feature.min(), self.feature.max()
        if least < 0 or most > LEAF_COLUMN:
            raise ValueError(f"expected features in 0..{N_BITS - 1}, got {least} to {most}")
        node, end = np.arange(n_nodes), np.repeat(roots + sizes, sizes)
        ends_in_tree = (self.right > node + 1) & (self.right < end)
        if not np.where(self.feature == LEAF_COLUMN, self.right == node, ends_in_tree).all():
            raise ValueError("each child must come after its parent, in the same tree")

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """Convert a pickled forest of scikit-learn over 2048 bits; of two classes, the larger counts as active.

        Raises:
            ValueError: The record is not such a forest, its trees are malformed, or its classes are not numbers or
                booleans, so that either could be the active one.
        """
        trees, forest = [], state_of(record, cls.pickled)
        if "classes_" in forest and find_kind(forest["classes_"]) not in "biuf":
            raise ValueError("its classes are not numbers; fit it on 0 for inactive and 1 for active")
        for estimator in forest["estimators_"]:
            tree = state_of(estimator, cls.pickled.replace("RandomForest", "DecisionTree"))["tree_"]
            state = state_of(tree, "Tree")
            if tree.args[0] != N_BITS:  # not quoted in the message, as a small pickle can hold an enormous value
                raise ValueError(f"expected trees over {N_BITS} features, got another number")
            trees.append({name: build_array(state[name]) for name in ("nodes", "values")})
        return cls.from_trees(trees)

    @classmethod
    def from_trees(cls, trees: Sequence[Mapping[str, Any]]) -> Self:
        """Build a forest from trees over 2048 bits.

        Args:
            trees: At least one tree as scikit-learn's ``Tree.__getstate__`` returns it, with its root first: ``nodes``
                and ``values``, for each node the weights of the classes, as counts or fractions, or the prediction.

        Raises:
            ValueError: One of them is not a tree of this kind, or a threshold does not separate 0 from 1.
        """
        roots = np.cumsum([0, *(len(tree["nodes"]) for tree in trees)])[:-1]
        parts = [cls._order_tree(tree["nodes"], tree["values"], root) for tree, root in zip(trees, roots, strict=True)]
        feature, right, leaves = map(np.concatenate, zip(*parts, strict=True))
        arrays = {"feature": feature, "right": right, cls.leaf: leaves, "roots": roots}
        return cls(**{name: arrays[name].astype(dtype) for name, dtype in cls.types.items()})

    @classmethod
    def _order_tree(
        cls, nodes: NDArray[Any], values: NDArray[np.float64], root: int
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Return a tree's features, right children and predictions in preorder, with its root at index ``root``."""
        words, n_values = cls.values
        if values.shape != (len(nodes), 1, n_values):
            raise ValueError(f"expected {words}, got {len(nodes)} nodes of shape {values.shape}")
        is_leaf = nodes["left_child"] == _NO_CHILD
        leaves = np.zeros(len(nodes))
        leaves[is_leaf] = values[is_leaf, 0, -1] / (values[is_leaf, 0].sum(axis=1) if n_values > 1 else 1)
        order = _preorder(nodes["left_child"].tolist(), nodes["right_child"].tolist())
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        if not ((nodes["threshold"] >= 0) & (nodes["threshold"] < 1))[~is_leaf].all():
            raise ValueError("expected thresholds that separate 0 from 1")
        feature = np.where(is_leaf, LEAF_COLUMN, nodes["feature"])
        right = position[np.where(is_leaf, np.arange(len(order)), nodes["right_child"])] + root
        return feature[order], right[order], leaves[order]

    def walk(self, fingerprints: NDArray[np.uint8] | NDArray[np.bool_]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield the ``(n_trees, n_molecules)`` predictions of all trees, for one block of molecules after the other.

        Args:
            fingerprints: ``(n, 2048)`` uint8 or bool; any value other than 0 is an on bit; n may be 0.
        """
        leaf_values = getattr(self, self.leaf)
        for start in range(0, len(fingerprints), _MOLECULES_PER_BLOCK):
            block = slice(start, start + _MOLECULES_PER_BLOCK)
            yield block, leaf_values.take(self._find_leaves(fingerprints[block]))

    def _find_leaves(self, fingerprints: NDArray[Any]) -> NDArray[np.int32]:
        """Traverse all trees for all molecules of a block at once, and return the ``(n_trees, n)`` leaves.

        Traversals are ordered by tree, then by molecule, so that adjacent traversals read nodes close in memory.
        """
        n_molecules, n_trees, width = len(fingerprints), len(self.roots), N_BITS + 1
        columns = np.ones((n_molecules, width), dtype=np.bool_)
        columns[:, :N_BITS] = fingerprints
        bits = columns.reshape(-1)
        nodes = np.repeat(self.roots, n_molecules)
        rows = np.tile(np.arange(0, n_molecules * width, width, dtype=np.int32), n_trees)
        traversals = np.arange(len(nodes))
        leaves = np.empty(len(nodes), dtype=np.int32)
        while len(nodes):
            for _ in range(6):  # then finished traversals are removed
                turns = np.flatnonzero(bits.take(self.feature.take(nodes) + rows))
                targets = self.right.take(nodes.take(turns))
                nodes += 1
                nodes[turns] = targets
            leaves[traversals] = nodes  # overwritten until the traversal reaches its leaf
            walking = np.flatnonzero(self.feature.take(nodes) != LEAF_COLUMN)
            nodes, rows, traversals = nodes.take(walking), rows.take(walking), traversals.take(walking)
        return leaves.reshape(n_trees, n_molecules)


@dataclass(frozen=True, eq=False)
class Forest(Trees):
    """Trees that map the 2048 bits of a molecule to the probability that it is active.

    Attributes:
        probability: ``(n_nodes,)`` float64 in [0, 1]; the fraction of the active class in a leaf, 0 in other nodes.

    Raises:
        ValueError: The arrays are not a valid forest, or a probability lies outside [0, 1].
    """

    what: ClassVar = "forest"
    types: ClassVar[Mapping[str, str]] = {"feature": "<i2", "right": "<i4", "probability": "<f8", "roots": "<i4"}
    pickled: ClassVar = "RandomForestClassifier"
    leaf: ClassVar = "probability"
    values: ClassVar = ("two classes and one output", 2)
    probability: NDArray[np.float64]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not ((self.probability >= 0) & (self.probability <= 1)).all():
            raise ValueError("expected probabilities in [0, 1]")

    def score(self, molecules: Sequence[Chem.Mol]) -> NDArray[np.float64]:
        """Return the ``(n,)`` probabilities that ``n`` molecules are active; each is the same in every batch."""
        return self.predict(morgan_fingerprints(molecules))

    def predict(self, fingerprints: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the probability that each molecule is active: the mean of `probability` in the leaves that it reaches.

        A molecule gets exactly the same probability in every batch.

        Args:
            fingerprints: As for `walk`.

        Returns:
            ``(n,)`` probabilities.
        """
        probabilities = np.empty(len(fingerprints))
        for block, fractions in self.walk(fingerprints):
            probabilities[block] = np.minimum(_average(fractions), 1.0)
        return probabilities


class Forecast(NamedTuple):
    """What the trees of a regression forest predict for ``n`` molecules.

    Attributes:
        mean: ``(n,)`` means over the trees.
        spread: ``(n,)`` standard deviations over the trees (the root of the mean squared deviation from the mean).
    """

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegressionForest(Trees):
    """Trees that map the 2048 bits of a molecule to a number, such as a pIC50.

    Attributes:
        value: ``(n_nodes,)`` finite float64; the prediction of a leaf, 0 in other nodes.
    """

    what: ClassVar = "regression forest"
    types: ClassVar[Mapping[str, str]] = {"feature": "<i2", "right": "<i4", "value": "<f8", "roots": "<i4"}
    pickled: ClassVar = "RandomForestRegressor"
    leaf: ClassVar = "value"
    values: ClassVar = ("one output", 1)
    value: NDArray[np.float64]

    def predict(self, fingerprints: NDArray[np.uint8] | NDArray[np.bool_]) -> Forecast:
        """Return the mean and the spread of what the trees predict; both are the same in every batch.

        Args:
            fingerprints: As for `walk`.
        """
        forecast = Forecast(np.empty(len(fingerprints)), np.empty(len(fingerprints)))
        for block, values in self.walk(fingerprints):
            forecast.mean[block] = mean = _average(values)
            forecast.spread[block] = np.sqrt(_average((values - mean) ** 2))
        return forecast


def _average(predictions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ``(n_molecules,)`` means over trees of ``(n_trees, n_molecules)`` numbers."""
    total = np.zeros(predictions.shape[1])
    # Sum tree by tree: the summation order of np.sum, and thus the last digit, depends on the shape.
    for row in predictions:
        total += row
    return total / len(predictions)


def morgan_fingerprints(molecules: Iterable[Chem.Mol]) -> NDArray[np.uint8]:
    """Return the Morgan fingerprints of radius 2 that the published forests were trained on.

    They are equal bit for bit to ``AllChem.GetMorganFingerprintAsBitVect(mol, 2, 2048)``.

    Args:
        molecules: ``n`` molecules; n may be 0.

    Returns:
        ``(n, 2048)`` uint8 array of 0 and 1.
    """
    return unpack(map(molecule_fingerprint, molecules))


def _preorder(left: Sequence[int], right: Sequence[int]) -> NDArray[np.int64]:
    """Return the node indices in preorder: parent, left subtree, right subtree.

    Args:
        left: The index of each node's left child, or `_NO_CHILD` in a leaf.
        right: The index of each node's right child, or `_NO_CHILD` in a leaf.

    Raises:
        ValueError: The nodes are not a single binary tree with its root first.
    """
    order: list[int] = []
    stack = [0]
    while stack and len(order) < len(left):
        order.append(node := stack.pop())
        if left[node] != _NO_CHILD:
            stack += (right[node], left[node])
    if stack or sorted(order) != list(range(len(left))):
        raise ValueError("expected nodes that form one tree")
    return np.array(order, dtype=np.int64)
