"""Training a random forest on labeled molecules: fingerprints, the held-out test set, training and assessment."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from scipy import sparse

from evodiverse.tasks.molecules.forest import N_BITS, Forest
from evodiverse.tasks.molecules.oracle import morgan_fingerprints
from evodiverse.tasks.molecules.pickled_forest import TreeArrays

N_TREES: Final = 100
HELD_OUT_SHARE: Final = 0.25
_MOLECULES_PER_BLOCK = 1_000


def pack_fingerprints(smiles: Sequence[str]) -> NDArray[np.uint8]:
    """Return the fingerprints by which a `Forest` scores molecules, packed eight bits per byte.

    Args:
        smiles: ``n`` valid SMILES; n may be 0.

    Returns:
        ``(n, 256)`` uint8; `numpy.unpackbits` gives the 2048 bits of each molecule.
    """
    packed = np.empty((len(smiles), N_BITS // 8), np.uint8)
    for start in range(0, len(smiles), _MOLECULES_PER_BLOCK):
        block = slice(start, start + _MOLECULES_PER_BLOCK)
        packed[block] = np.packbits(morgan_fingerprints([Chem.MolFromSmiles(text) for text in smiles[block]]), axis=1)
    return packed


def number_twins(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Number molecules so that those with equal fingerprints, such as stereoisomers, share a number.

    Args:
        packed: ``(n, 256)`` uint8 fingerprints from `pack_fingerprints`; n is at least 1.

    Returns:
        ``(n,)`` numbers from 0 without gaps; they do not depend on the order of the molecules.
    """
    _, numbers = np.unique(packed, axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64)


def hold_out(twins: NDArray[np.int64], is_active: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw a quarter of the active and a quarter of the inactive molecules for the test set.

    Molecules with equal fingerprints (twins) stay together, since a forest would recognize a molecule whose twin it was
    trained on. A group of twins with both labels counts as active if at least half of it is active.

    Args:
        twins: ``(n,)`` numbers from `number_twins`.
        is_active: ``(n,)`` bool labels.
        rng: The random generator, from which one permutation is drawn for each class.

    Returns:
        ``(n,)`` bool, True for the test set. This set has at least one group of each class that occurs, even if no
        group of the class is then left to train on.
    """
    sizes = np.bincount(twins)
    counts_as_active = 2 * np.bincount(twins, weights=is_active) >= sizes
    is_held_out = np.zeros(len(sizes), np.bool_)
    for group_class in (False, True):
        order = rng.permutation(np.flatnonzero(counts_as_active == group_class))
        n_before = np.cumsum(sizes[order]) - sizes[order]
        is_held_out[order[n_before < HELD_OUT_SHARE * sizes[order].sum()]] = True
    return is_held_out[twins]


def train(packed: NDArray[np.uint8], is_active: NDArray[np.bool_], seed: int) -> Forest:
    """Train a random forest of 100 trees with scikit-learn's default settings.

    Args:
        packed: ``(n, 256)`` uint8 fingerprints from `pack_fingerprints`.
        is_active: ``(n,)`` bool labels; both values must occur.
        seed: The seed, 0 to 2**32 - 1, of bootstrap samples and of the features tried at each split.
    """
    from sklearn.ensemble import RandomForestClassifier  # takes a second

    classifier = RandomForestClassifier(n_estimators=N_TREES, random_state=seed, n_jobs=-1)
    classifier.fit(_to_sparse(packed), is_active)
    return Forest.from_trees([_to_arrays(estimator.tree_) for estimator in classifier.estimators_])


def measure_auc(forest: Forest, packed: NDArray[np.uint8], is_active: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve of a forest's scores, 0 to 1; chance gives 0.5.

    Args:
        forest: The forest to assess.
        packed: ``(n, 256)`` uint8 fingerprints of molecules that the forest was not trained on.
        is_active: ``(n,)`` bool labels; both values must occur.
    """
    from sklearn.metrics import roc_auc_score  # takes a second

    scores = [forest.predict(np.unpackbits(block, axis=1)) for block in _blocks(packed)]
    return float(roc_auc_score(is_active, np.concatenate(scores)))


def _to_sparse(packed: NDArray[np.uint8]) -> sparse.csr_matrix:
    """Return the bits as a sparse matrix. From a dense one, scikit-learn builds the same trees in twice the time."""
    blocks = [sparse.csr_matrix(np.unpackbits(block, axis=1), dtype=np.float32) for block in _blocks(packed)]
    return sparse.vstack(blocks, format="csr")


def _blocks(packed: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    return [packed[start : start + _MOLECULES_PER_BLOCK] for start in range(0, len(packed), _MOLECULES_PER_BLOCK)]


def _to_arrays(tree: Any) -> TreeArrays:
    """Return the arrays of one of scikit-learn's trees for two classes."""
    return TreeArrays(tree.children_left, tree.children_right, tree.feature, tree.threshold, tree.value[:, 0, :])
