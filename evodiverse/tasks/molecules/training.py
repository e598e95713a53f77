"""Training forests on fingerprints: what is held out, and the training and the assessment of a classifier."""

import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evodiverse.tasks.molecules.forest import Forest

N_TREES: Final = 100
HELD_OUT_SHARE: Final = 0.25


def number_twins(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Number molecules so that those with equal fingerprints, such as stereoisomers, share a number.

    Args:
        bits: ``(n, 2048)`` fingerprints from `morgan_fingerprints`; n is at least 1.

    Returns:
        ``(n,)`` numbers from 0 without gaps; they do not depend on the order of the molecules.
    """
    _, numbers = np.unique(np.packbits(bits, axis=1), axis=0, return_inverse=True)
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


def fit_trees(forest: Any, bits: NDArray[np.uint8], labels: NDArray[Any], seed: int) -> list[dict[str, Any]]:
    """Train a forest of scikit-learn, and return the states of its 100 trees, as `Trees.from_trees` takes them.

    Args:
        forest: The class of the forest.
        bits: ``(n, 2048)`` fingerprints from `morgan_fingerprints`.
        labels: ``(n,)`` labels.
        seed: The seed, 0 to 2**32 - 1, of the forest.
    """
    trained = forest(n_estimators=N_TREES, random_state=seed, n_jobs=-1)
    with warnings.catch_warnings():  # scikit-learn's threads may lose the filters, and the next training then warns
        trained.fit(sparse.csr_matrix(bits, dtype=np.float32), labels)  # a dense matrix takes twice the time
    return [estimator.tree_.__getstate__() for estimator in trained.estimators_]


def train(bits: NDArray[np.uint8], is_active: NDArray[np.bool_], seed: int) -> Forest:
    """Train a random forest of 100 trees with scikit-learn's default settings.

    Args:
        bits: ``(n, 2048)`` fingerprints from `morgan_fingerprints`.
        is_active: ``(n,)`` bool labels; both values must occur.
        seed: The seed, 0 to 2**32 - 1, of bootstrap samples and of the features tried at each split.
    """
    from sklearn.ensemble import RandomForestClassifier  # takes a second

    return Forest.from_trees(fit_trees(RandomForestClassifier, bits, is_active, seed))


def measure_auc(forest: Forest, bits: NDArray[np.uint8], is_active: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve of a forest's scores, 0 to 1; chance gives 0.5.

    Args:
        forest: The forest to assess.
        bits: ``(n, 2048)`` fingerprints of molecules that the forest was not trained on.
        is_active: ``(n,)`` bool labels; both values must occur.
    """
    from sklearn.metrics import roc_auc_score  # takes a second

    return float(roc_auc_score(is_active, forest.predict(bits)))
