"""How a run went, in numbers counted from its log."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from evodiverse.runlog.log import Columns, Log, Row, row_at
from evodiverse.vocabulary import Outcome, Usage

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
    used: Usage
    outcomes: Mapping[str, int]
    cached: int


@dataclass(frozen=True, slots=True)
class Kind:
    """Errors of one reason: attempts rejected for it, evaluations that failed for it, and the first of them."""

    reason: str
    rejected: int
    failed: int
    example: Row


def find_failed(attempts: Columns) -> list[int]:
    """Return the places of the charged evaluations without a score."""
    outcomes, scores = attempts["outcome"], attempts["score"]
    return [at for at, score in enumerate(scores) if score is None and outcomes[at] == Outcome.EVALUATED]


def best_candidates(attempts: Columns) -> list[Row]:
    """Return the evaluations with the highest scores, best first, the older first of two with one score."""
    calls, scores = attempts["call"], attempts["score"]
    scored = ((-score, calls[at], at) for at, score in enumerate(scores) if score is not None and calls[at] is not None)
    return [row_at(attempts, at) for _, _, at in nsmallest(N_BEST, scored)]


def best_so_far(attempts: Columns) -> list[float]:
    """Return the highest score up to each iteration, from the first that has one."""
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
            sum((Usage(1, row["prompt_tokens"], row["completion_tokens"], row["cost_usd"]) for row in rows), Usage()),
            Counter(row["outcome"] for row in rows),
            sum(row["cached"] for row in rows),
        )
        for (pool, model), rows in sorted(groups.items())
    ]


def xi_curve(log: Log) -> list[float]:
    """Return ξ at the first exchange and after each; empty where the rule has none to adapt."""
    after = dict(zip(log.adaptation["iteration"], log.adaptation["xi"], strict=True))
    return [*log.swaps["xi"][:1], *after.values()] if after else []


def errors_by_kind(attempts: Columns) -> list[Kind]:
    """Return the reasons of rejected attempts and of evaluations without a score, the most frequent first."""
    errors, failed = attempts["error"], set(find_failed(attempts))
    found: dict[str, list[int]] = defaultdict(list)
    for at, outcome in enumerate(attempts["outcome"]):
        if outcome == Outcome.REJECTED or at in failed:
            found[(errors[at] or "no reason given").partition(":")[0]].append(at)
    kinds = []
    for reason, places in found.items():
        n_failed = len(failed.intersection(places))
        kinds.append(Kind(reason, len(places) - n_failed, n_failed, row_at(attempts, places[0])))
    return sorted(kinds, key=lambda kind: (-kind.rejected - kind.failed, kind.reason))
