"""A random forest over Morgan bits as plain arrays: loaded without unpickling objects, evaluated by numpy alone.

The nodes of a tree stand in preorder: a node's left child, taken when the tested bit is off, is the node after it.
Since only one bit in fifty is on, a traversal mostly counts up, and only where a bit is on does it jump. A leaf is
written as a node that tests an extra column, on for every molecule, and jumps to itself, so it needs no special case.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError, describe
from evodiverse.tasks.molecules.array_file import Arrays, hash_arrays, load_arrays, save_arrays
from evodiverse.tasks.molecules.pickled_forest import NO_CHILD, TreeArrays, read_trees

N_BITS = 2048
LEAF_COLUMN = N_BITS
_DTYPES = {"feature": "<i2", "right": "<i4", "probability": "<f8", "roots": "<i4"}
_MOLECULES_PER_BLOCK = 256  # their bits, 512 kB, stay in the second-level cache
_STEPS_PER_ROUND = 6  # between two removals of the traversals that have ended


@dataclass(frozen=True, eq=False, slots=True)
class Forest:
    """Trees that map 2048 bits to the probability of being active; the arrays are read-only.

    Attributes:
        feature: ``(n_nodes,)`` int16; the bit a node tests, `LEAF_COLUMN` in a leaf.
        right: ``(n_nodes,)`` int32; index of the child taken when the bit is on; a leaf names itself. The child taken
            when the bit is off is the next node.
        probability: ``(n_nodes,)`` float64 in [0, 1]; a leaf's fraction of class 1, 0 in other nodes.
        roots: ``(n_trees,)`` int32, rising from 0; each tree reaches to the next one's root.

    Raises:
        ValueError: The arrays are no forest: traversal would leave a tree or not end, or a probability is none.
    """

    feature: NDArray[np.int16]
    right: NDArray[np.int32]
    probability: NDArray[np.float64]
    roots: NDArray[np.int32]

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            array = getattr(self, name)
            if array.ndim != 1 or array.dtype != np.dtype(dtype):
                raise ValueError(f"expected {name} as a vector of {dtype}, got {array.dtype} of shape {array.shape}")
            read_only = array.view()
            read_only.flags.writeable = False
            object.__setattr__(self, name, read_only)
        _check_structure(self)

    @property
    def n_trees(self) -> int:
        """Number of trees, at least 1."""
        return len(self.roots)

    @classmethod
    def from_pickle(cls, path: Path) -> Self:
        """Read a scikit-learn RandomForestClassifier over 2048 bits; its second class counts as active.

        Raises:
            DataError: The file is missing or is no such forest, see `read_trees`, or its trees are malformed.
        """
        trees = read_trees(path, N_BITS)
        try:
            return cls.from_trees(trees)
        except ValueError as error:
            raise DataError(f"{path} holds no usable forest ({error}); train it on {N_BITS} bits of 0 and 1") from error

    @classmethod
    def from_trees(cls, trees: Sequence[TreeArrays]) -> Self:
        """Return the forest of these trees over 2048 bits; the second class counts as active.

        Raises:
            ValueError: There is none, one is not a tree, or a threshold or class weight makes no sense for bits.
        """
        return cls(**_join_trees(trees))

    @classmethod
    def load_npz(cls, path: Path) -> Self:
        """Read what `save_npz` wrote.

        Raises:
            DataError: The file is missing, damaged, or holds no forest.
        """
        try:
            return cls(**load_arrays(path, _DTYPES, "forest"))
        except DataError:
            raise
        except Exception as error:  # see `load_arrays`
            raise DataError(
                f"{path} holds no usable forest ({describe(error)}); write it again with Forest.save_npz"
            ) from error

    def save_npz(self, path: Path) -> None:
        """Write the arrays to ``path``, see `save_arrays`."""
        save_arrays(path, self._arrays())

    def arrays_sha256(self) -> str:
        """Return the SHA-256 of the arrays, see `hash_arrays`."""
        return hash_arrays(self._arrays(), _DTYPES)

    def _arrays(self) -> Arrays:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def predict(self, fingerprints: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the probability of being active: the mean over the trees of the leaf's class-1 fraction.

        A molecule's value does not depend on its batch, to the last bit.

        Args:
            fingerprints: ``(n, 2048)`` uint8 or bool, any value but 0 is an on bit; n may be 0.

        Returns:
            ``(n,)`` in [0, 1].

        Raises:
            ValueError: The shape is another.
        """
        if fingerprints.ndim != 2 or fingerprints.shape[1] != N_BITS:
            raise ValueError(f"expected fingerprints of shape (n, {N_BITS}), got {fingerprints.shape}")
        probabilities = np.empty(len(fingerprints))
        for start in range(0, len(fingerprints), _MOLECULES_PER_BLOCK):
            block = slice(start, start + _MOLECULES_PER_BLOCK)
            probabilities[block] = self._predict_block(fingerprints[block])
        return probabilities

    def _predict_block(self, fingerprints: NDArray[Any]) -> NDArray[np.float64]:
        """Walk all trees for all molecules of a block at once.

        Traversals are ordered by tree, then by molecule, so that neighbors read neighboring nodes.
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
            leaves[traversals] = nodes  # overwritten until the traversal has ended
            walking = np.flatnonzero(self.feature.take(nodes) != LEAF_COLUMN)
            nodes, rows, traversals = nodes.take(walking), rows.take(walking), traversals.take(walking)
        total = np.zeros(n_molecules)
        # tree by tree: numpy's own sum picks its order by the shape, and the last digit with it
        for fractions in self.probability.take(leaves).reshape(self.n_trees, n_molecules):
            total += fractions
        return np.minimum(total / self.n_trees, 1.0)


def _check_structure(forest: Forest) -> None:
    """Raise ValueError unless every traversal ends in a leaf of its own tree and every probability is one."""
    n_nodes, roots = len(forest.feature), forest.roots.astype(np.int64)
    if len(forest.right) != n_nodes or len(forest.probability) != n_nodes:
        raise ValueError(f"expected {n_nodes} nodes in all arrays, got {len(forest.right)}, {len(forest.probability)}")
    sizes = np.diff(roots, append=n_nodes)
    if len(roots) == 0 or roots[0] != 0 or sizes.min() < 1:
        raise ValueError("expected at least one tree, and the roots rising from 0")
    if forest.feature.min() < 0 or forest.feature.max() > LEAF_COLUMN:
        raise ValueError(f"expected features in 0..{N_BITS - 1}, got {forest.feature.min()} to {forest.feature.max()}")
    node, end = np.arange(n_nodes), np.repeat(roots + sizes, sizes)
    is_leaf = forest.feature == LEAF_COLUMN
    ends_in_tree = (forest.right > node + 1) & (forest.right < end)
    if not np.where(is_leaf, forest.right == node, ends_in_tree).all():
        raise ValueError("expected children after their parent and in its tree")
    if not ((forest.probability >= 0) & (forest.probability <= 1)).all():  # NaN fails both
        raise ValueError("expected probabilities in [0, 1]")


def _join_trees(trees: Sequence[TreeArrays]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `Forest` made of these trees, their nodes put into preorder.

    Raises:
        ValueError: There is none, one is not a tree, or a threshold or class weight makes no sense for bits.
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
    """Return one tree's feature, right child and probability in preorder, its first node at index ``root``."""
    order = _preorder(tree.left.tolist(), tree.right.tolist())
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    is_leaf = tree.left == NO_CHILD
    if ((tree.feature < 0) | (tree.feature >= N_BITS))[~is_leaf].any():
        raise ValueError(f"expected features in 0..{N_BITS - 1}")
    if not ((tree.threshold >= 0) & (tree.threshold < 1))[~is_leaf].all():
        raise ValueError("expected thresholds that tell 0 from 1")
    total = tree.class_weights.sum(axis=1)
    if not (np.isfinite(total) & (total > 0) & (tree.class_weights.min(axis=1) >= 0))[is_leaf].all():
        raise ValueError("expected finite class weights, at least 0 and not all 0")
    feature = np.where(is_leaf, LEAF_COLUMN, tree.feature)
    right = position[np.where(is_leaf, np.arange(len(order)), tree.right)] + root
    probability = np.zeros(len(order))
    np.divide(tree.class_weights[:, 1], total, out=probability, where=is_leaf)
    return feature[order], right[order], probability[order]


def _preorder(left: Sequence[int], right: Sequence[int]) -> NDArray[np.int64]:
    """Return the nodes in the order parent, left subtree, right subtree.

    Raises:
        ValueError: The nodes are not one binary tree with its root first: a child is missing, shared or out of range.
    """
    n_nodes = len(left)
    seen = [False] * n_nodes
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        if not 0 <= node < n_nodes or seen[node]:
            raise ValueError(f"expected every child once, node {node} is shared or does not exist")
        seen[node] = True
        order.append(node)
        if left[node] != NO_CHILD:
            stack += (right[node], left[node])
        elif right[node] != NO_CHILD:
            raise ValueError(f"expected two children or none, node {node} has one")
    if len(order) != n_nodes:
        raise ValueError(f"expected {n_nodes} nodes below the root, reached {len(order)}")
    return np.array(order, dtype=np.int64)
