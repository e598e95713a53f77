"""Which of a pool and its offspring stay.

Each rule takes ``scores`` ``(n,)`` of the pool's members and offspring together, in the order of their calls, the
pool's ``beta``, the `Method` and an ``rng``, and returns the indices that survive, at most ``method.capacity``.
"""

from collections.abc import Callable

import numpy as np

from evodiverse.search.rules import Rules
from evodiverse.search.sampling import FloatArray, IntArray, sample_without_replacement
from evodiverse.search.settings import Method
from evodiverse.search.weights import weights

SurvivorRule = Callable[[FloatArray, float, Method, np.random.Generator], IntArray]
survivor_rules: Rules[SurvivorRule] = Rules("survivor rule")


@survivor_rules
def sample(scores: FloatArray, beta: float, method: Method, rng: np.random.Generator) -> IntArray:
    """Keep the best ``method.elites`` for certain and sample the rest without replacement by the survivor weight.

    Equal scores at the elites' edge are settled for the older candidate. Source: paper, "Molecular-discovery survivor
    details".
    """
    n_elites = min(method.elites, method.capacity)
    ranking = _best_first(scores)
    elites, others = ranking[:n_elites], np.sort(ranking[n_elites:])
    log_weights = weights[method.survivors.weight](scores[others], beta)
    drawn = sample_without_replacement(log_weights, method.capacity - n_elites, rng)
    return np.concatenate([elites, others[drawn]])


@survivor_rules
def append(scores: FloatArray, beta: float, method: Method, rng: np.random.Generator) -> IntArray:  # noqa: ARG001
    """Keep everything and drop the worst beyond capacity, the newer of two alike first."""
    return _best_first(scores)[: method.capacity]


def _best_first(scores: FloatArray) -> IntArray:
    return np.argsort(-scores, kind="stable")
