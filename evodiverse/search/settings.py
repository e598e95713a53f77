"""The settings of the search: the groups ``method`` and ``search`` of the configuration.

Hydra reads the configuration into these classes, which are not frozen because it sets their fields one by one. Once
`evodiverse.settings.plan.plan_run` has checked them, nothing changes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, TypeVar

from evodiverse.kit.documented import derived, setting
from evodiverse.search.exchange import exchange_rules, schedules
from evodiverse.search.pareto import Objective
from evodiverse.search.survivors import survivor_rules
from evodiverse.search.weights import weights
from evodiverse.vocabulary import Prompt

SAMPLERS: Final = ("cold", "hot")
ON_FAILED_START: Final = ("stop", "continue")

T = TypeVar("T")


def at_rung(values: Sequence[T], rung: int) -> T:
    """Return the value for a rung among values for each rung, cold first; the last applies to all further rungs."""
    return values[min(rung, len(values) - 1)]


@dataclass(slots=True)
class MatingPool:
    """The keys of ``method.mating_pool``.

    Attributes:
        size: number of draws that make up a mating pool
        replacement: whether to draw with replacement
        weight: weight of each of n members in the draws: boltzmann is exp(βs) for the score s, boltzmann_floor
            exp(βs/0.8) + 0.05/n, score_floor s + 0.02/n, score_power s^β + 1e-10, rank exp(βq) for the quantile q of
            the score; quantile draws a share of the pool, log-uniformly from 0.001 to 1, and then one of the best
            members of this share
    """

    size: int = setting(unit="candidates", least=1)
    replacement: bool = setting()
    weight: str = setting(choices=sorted(weights), or_dotted=True)


@dataclass(slots=True)
class Survivors:
    """The keys of ``method.survivors``.

    Attributes:
        rule: how survivors are chosen: sample keeps the elites and draws the others by weight; niche also keeps only a
            few similar ones; append keeps the best candidates, founders only the initial ones; dominated_novelty keeps
            those that are far from all fitter ones in the space of search.features; pareto keeps the first fronts of
            task.pareto
        weight: weight in the draws of survivors, as in method.mating_pool.weight
        neighbors: number of nearest fitter candidates whose mean distance counts in dominated_novelty
    """

    rule: str = setting(choices=sorted(survivor_rules), or_dotted=True)
    weight: str = setting(choices=sorted(weights), or_dotted=True)
    neighbors: int = setting(default=3, unit="candidates", is_later=True, least=1)


@dataclass(slots=True)
class Swap:
    """The keys of ``method.swap``.

    Attributes:
        rule: exchange rule: random accepts every swap; ring copies the best candidates of each pool to the next
        schedule: which pairs of adjacent rungs exchange candidates: all, or every second one, beginning with the first
            or the second in turn (even_odd_alternating) or at random (even_odd_random)
        period: number of iterations from one exchange to the next
        size: number of pairs of candidates that two pools try to swap at an exchange, k
        xi: initial powering factor ξ
        target: target swap rate, τ
        tolerance: width of the band around the target, ε
        window: number of exchanges whose swap rates are averaged before ξ is adapted, L
    """

    rule: str = setting(choices=sorted(exchange_rules), or_dotted=True)
    schedule: str = setting(choices=sorted(schedules))
    period: int = setting(unit="iterations", least=1)
    size: int = setting(unit="pairs", least=1)
    xi: float = setting(least=1e-3, most=1e3)
    target: float = setting(least=0, most=1)
    tolerance: float = setting(least=0, most=1)
    window: int = setting(unit="exchanges", least=1)


@dataclass(slots=True)
class Niche:
    """The keys of ``method.niche``.

    Attributes:
        radius: least similarity, as the task measures it, at which two candidates count as similar
        share: how many similar candidates a pool keeps at most, as long as dissimilar ones are available; one number
            for each rung, as in method.samplers
    """

    radius: float = setting(above=0, most=1)
    share: list[int] = setting(unit="candidates", least=1)

    def share_at(self, rung: int) -> int:
        """Return the entry of ``share`` for a rung."""
        return at_rung(self.share, rung)


@dataclass(slots=True)
class Screen:
    """The keys of ``method.screen``.

    Attributes:
        proposals: number of proposals of a generation, over all pools, from which a surrogate chooses; 0 disables
            screening; null: 100 with llm=off, 0 with a language model
        generations: number of generations of proposals in an iteration; a language model makes only one
        kappa: range from which each iteration draws κ, log-uniformly; proposals rank by mean + κ * standard deviation
            of the forecast; one range for each rung, as in method.samplers
        radius: least similarity, as the task measures it, at which two candidates count as similar
        at_most: how many of the candidates that an iteration evaluates may be similar to each other
        batch: number of oracle calls of an iteration, over all pools, as pairs: from this number of calls on, this many
        shortlist: how many candidates of the task's library take part in each iteration
        share: how many similar candidates may breed before the best of all other niches do; null: the forecasts alone
            decide
        apart: number of calls until which each pool learns from its own calls alone
        by_model: Whether a language model makes the proposals; it is told the scores of the parents, so these must have
            been evaluated.
    """

    proposals: int | None = setting(default=None, unit="proposals", least=0)
    generations: int = setting(unit="generations", least=1)
    kappa: list[Any] = setting()
    radius: float = setting(above=0, most=1)
    at_most: int = setting(unit="candidates", least=1)
    batch: list[Any] = setting(unit="calls")
    shortlist: int = setting(unit="candidates", least=0)
    share: int | None = setting(default=None, unit="candidates", least=1)
    apart: int = setting(unit="calls", least=0)
    by_model: bool = derived(default=False)

    @property
    def n_proposals(self) -> int:
        """The number of proposals of a generation: those of a model cost more than most oracle calls."""
        return (0 if self.by_model else 100) if self.proposals is None else self.proposals

    @property
    def n_generations(self) -> int:
        """The number of generations of an iteration."""
        return 1 if self.by_model else self.generations

    def size(self, n_calls: int) -> int:
        """Return the number of oracle calls of an iteration that begins after ``n_calls`` calls."""
        sizes: list[int] = [size for calls, size in self.batch if calls <= n_calls]
        return sizes[-1]


@dataclass(slots=True)
class Method:
    """The keys of ``method``. A method is pure configuration, so a new method is only a YAML file.

    Attributes:
        name: name of the method
        needs_model: whether the method requires a language model
        ladder: inverse temperature β of each rung (pool), cold first
        samplers: sampler with which each rung asks a language model (llm.pools), cold first; the last applies to all
            further rungs
        capacity: maximum number of members of a pool
        offspring: number of offspring of a pool per iteration
        parents: number of parents of each offspring
        elites: number of best members that always survive, with the rules sample and niche
        mutation_rate: default of task.mutation_rate, the probability that a child is mutated
        operator: operator that the method requires, which is the default of task.operator; null: the task's own
            operator
        hot_prompt: prompt of all rungs but the coldest
        operators: shares of the slots (places for one offspring) that a language model and the operator of llm=off
            fill, such as {llm: 0.7, classical: 0.3}, with all their attempts; null: the model fills all
    """

    name: str = setting()
    needs_model: bool = setting()
    ladder: list[float] = setting(least=0)
    samplers: list[str] = setting(choices=SAMPLERS)
    capacity: int = setting(unit="candidates", least=1)
    offspring: int = setting(unit="slots", least=1)
    parents: int = setting(unit="candidates", least=1)
    elites: int = setting(unit="candidates", least=0)
    mutation_rate: float | None = setting(default=None, changes_log=False, least=0, most=1)  # the task's key does
    operator: str | None = setting(default=None, changes_log=False)  # the task's key does
    hot_prompt: str = setting(choices=tuple(Prompt))
    operators: Any = setting(default=None, is_later=True)
    mating_pool: MatingPool = field(default_factory=MatingPool)
    survivors: Survivors = field(default_factory=Survivors)
    swap: Swap = field(default_factory=Swap)
    niche: Niche | None = None
    screen: Screen | None = None

    @property
    def n_pools(self) -> int:
        """The number of pools."""
        return len(self.ladder)

    @property
    def period(self) -> int:
        """The number of slots after which the rules that end a search count once more; 0 if each iteration counts."""
        return 0 if self.screen is None else self.offspring * self.n_pools

    def size(self, n_calls: int) -> int:
        """Return the number of slots, over all pools, of an iteration that begins after ``n_calls`` oracle calls."""
        return self.offspring * self.n_pools if self.screen is None else self.screen.size(n_calls)

    @property
    def model_share(self) -> float:
        """The share of the slots that a language model fills, if there is one."""
        return 1.0 if self.operators is None else float(self.operators["llm"] / sum(self.operators.values()))

    def prompt(self, pool: int) -> Prompt:
        """Return which prompt a language model gets for a pool."""
        return Prompt.COLD if pool == 0 else Prompt(self.hot_prompt)


@dataclass(slots=True)
class EarlyStop:
    """The keys of ``search.early_stop``.

    Attributes:
        top: number of best candidates whose mean score early stopping watches
        gain: smallest increase of that mean score that counts as a gain
        patience: number of consecutive iterations without a gain after which the run ends; null: never
    """

    top: int = setting(unit="candidates", least=1)
    gain: float = setting(least=0)
    patience: int | None = setting(least=1)


@dataclass(slots=True)
class Search:
    """The keys of ``search``: limits that do not depend on the method.

    Attributes:
        attempts: maximum number of attempts to fill a slot (the place for one offspring); llm.fallback then has as many
        patience: number of consecutive iterations without a new oracle call after which the run ends
        target: score above which the run ends; null: no target
        on_failed_start: what to do if all initial candidates failed
        keep_failed: whether candidates that failed, but have a score, join their pools and become parents; if all
            initial candidates failed, they join in any case
        repair: whether a language model is shown each candidate that failed once, to repair it
        novelty: least similarity to a member of its pool, as the task measures it, at which a proposal is rejected
            before it is evaluated; null: none is
        lag: number of iterations that begin before the previous one has ended, so that no request waits for the slowest
            reply; with 0, as in the paper, an iteration reads the state after the one before it, with n, the state
            after the n-th before that
        features: columns of numbers that the task logs, each with its lower and upper bound, such as {length: [0, 10]};
            they span the space of dominated_novelty, and of the metrics coverage and qd_score
        objectives: What ``task.pareto`` stands for.
    """

    attempts: int = setting(least=1)
    patience: int = setting(unit="iterations", least=1)
    early_stop: EarlyStop | None = field(default_factory=EarlyStop)
    target: float | None = setting(default=None, least=-inf)
    # What a run logs before it stops is the same with both values.
    on_failed_start: str = setting(default="stop", changes_log=False, choices=ON_FAILED_START)
    keep_failed: bool = setting(default=True, is_later=True)
    repair: bool = setting(default=False, is_later=True)
    novelty: float | None = setting(default=None, is_later=True, above=0, most=1)
    lag: int = setting(default=0, unit="iterations", is_later=True, least=0)
    features: Any = setting(default=None, is_later=True)
    objectives: Sequence[Objective] = derived(default=())
