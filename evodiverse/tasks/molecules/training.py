"""Training forests on fingerprints: what is held out, the training, cross-validation and measures of error."""

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evodiverse.tasks.molecules.forest import Forecast, Forest, RegressionForest

N_TREES: Final = 100
N_FOLDS: Final = 5


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
        is_held_out[order[n_before < sizes[order].sum() / 4]] = True
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


class Errors(NamedTuple):
    """How far predictions are from labels.

    Attributes:
        r2: The coefficient of determination, at most 1; 0 if predictions are as good as the mean of the labels.
        rmse: The root of the mean squared error, in the unit of the labels.
        mae: The mean absolute error, in the unit of the labels.
        spearman: The rank correlation, -1 to 1; None if all predictions are equal.
    """

    r2: float
    rmse: float
    mae: float
    spearman: float | None

    def __str__(self) -> str:
        """Return the four numbers on one line."""
        ranks = "undefined" if self.spearman is None else f"{self.spearman:.3f}"
        return f"R² {self.r2:.3f}, RMSE {self.rmse:.3g}, MAE {self.mae:.3g}, Spearman {ranks}"


def train_regression(bits: NDArray[np.uint8], labels: NDArray[np.float64], seed: int) -> RegressionForest:
    """Train a regression forest of 100 trees with scikit-learn's default settings.

    Args:
        bits: ``(n, 2048)`` fingerprints from `morgan_fingerprints`; n is at least 1.
        labels: ``(n,)`` finite numbers.
        seed: The seed, 0 to 2**32 - 1, of the bootstrap samples and of the order in which features are tried.
    """
    from sklearn.ensemble import RandomForestRegressor  # takes a second

    return RegressionForest.from_trees(fit_trees(RandomForestRegressor, bits, labels, seed))


def draw_folds(twins: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw which of the five folds each molecule belongs to; molecules with equal fingerprints share one.

    Args:
        twins: ``(n,)`` numbers from `number_twins`, at least five different ones.
        rng: The random generator, from which one permutation is drawn.

    Returns:
        ``(n,)`` numbers from 0 to 4, all of which occur. Folds differ by at most one in their number of different
        fingerprints.
    """
    return rng.permutation(np.arange(twins.max() + 1) % N_FOLDS)[twins]


def cross_validate(
    bits: NDArray[np.uint8], labels: NDArray[np.float64], folds: NDArray[np.int64], seed: int
) -> Forecast:
    """Predict the label of each molecule by a forest trained on the molecules of all other folds.

    Args:
        bits: As for `train_regression`.
        labels: As for `train_regression`.
        folds: ``(n,)`` numbers from `draw_folds`.
        seed: The seed of each forest.
    """
    forecast = Forecast(np.empty(len(bits)), np.empty(len(bits)))
    for fold in range(N_FOLDS):
        is_out = folds == fold
        forest = train_regression(bits[~is_out], labels[~is_out], seed)
        forecast.mean[is_out], forecast.spread[is_out] = forest.predict(bits[is_out])
    return forecast


def measure_errors(labels: NDArray[np.float64], predicted: NDArray[np.float64]) -> Errors:
    """Compare ``(n,)`` labels, which must not all be equal, with their predictions."""
    from scipy.stats import spearmanr  # these two imports take a second
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    spearman = float(spearmanr(labels, predicted).statistic) if np.ptp(predicted) > 0 else None
    measures = (r2_score, root_mean_squared_error, mean_absolute_error)
    r2, rmse, mae = (float(measure(labels, predicted)) for measure in measures)
    return Errors(r2, rmse, mae, spearman)


def split_by_spread(labels: NDArray[np.float64], forecast: Forecast) -> tuple[float, float]:
    """Return the RMSE of the half of the molecules on which the trees agree most, and of the other half.

    Of an odd number of molecules, the first half has one less; there must be at least two.
    """
    squared = (labels - forecast.mean) ** 2
    agreed, other = np.split(squared[np.argsort(forecast.spread, kind="stable")], [len(labels) // 2])
    return float(np.sqrt(agreed.mean())), float(np.sqrt(other.mean()))
