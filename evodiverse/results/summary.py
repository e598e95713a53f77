"""Summaries of a run, counted from its log."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import TypeVar

from evodiverse.runlog.log import Columns, Log, Row, row_at
from evodiverse.vocabulary import Outcome, Usage

N_BEST = 10
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Rungs:
    """A summary of the swaps between two pools that are neighbors when the pools are ordered from cold to hot.

    Attributes:
        cold_pool: The index of the colder pool.
        hot_pool: The index of the hotter pool.
        events: The number of exchanges between the two pools.
        tried: The number of pairs of candidates that were not blocked.
        accepted: The number of pairs that were swapped.
        blocked: The number of pairs that could not be swapped, because a pool would have held a candidate twice.
    """

    cold_pool: int
    hot_pool: int
    events: int
    tried: int
    accepted: int
    blocked: int


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests to one model for one pool.

    Attributes:
        pool: The index of the pool.
        model: The name of the model.
        used: The number of requests, and the totals of their tokens and of their costs.
        outcomes: The number of requests, by outcome.
        cached: The number of requests that were answered from the reply cache.
    """

    pool: int
    model: str
    used: Usage
    outcomes: Mapping[str, int]
    cached: int


@dataclass(frozen=True, slots=True)
class Kind:
    """The errors of a run that have the same reason.

    Attributes:
        reason: The reason, without details: the message of the error up to its first colon.
        rejected: The number of attempts that were rejected for this reason.
        failed: The number of evaluations that failed for this reason.
        example: The log row of the first error with this reason.
    """

    reason: str
    rejected: int
    failed: int
    example: Row


def find_failed(attempts: Columns) -> list[int]:
    """Return the indices of the evaluations that were counted as oracle calls but gave no score.

    ``attempts`` holds columns of the dataset ``evaluations``, and the indices are positions in them.
    """
    outcomes, scores = attempts["outcome"], attempts["score"]
    return [at for at, score in enumerate(scores) if score is None and outcomes[at] == Outcome.EVALUATED]


def best_candidates(attempts: Columns, n_most: int | None = N_BEST) -> list[Row]:
    """Return the log rows of the highest-scoring evaluations, best first; among equal scores, older first.

    There are at most ``n_most``; None means all.
    """
    calls, scores = attempts["call"], attempts["score"]
    scored = ((-score, calls[at], at) for at, score in enumerate(scores) if score is not None and calls[at] is not None)
    best = sorted(scored) if n_most is None else nsmallest(n_most, scored)
    return [row_at(attempts, at) for _, _, at in best]


def best_so_far(attempts: Columns) -> list[float]:
    """Return the highest score up to the end of each iteration, starting with the first iteration that has a score."""
    best: dict[int, float | None] = {}
    for iteration, score in zip(attempts["iteration"], attempts["score"], strict=True):
        highest = best.setdefault(iteration, score)
        if score is not None and (highest is None or score > highest):
            best[iteration] = score
    curve: list[float] = []
    for _, score in sorted(best.items()):
        known = [*curve[-1:], *([] if score is None else [score])]
        curve += [max(known)] if known else []
    return curve


def swaps_by_rungs(swaps: Sequence[Row]) -> list[Rungs]:
    """Return a summary of the swaps between each pair of neighboring pools, from the coldest pair to the hottest."""
    pairs: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in swaps:
        pairs[row["cold_pool"], row["hot_pool"]].append(row)
    return [
        Rungs(
            *pair,
            events=len({row["iteration"] for row in rows}),
            tried=sum(not row["blocked"] for row in rows),
            accepted=sum(row["accepted"] for row in rows),
            blocked=sum(row["blocked"] for row in rows),
        )
        for pair, rows in sorted(pairs.items())
    ]


def requests_by_pool(llm_calls: Sequence[Row]) -> list[Requests]:
    """Return a summary of the requests to language models for each pool and model."""
    groups: defaultdict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in llm_calls:
        groups[row["pool"], row["model"]].append(row)
    return [
        Requests(
            pool,
            model,
            sum((Usage(1, row["prompt_tokens"], row["completion_tokens"], row["cost_usd"]) for row in rows), Usage()),
            Counter(row["outcome"] for row in rows),
            sum(row["cached"] for row in rows),
        )
        for (pool, model), rows in sorted(groups.items())
    ]


def xi_curve(log: Log) -> list[float]:
    """Return the values of ξ: first its value in the first exchange, then its value after each exchange.

    ξ is the power to which the Metropolis acceptance ratio of a swap between pools is raised. The list is empty if the
    swap rule has no ξ, or if no exchange has taken place yet.
    """
    after = dict(zip(log.adaptation["iteration"], log.adaptation["xi"], strict=True))
    return [*log.swaps["xi"][:1], *after.values()] if after else []


def errors_by_kind(attempts: Columns) -> list[Kind]:
    """Return the errors of rejected attempts and failed evaluations, grouped by reason, the most frequent first."""
    errors, failed = attempts["error"], set(find_failed(attempts))
    by_reason: dict[str, list[int]] = defaultdict(list)
    for at, outcome in enumerate(attempts["outcome"]):
        if outcome == Outcome.REJECTED or at in failed:
            by_reason[(errors[at] or "no reason given").partition(":")[0]].append(at)
    kinds = []
    for reason, places in by_reason.items():
        n_failed = len(failed.intersection(places))
        kinds.append(Kind(reason, len(places) - n_failed, n_failed, row_at(attempts, places[0])))
    return sorted(kinds, key=lambda kind: (-kind.rejected - kind.failed, kind.reason))


def tell_apart(genotypes: Sequence[str | None]) -> list[str]:
    """Return genotypes without the lines that all genotypes of several lines have, such as their imports."""
    texts = [genotype or "" for genotype in genotypes]
    lines = [set(text.splitlines()) for text in set(texts) if "\n" in text]
    shared = set.intersection(*lines) if len(lines) > 1 else set()
    return ["\n".join(line for line in text.splitlines() if line not in shared) for text in texts]


def thin(values: Sequence[Value], n_most: int) -> list[Value]:
    """Return at most ``n_most`` of the values, evenly spaced, including the first and the last."""
    if len(values) <= n_most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (n_most - 1))] for place in range(n_most)]
