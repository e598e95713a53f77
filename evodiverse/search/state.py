"""The state of a search, which the next iteration needs, and the record of an iteration, which goes into the log."""

from dataclasses import dataclass

from evodiverse.search.adaptation import Thermostat
from evodiverse.search.exchange import Migration, Pools, SwapTrial
from evodiverse.search.repair import Repairs
from evodiverse.search.screening import Forecast
from evodiverse.vocabulary import Evaluation, Outcome


@dataclass(frozen=True, slots=True)
class Progress:
    """The counters of the stop rules. A period is an iteration, or as many small ones (see `Screen`) as make up one.

    Attributes:
        idle: The number of periods in a row without an oracle call.
        stalled: The number of periods in a row in which ``top_mean`` gained less than `EarlyStop.gain`.
        top_mean: The value of `Archive.top_mean`, the mean of the best scores, after the last period; None or NaN if
            there is none yet.
        waited: The number of slots of the iterations since then.
        charged: Whether any of these iterations made an oracle call.
    """

    idle: int = 0
    stalled: int = 0
    top_mean: float | None = None
    waited: int = 0
    charged: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """The state of a search between two iterations.

    ``pools`` holds, for each pool from cold to hot, the sorted numbers of the oracle calls that evaluated its members.
    ``repairs`` holds the candidates that failed and that the next iteration shows a language model.
    """

    iteration: int
    pools: Pools
    thermostat: Thermostat
    progress: Progress
    repairs: Repairs = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to fill a slot, and its outcome (a row of the dataset ``evaluations``).

    A slot is a place for one offspring, or for one initial candidate in iteration 0.

    Attributes:
        iteration: The number of the iteration.
        pool: The index of the pool that the slot is in; None for an initial candidate that all pools share.
        slot: The number of the slot in its pool.
        attempt: The number of the attempt at this slot, counted from 1.
        outcome: How the attempt ended.
        operator: The name of the operator.
        parents: The numbers of the oracle calls that evaluated the parents.
        genotype: The genotype as evaluated or, if it was rejected, as proposed; None if nothing was proposed.
        key: The canonical identity; None if the genotype was rejected.
        call: The number of the oracle call that this attempt was counted as; None if it was not counted.
        reused_call: The number of the earlier call whose evaluation was reused; None if none was.
        evaluation: The evaluation by ``call`` or by ``reused_call``; None if both are None.
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
    """A proposal that was not chosen for evaluation, with its forecast (a row of the dataset ``screened``).

    ``predicted`` and ``spread`` are those of its `Forecast`.
    """

    iteration: int
    pool: int
    slot: int
    attempt: int
    key: str
    predicted: float
    spread: float


@dataclass(frozen=True, slots=True)
class Adaptation:
    """The effect of an exchange on ξ; one record per pair of adjacent pools (a row of the dataset ``adaptation``).

    ξ is the power to which the Metropolis acceptance ratio of a swap is raised. Swaps that are blocked, because they
    would put a candidate into a pool twice, do not count.

    Attributes:
        cold_pool: The index of the colder pool of the pair.
        hot_pool: The index of the hotter pool of the pair.
        rate: The share of swaps that were accepted, in [0, 1], over all pairs of pools in this exchange; None if all
            swaps were blocked.
        xi: The value of ξ after the exchange.
        accepted: The number of swaps accepted between these two pools.
        tried: The number of swaps tried between these two pools, accepted or not.
        clamped: Whether ξ would have left its bounds and was set to the nearest bound.
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
