"""Repair: which programs that failed a language model is shown once more, and in place of which parents."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from evodiverse.search.archive import Archive
from evodiverse.search.settings import Method
from evodiverse.vocabulary import Evaluation, Reason, Request

Repairs = Sequence[Sequence[int]]
"""The candidates to repair of each pool, by the numbers of the oracle calls that evaluated them."""

REPAIRABLE: Final = frozenset(
    {
        *(Reason.CRASHED, Reason.TIMED_OUT, Reason.OUT_OF_MEMORY),
        *(Reason.WRONG_RESULT, Reason.NON_FINITE, Reason.INVALID),
    }
)
"""The reasons for a failure that say what is wrong with a program. Others may say that it is bad."""


def is_repairable(evaluation: Evaluation) -> bool:
    """Return whether a failed candidate deserves a repair: it has a score, and its error says what is wrong."""
    reason, *_ = evaluation.error.partition(":")
    return not evaluation.valid and evaluation.score is not None and reason in REPAIRABLE


def choose_repairs(tried: Iterable[tuple[int | None, int, Sequence[int]]], archive: Archive, method: Method) -> Repairs:
    """Return the failed candidates of an iteration that a language model is to repair in the next one.

    They are the first of each pool, for at most half of its slots, so that a search whose offspring all fail still
    tries other parents. A candidate is evaluated in one iteration only, so it is shown at most once. The child of one
    that failed is not shown: a repair that fails is not repaired.

    Args:
        tried: The pool, the oracle call and the calls of the parents of each candidate that the iteration evaluated, in
            the order of the calls. Initial candidates have no parents and are not repaired.
        archive: The archive that holds all of them.
        method: The settings of the method.
    """
    repairs: list[list[int]] = [[] for _ in range(method.n_pools)]
    for pool, call, parents in tried:
        if pool is not None and parents and len(repairs[pool]) < (method.offspring + 1) // 2:
            is_first = archive.evaluation(parents[0]).valid
            repairs[pool] += [call] if is_first and is_repairable(archive.evaluation(call)) else []
    return repairs


def place_repairs(
    requests: Sequence[Request],
    repairs: Repairs,
    archive: Archive,
    method: Method,
    is_for_model: Callable[[Request], bool],
) -> list[Request]:
    """Return the requests of an iteration with candidates to repair as the first parents of the first ones.

    Args:
        requests: The requests of the first attempt at each slot.
        repairs: The candidates to repair; empty if there are none in any pool.
        archive: The archive of the run.
        method: The settings of the method.
        is_for_model: A function that returns whether a language model gets a request; others are not changed.
    """
    left = {pool: list(calls) for pool, calls in enumerate(repairs)}
    placed = []
    for request in requests:
        if left.get(request.pool) and is_for_model(request):
            call = left[request.pool].pop(0)
            others = [parent for parent in request.parents if parent.call != call][: method.parents - 1]
            parents = (archive.candidate(call), *others)
            request = replace(request, parents=parents, ancestors=tuple(parent.call for parent in parents))
        placed.append(request)
    return placed
