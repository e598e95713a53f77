"""The state of a search, which the next iteration needs, and the record of an iteration, which goes into the log."""

from dataclasses import dataclass

from evodiverse.search.adaptation import Thermostat
from evodiverse.search.exchange import Migration, Pools, SwapTrial
from evodiverse.search.screening import Forecast
from evodiverse.vocabulary import Evaluation, Outcome


@dataclass(frozen=True, slots=True)
class Progress:
    """The counters of the stop rules.

    Attributes:
        idle: The number of iterations in a row without an oracle call.
        stalled: The number of iterations in a row in which ``top_mean`` gained too little.
        top_mean: The mean of the best scores after the last iteration; None before the first.
    """

    idle: int = 0
    stalled: int = 0
    top_mean: float | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The state of a search between two iterations. ``pools`` holds the sorted calls of each pool, cold to hot."""

    iteration: int
    pools: Pools
    thermostat: Thermostat
    progress: Progress


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to fill a slot, and its outcome (a row of ``evaluations``).

    Attributes:
        iteration: The number of the iteration.
        pool: The pool of the slot; None for an initial candidate that all pools share.
        slot: The number of the slot in its pool.
        attempt: The number of the attempt at this slot, counted from 1.
        outcome: How the attempt ended.
        operator: The name of the operator.
        parents: The calls of the parents.
        genotype: The proposed genotype; None if there is none.
        key: The canonical identity; None if the genotype was rejected.
        call: The number of the charged call; None if nothing was charged.
        reused_call: The earlier call whose evaluation was reused; None if none was.
        evaluation: The evaluation of the charged or the reused call; None if there is no such call.
        error: Why the genotype was rejected or its evaluation failed; empty otherwise.
        llm_call: The number of the request to a language model; None for a classical operator.
        forecast: The surrogate's forecast; None if none was made.
    """

    iteration: int
    pool: int | None
    slot: int
    attempt: int
    outcome: Outcome
    operator: str
    parents: tuple[int, ...]
    genotype: str | None = None
    key: str | None = None
    call: int | None = None
    reused_call: int | None = None
    evaluation: Evaluation | None = None
    error: str = ""
    llm_call: int | None = None
    forecast: Forecast | None = None


@dataclass(frozen=True, slots=True)
class Screened:
    """A proposal that screening did not choose, with its forecast (a row of ``screened``)."""

    iteration: int
    pool: int
    slot: int
    attempt: int
    key: str
    predicted: float
    spread: float


@dataclass(frozen=True, slots=True)
class Adaptation:
    """The effect of an exchange event on ξ; there is one record per pair of rungs (a row of ``adaptation``).

    Attributes:
        cold_pool: The colder rung of the pair.
        hot_pool: The hotter rung of the pair.
        rate: The swap rate of the whole ladder in this event, in [0, 1]; None if all pairs of candidates were blocked.
        xi: The powering factor ξ after the event.
        accepted: The number of swaps accepted between these two rungs.
        tried: The number of unblocked swaps tried between these two rungs.
        clamped: Whether ξ would have left its bounds and was clamped.
    """

    cold_pool: int
    hot_pool: int
    rate: float | None
    xi: float
    accepted: int
    tried: int
    clamped: bool


@dataclass(frozen=True, slots=True)
class IterationInfo:
    """Everything that happened in one iteration; ``pools`` holds the pools after it."""

    iteration: int
    pools: Pools
    attempts: tuple[Attempt, ...]
    trials: tuple[SwapTrial, ...] = ()
    migrations: tuple[Migration, ...] = ()
    adaptations: tuple[Adaptation, ...] = ()
    screened: tuple[Screened, ...] = ()
