"""How a run went, in numbers counted from its log."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evodiverse.runlog.log import Log, Row
from evodiverse.vocabulary import Outcome, Tally

N_BEST = 10


@dataclass(frozen=True, slots=True)
class Rungs:
    """The swaps between two neighbors on the ladder: in how many events, and how many of them ended how.

    ``tried`` are those not blocked.
    """

    cold_pool: int
    hot_pool: int
    events: int
    tried: int
    accepted: int
    blocked: int


@dataclass(frozen=True, slots=True)
class Requests:
    """What one model was asked for one pool; ``used`` sums it, ``cached`` of its calls had been bought before."""

    pool: int
    model: str
    used: Tally
    outcomes: Mapping[str, int]
    cached: int


@dataclass(frozen=True, slots=True)
class Kind:
    """Errors of one reason: attempts rejected for it, evaluations that failed for it, and the first of them."""

    reason: str
    rejected: int
    failed: int
    example: Row


def has_failed(row: Row) -> bool:
    """Return whether a row of ``evaluations`` is a charged evaluation without a score."""
    return row["outcome"] == Outcome.EVALUATED and row["score"] is None


def best_candidates(evaluations: Sequence[Row]) -> list[Row]:
    """Return the evaluations with the highest scores, best first, the older first of two with one score."""
    scored = [row for row in evaluations if row["call"] is not None and row["score"] is not None]
    return sorted(scored, key=lambda row: (-row["score"], row["call"]))[:N_BEST]


def best_so_far(evaluations: Sequence[Row]) -> list[float]:
    """Return the highest score up to each iteration, from the first that has one."""
    by_iteration: dict[int, list[float]] = defaultdict(list)
    for row in evaluations:
        by_iteration[row["iteration"]] += [] if row["score"] is None else [row["score"]]
    curve: list[float] = []
    for iteration in sorted(by_iteration):
        best = max([*curve[-1:], *by_iteration[iteration]], default=None)
        curve += [] if best is None else [best]
    return curve


def swaps_by_rungs(swaps: Sequence[Row]) -> list[Rungs]:
    """Return how the swaps between each two rungs went, from cold to hot."""
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
    """Return what was asked of language models, by pool and model."""
    groups: defaultdict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in llm_calls:
        groups[row["pool"], row["model"]].append(row)
    return [
        Requests(
            pool,
            model,
            sum((Tally(1, row["prompt_tokens"], row["completion_tokens"], row["cost_usd"]) for row in rows), Tally()),
            Counter(row["outcome"] for row in rows),
            sum(row["cached"] for row in rows),
        )
        for (pool, model), rows in sorted(groups.items())
    ]


def xi_curve(log: Log) -> list[float]:
    """Return ξ at the first exchange and after each; empty where the rule has none to adapt."""
    after = dict(zip(log.adaptation["iteration"], log.adaptation["xi"], strict=True))
    return [*log.swaps["xi"][:1], *after.values()] if after else []


def errors_by_kind(evaluations: Sequence[Row]) -> list[Kind]:
    """Return the reasons of rejected attempts and of evaluations without a score, the most frequent first."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in evaluations:
        if row["outcome"] == Outcome.REJECTED or has_failed(row):
            found[(row["error"] or "no reason given").partition(":")[0]].append(row)
    kinds = [
        Kind(reason, sum(not has_failed(row) for row in rows), sum(map(has_failed, rows)), rows[0])
        for reason, rows in found.items()
    ]
    return sorted(kinds, key=lambda kind: (-kind.rejected - kind.failed, kind.reason))
