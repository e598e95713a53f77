"""The frozen settings of the search. Attributes mean the same as the configuration keys of the same names."""

from dataclasses import dataclass

from evodiverse.vocabulary import Prompt


@dataclass(frozen=True, slots=True)
class MatingPool:
    """How the mating pool, from which parents are drawn, is filled: by ``size`` draws from the members of a pool.

    ``weight`` names the rule in `evodiverse.search.weights` that gives each member its weight. With ``replacement``, a
    member can be drawn repeatedly.
    """

    size: int
    replacement: bool
    weight: str


@dataclass(frozen=True, slots=True)
class Survivors:
    """The settings that decide which members and offspring stay in a pool.

    ``rule`` names the survivor rule. ``weight`` names the weight rule that the survivor rule uses if it samples.
    """

    rule: str
    weight: str


@dataclass(frozen=True, slots=True)
class Swap:
    """The settings of the exchange of candidates between pools (the keys ``method.swap.*``).

    ξ is the power to which the Metropolis acceptance ratio of a swap is raised. It starts at ``xi``, and the rule
    ``metropolis`` adapts it to the share of swaps that are accepted. The paper's τ, ε and L are ``target``,
    ``tolerance`` and ``window``.
    """

    rule: str
    schedule: str
    period: int
    size: int
    xi: float
    target: float
    tolerance: float
    window: int


@dataclass(frozen=True, slots=True)
class Niche:
    """The limit on similar candidates in a pool.

    In pool ``i``, at most ``share[i]`` survivors have a similarity of at least ``radius`` to each other, as long as
    there are dissimilar candidates to take instead. Elites survive even if they are similar.
    """

    radius: float
    share: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """The number of oracle calls of an iteration, over all pools: ``size`` once the run has made ``calls`` calls."""

    calls: int
    size: int


@dataclass(frozen=True, slots=True)
class Screen:
    """How a Gaussian process (see `evodiverse.search.process`) chooses the proposals that are evaluated.

    Attributes:
        proposals: The number of proposals of a generation, over all pools.
        generations: The number of generations of the inner search.
        kappa: For each rung, the range of κ in the acquisition, mean + κ * standard deviation. Each iteration draws κ
            from this range, log-uniformly.
        radius: The similarity at or above which two hypotheses count as similar, as the task measures it.
        at_most: How many of the hypotheses that an iteration evaluates may be similar to each other, as long as there
            are dissimilar ones to take instead.
        batches: The sizes of iterations, for rising numbers of calls; the first is for 0 calls.
        shortlist: How many candidates of the task's library take part in the inner search.
        share: How many candidates of a niche are ranked before the next ones of all niches, among parents and founders;
            None ranks by the forecasts alone, whatever the niches and the worth of the families.
        apart: In iterations that begin before this number of calls, each pool learns from its own calls alone, and
            leaves alone what a better pool has found.
        only_evaluated: Whether parents must have been evaluated, since a language model is told their scores.
    """

    proposals: int
    generations: int
    kappa: tuple[tuple[float, float], ...]
    radius: float
    at_most: int
    batches: tuple[Batch, ...]
    shortlist: int
    share: int | None
    apart: int
    only_evaluated: bool = False

    def size(self, n_calls: int) -> int:
        """Return the number of oracle calls of an iteration that begins after ``n_calls`` calls."""
        return [batch.size for batch in self.batches if batch.calls <= n_calls][-1]


@dataclass(frozen=True, slots=True)
class Method:
    """The settings of a method.

    ``ladder`` holds the inverse temperature of each pool, cold to hot. ``offspring`` is the number of slots of each
    pool; with ``screen``, the rules that end a search count once for as many slots (see `period`).
    """

    ladder: tuple[float, ...]
    capacity: int
    offspring: int
    parents: int
    elites: int
    hot_prompt: Prompt
    mating_pool: MatingPool
    survivors: Survivors
    swap: Swap
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


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """The rule that stops a search whose scores hardly improve.

    The search stops after ``patience`` iterations in a row in which the mean of the best ``top`` scores gained less
    than ``gain``.
    """

    top: int
    gain: float
    patience: int


@dataclass(frozen=True, slots=True)
class Search:
    """Limits of the search that do not depend on the method.

    Each slot, the place for one offspring in a pool, gets at most ``attempts`` attempts, not counting those of a
    fallback operator. This limit does not apply while a surrogate model chooses among several proposals for each slot
    (see `Screen`). The search ends when a score is above ``target``, or after ``patience`` iterations in a row without
    an oracle call.

    If all initial candidates failed, the search ends with an error. There is one exception: the search continues if
    ``continue_on_failed_start`` is set and at least one of the failed candidates has a score nevertheless.
    """

    attempts: int
    patience: int
    early_stop: EarlyStop | None
    target: float | None = None
    continue_on_failed_start: bool = False
