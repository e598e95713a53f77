"""Weights by which pools are sampled (paper, "Domain-Specific Implementation Conventions").

Each rule takes ``(n,)`` ``scores``, higher is better, and the pool's inverse temperature ``beta``, which is in
[0, inf]. It returns ``(n,)`` log-weights. If a rule depends on ``beta``, then at ``beta = inf`` its weights make each
draw take the highest score left, and equal scores have equal weights.
"""

from collections.abc import Callable

import numpy as np

from evodiverse.search.rules import Rules
from evodiverse.search.sampling import FloatArray

weights: Rules[Callable[[FloatArray, float], FloatArray]] = Rules()

# Larger than any Gumbel noise in double precision (about -4 to 37), so that only ranks decide.
RANK_GAP = 1e6
# The smallest share of the best scores from which the rule `quantile` draws.
LEAST_SHARE = 1e-3


@weights
def score_floor(scores: FloatArray, beta: float) -> FloatArray:  # noqa: ARG001 (the paper's rule has no temperature)
    """Weight by ``s + 0.02/n`` for n scores s in [0, 1], the default for mating in the molecule domain."""
    return np.log(scores + 0.02 / max(scores.size, 1))


@weights
def score_power(scores: FloatArray, beta: float) -> FloatArray:
    """Weight by ``s**beta + 1e-10``, the default for survival in the molecule domain. Scores are in [0, 1]."""
    return best_first(scores) if np.isinf(beta) else np.log(scores**beta + 1e-10)


@weights
def boltzmann(scores: FloatArray, beta: float) -> FloatArray:
    """Weight by ``exp(beta * s)``, the default for mating in the program domain.

    In that domain, s is the paper's ℓ. It acts as a log-probability that is not normalized, since the energy is -ℓ.
    """
    return best_first(scores) if np.isinf(beta) else beta * scores


@weights
def boltzmann_floor(scores: FloatArray, beta: float) -> FloatArray:
    """Weight by ``exp(s * beta / 0.8) + 0.05/n``, the default for mating in the equation domain.

    In that domain, s = -MSE ≤ 0.

    The exponent is not shifted by its maximum, so that the floor 0.05/n matters in pools in which all errors are large.
    In the limit ``beta = inf``, the formula would give every candidate except exact fits the same weight, the floor.
    Therefore, at ``beta = inf``, the best scores are drawn first instead.
    """
    floor = np.log(0.05 / max(scores.size, 1))
    return best_first(scores) if np.isinf(beta) else np.logaddexp(scores * beta / 0.8, floor)


@weights
def rank(scores: FloatArray, beta: float) -> FloatArray:
    """Weight by ``exp(beta * q)``, where q in [0, 1] is the quantile of the score.

    The selection pressure is therefore the same at any scale of the scores. Equal scores get the mean of their
    quantiles.
    """
    if np.isinf(beta):
        return best_first(scores)
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - counts / 2
    return beta * middles[places] / max(scores.size, 1)


@weights
def quantile(scores: FloatArray, beta: float) -> FloatArray:  # noqa: ARG001 (the rule has no temperature)
    """Weight by how likely a score is drawn if a share is drawn first, and then one of the best scores of this share.

    The logarithm of the share is uniform between those of 0.001 and 1 (Mol GA: Tripp and Hernández-Lobato 2023,
    "Genetic algorithms are strong baselines for molecule generation", arXiv 2310.09267). Of ``n`` scores, the share
    ``q`` has ``ceil(q * n)``. Equal scores get the mean of their weights.
    """
    n = scores.size
    edges = np.log(np.clip(np.arange(n + 1) / max(n, 1), LEAST_SHARE, 1.0))
    sizes = np.arange(1, n + 1)
    by_rank = np.cumsum((np.diff(edges) / sizes)[::-1])[::-1]
    _, places, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    means = np.add.reduceat(by_rank, np.cumsum(counts) - counts) / counts if n else by_rank
    return np.log(means[places])


def best_first(scores: FloatArray) -> FloatArray:
    """Return ``(n,)`` log-weights that make each draw take the highest score left; ties are broken at random."""
    _, ranks = np.unique(-scores, return_inverse=True)
    return -RANK_GAP * ranks.astype(np.float64)
