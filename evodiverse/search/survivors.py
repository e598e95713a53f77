"""Survivor rules: which members and offspring of a pool stay.

In each iteration, `select_survivors` calls the rule that the method names, once for each pool. A rule takes the
`Contenders`, the `Method` and an ``rng``. It returns the ``(n,)`` indices of the survivors in the arrays of
`Contenders`, in any order. All rules except `founders` keep at most ``method.capacity`` contenders, and all contenders
if there are no more than that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evodiverse.search.features import measure_competition
from evodiverse.search.niches import Similarities, keep_apart
from evodiverse.search.pareto import order_by_front
from evodiverse.search.rules import Rules
from evodiverse.search.sampling import BoolArray, FloatArray, IntArray, sample_without_replacement
from evodiverse.search.weights import weights
from evodiverse.vocabulary import Hypothesis

if TYPE_CHECKING:
    from evodiverse.search.settings import Method


@dataclass(frozen=True, slots=True)
class Contenders:
    """The members and offspring of a pool, in the order of the oracle calls that evaluated them.

    Attributes:
        scores: ``(n,)`` scores, higher is better.
        rung: The index of the pool; the pools are ordered from cold to hot.
        is_new: ``(n,)`` booleans, true for offspring that were not members before.
        hypotheses: The ``n`` hypotheses, for rules that need similarities.
        similarities: The task's function that compares hypotheses; None for a task without one.
        find_places: A function that returns the ``(n, d)`` places in the feature space; None without such a space.
        find_values: A function that returns the ``(n, d)`` values in several objectives, higher is better, NaN where
            one is missing; None without objectives.
    """

    scores: FloatArray
    rung: int
    is_new: BoolArray
    hypotheses: Sequence[Hypothesis] = ()
    similarities: Similarities | None = None
    find_places: Callable[[], FloatArray] | None = None
    find_values: Callable[[], FloatArray] | None = None


survivor_rules: Rules[Callable[[Contenders, "Method", np.random.Generator], IntArray]] = Rules()


@survivor_rules
def sample(contenders: Contenders, method: "Method", rng: np.random.Generator) -> IntArray:
    """Return the indices of the best ``method.elites`` contenders, and of a random sample of the others.

    The sample is drawn without replacement and fills the pool up to ``method.capacity``. The weights are those of the
    rule ``method.survivors.weight``. Of candidates with equal scores, the older becomes an elite first. Source: paper,
    "Molecular-discovery survivor details".
    """
    return _draw_order(contenders, method, rng)[: method.capacity]


@survivor_rules
def append(contenders: Contenders, method: "Method", rng: np.random.Generator) -> IntArray:  # noqa: ARG001
    """Return the indices of the best ``method.capacity``, best first; of equal scores, the newer is dropped first."""
    return _best_first(contenders.scores)[: method.capacity]


@survivor_rules
def founders(contenders: Contenders, method: "Method", rng: np.random.Generator) -> IntArray:  # noqa: ARG001
    """Return the indices of the members, without any offspring, so that all parents come from the initial pool."""
    return np.flatnonzero(~contenders.is_new)


@survivor_rules
def niche(contenders: Contenders, method: "Method", rng: np.random.Generator) -> IntArray:
    """Return the indices of the ``method.elites`` best contenders, and of others with few similar ones among them.

    The others are considered in the order in which `sample` draws them. In a pool whose inverse temperature β is
    infinite, this is the order of their scores; of equal scores, the older comes first. A candidate is skipped if at
    least ``method.niche.share`` of those taken before are similar to it. If too few are taken in this
    way, the pool is filled with the first skipped ones.

    Raises:
        ValueError: The method has no niches, or the task has no similarities.
    """
    if method.niche is None or contenders.similarities is None:
        raise ValueError("niches need method.niche and a task with similarities")
    if contenders.scores.size <= method.capacity:
        return np.arange(contenders.scores.size)
    is_coldest = np.isinf(method.ladder[contenders.rung])
    order = _best_first(contenders.scores) if is_coldest else _draw_order(contenders, method, rng)
    taken = keep_apart(
        [contenders.hypotheses[index] for index in order.tolist()],
        method.capacity,
        method.niche.share_at(contenders.rung),
        method.niche.radius,
        contenders.similarities,
        certain=min(method.elites, method.capacity),
    )
    return order[taken]


@survivor_rules
def dominated_novelty(contenders: Contenders, method: "Method", rng: np.random.Generator) -> IntArray:  # noqa: ARG001
    """Return the indices of the ``method.capacity`` contenders with the highest competition fitness, best first.

    The competition fitness is that of `measure_competition`: fit and different contenders stay. Contenders that
    lack a feature come last. Of equal competition fitness, the higher score comes first, and then the older contender.

    Raises:
        ValueError: There is no feature space.
    """
    if contenders.find_places is None:
        raise ValueError("dominated novelty needs features")
    fitness = measure_competition(contenders.scores, contenders.find_places(), method.survivors.neighbors)
    return np.lexsort((-contenders.scores, -fitness))[: method.capacity]


@survivor_rules
def pareto(contenders: Contenders, method: "Method", rng: np.random.Generator) -> IntArray:  # noqa: ARG001
    """Return the indices of the first ``method.capacity`` contenders by front and crowding; see `order_by_front`.

    Raises:
        ValueError: There are no objectives.
    """
    if contenders.find_values is None:
        raise ValueError("the rule pareto needs objectives")
    return order_by_front(contenders.find_values(), contenders.scores)[: method.capacity]


def _draw_order(contenders: Contenders, method: "Method", rng: np.random.Generator) -> IntArray:
    """Return the indices of the elites, best first, and then those of the others in the order drawn.

    The others are drawn without replacement, by the rule ``method.survivors.weight``.
    """
    ranking, n_elites = _best_first(contenders.scores), min(method.elites, method.capacity)
    others = np.sort(ranking[n_elites:])
    log_weights = weights[method.survivors.weight](contenders.scores[others], method.ladder[contenders.rung])
    return np.concatenate([ranking[:n_elites], others[sample_without_replacement(log_weights, others.size, rng)]])


def _best_first(scores: FloatArray) -> IntArray:
    return np.argsort(-scores, kind="stable")
