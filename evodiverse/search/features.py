"""The feature space, which columns of the log span, and local competition in it."""

from collections.abc import Mapping, Sequence

import numpy as np

from evodiverse.search.sampling import FloatArray
from evodiverse.vocabulary import Detail

Features = Mapping[str, Sequence[float]]
"""The columns that span a feature space, each with its lower and its upper bound."""


def place(details: Sequence[Mapping[str, Detail]], features: Features) -> FloatArray:
    """Return the ``(n, d)`` places of candidates in the feature space.

    A feature is scaled by its bounds, which become 0 and 1, so that the scale is the same throughout a run and in all
    runs. Values outside of the bounds are not moved. A value that is missing, not a number or not finite is NaN.

    Args:
        details: The domain's columns of each candidate, by name.
        features: The ``d`` features.
    """
    low, high = np.array(list(features.values()), dtype=np.float64).T
    with np.errstate(over="ignore"):
        places: FloatArray = (read_numbers(details, list(features)) - low) / (high - low)
    places[~np.isfinite(places)] = np.nan
    return places


def read_numbers(details: Sequence[Mapping[str, Detail]], columns: Sequence[str]) -> FloatArray:
    """Return the ``(n, d)`` values of ``n`` candidates in ``d`` columns; NaN for those that are no finite numbers."""
    found = (each.get(column) for each in details for column in columns)
    numbers = np.array([value if isinstance(value, int | float) else np.nan for value in found], dtype=np.float64)
    numbers = numbers.reshape(len(details), len(columns))
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def measure_competition(scores: FloatArray, places: FloatArray, n_neighbors: int) -> FloatArray:
    """Return the ``(n,)`` competition fitness of candidates: how far they are from those that are fitter.

    It is the mean distance to the ``n_neighbors`` nearest of the fitter candidates, or to all of them if there are
    fewer, and infinite if there are none (dominated novelty search: Bahlous-Boldi et al. 2025, "Dominated Novelty
    Search: Rethinking Local Competition in Quality-Diversity", arXiv 2502.00593). A candidate is fitter than another if
    its score is higher or, unlike in the paper, equal and the candidate older; otherwise, copies of one behavior with
    one score would not compete with each other. A candidate without a place (NaN) competes with nobody and gets -inf.

    Args:
        scores: ``(n,)`` scores, higher is better, oldest candidate first.
        places: ``(n, d)`` places, as `place` returns them.
        n_neighbors: The number of nearest fitter candidates, at least 1.
    """
    from scipy.spatial.distance import cdist  # here so that a mistake is told without loading scipy

    fitness = np.full(scores.size, -np.inf)
    ranked = np.argsort(-scores, kind="stable")
    ranked = ranked[np.isfinite(places[ranked]).all(axis=1)]
    distances = cdist(places[ranked], places[ranked])
    distances[np.triu_indices(ranked.size)] = np.inf  # the fitter candidates are the earlier ones
    nearest = np.sort(distances, axis=1)[:, :n_neighbors]
    counts = np.minimum(np.arange(ranked.size), n_neighbors)
    sums = np.where(np.arange(nearest.shape[1]) < counts[:, None], nearest, 0.0).sum(axis=1)
    fitness[ranked] = np.divide(sums, counts, out=np.full(ranked.size, np.inf), where=counts > 0)
    return fitness
