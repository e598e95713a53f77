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
class Screen:
    """How a surrogate model chooses the proposals that are evaluated.

    Each slot, the place for one offspring in a pool, gets ``proposals`` proposals. Of all the proposals for its slots,
    a pool evaluates at most as many as it has slots.

    A pool takes those with the highest prediction + ``explore`` * spread, both from their `Forecast`. Of these, at most
    ``at_most`` have a similarity of at least ``radius`` to each other, as long as there are dissimilar ones to take
    instead.
    """

    proposals: int
    explore: float
    radius: float
    at_most: int


@dataclass(frozen=True, slots=True)
class Method:
    """The settings of a method. ``ladder`` holds the inverse temperature of each pool, cold to hot."""

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
