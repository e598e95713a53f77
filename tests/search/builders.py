"""Small worlds for the tests of the search core: settings, archives and events with values chosen by the test."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum, sqrt

import numpy as np

from evodiverse.search.archive import Archive
from evodiverse.search.exchange import Event, Pools, SwapTrial
from evodiverse.search.settings import MatingPool, Method, Search, Survivors, Swap
from evodiverse.search.streams import Streams
from evodiverse.vocabulary import Detail, Evaluation, Hypothesis, Prompt

SWAP = Swap("metropolis", "all", period=5, size=5, xi=2.5, target=0.4, tolerance=0.2, window=1)
METHOD = Method(
    ladder=[0.8, 0.2],
    capacity=6,
    offspring=3,
    parents=2,
    elites=0,
    hot_prompt=Prompt.HOT,
    mating_pool=MatingPool(size=4, replacement=True, weight="score_floor"),
    survivors=Survivors("sample", "score_power"),
    swap=SWAP,
)
SEARCH = Search(attempts=3, patience=20, early_stop=None)


def make_method(**changes: object) -> Method:
    """Return `METHOD` with changes; those of fields that only `Swap` has are made there."""
    in_swap = {name: value for name, value in changes.items() if name in Swap.__slots__}
    in_method = {name: value for name, value in changes.items() if name not in in_swap}
    return replace(METHOD, swap=replace(SWAP, **in_swap), **in_method)


def make_archive(
    scores: Sequence[float | None],
    energies: Sequence[float | None] | None = None,
    top: int = 0,
    details: Sequence[Mapping[str, Detail]] = (),
) -> Archive:
    """Return an archive whose call ``c`` has key ``k<c>`` and the ``c``-th score; energies are minus the scores.

    The candidates have the first of the ``details``, as far as there are any.
    """
    archive = Archive(top)
    if energies is None:
        energies = [None if score is None else -score for score in scores]
    for call, (score, energy) in enumerate(zip(scores, energies, strict=True), start=1):
        archive.reserve(f"k{call}")
        own = details[call - 1] if call <= len(details) else {}
        archive.record(Hypothesis(f"g{call}", f"k{call}"), Evaluation(score, energy, details=own))
    return archive


def make_event(
    method: Method, energies: Sequence[float], *, xi: float = 2.5, iteration: int = 5, seed: int = 0
) -> Event:
    """Return an exchange event; scores are minus the energies."""
    array = np.array(energies, dtype=np.float64)
    return Event(iteration, method, -array, array, xi, Streams(seed))


def make_pools(*members: Sequence[int]) -> Pools:
    """Return pools with these calls."""
    return tuple(np.array(sorted(calls), dtype=np.int64) for calls in members)


def as_lists(pools: Pools) -> list[list[int]]:
    """Return pools as lists, which can be compared."""
    return [pool.tolist() for pool in pools]


def replay(pools: Pools, trials: Sequence[SwapTrial]) -> list[list[int]]:
    """Return the pools after carrying out the accepted trials by hand."""
    members = [set(pool.tolist()) for pool in pools]
    for trial in trials:
        if trial.accepted:
            members[trial.cold_pool].remove(trial.cold_call)
            members[trial.hot_pool].remove(trial.hot_call)
            members[trial.cold_pool].add(trial.hot_call)
            members[trial.hot_pool].add(trial.cold_call)
    return [sorted(calls) for calls in members]


def normalized(weights: Sequence[float]) -> list[float]:
    """Return weights as probabilities, in plain floats."""
    total = fsum(weights)
    return [weight / total for weight in weights]


def standard_errors_off(count: int, probability: float, n_draws: int) -> float:
    """Return by how many standard errors the count of ``n_draws`` independent trials differs from its expectation."""
    standard_error = sqrt(n_draws * probability * (1 - probability))
    return abs(count - n_draws * probability) / standard_error
