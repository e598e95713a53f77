"""Summaries of a run, counted from its log, and comparisons of several runs by the settings in which they differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import nsmallest
from itertools import accumulate
from math import inf
from operator import itemgetter
from typing import Final, NamedTuple

from evodiverse.ports import Sheet
from evodiverse.results.grouping import group_by
from evodiverse.runlog.log import Columns, Log, Row, mean, row_at, rows
from evodiverse.runlog.runs import Run, write_setting
from evodiverse.vocabulary import Outcome, Usage

N_BEST = 10
_NAMES: Final = {"task.name": "task", "method.name": "method", "llm.name": "llm"}


class Requests(NamedTuple):
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


def find_failed(attempts: Columns) -> list[int]:
    """Return the indices of the evaluations that were counted as oracle calls and failed, with or without a score.

    ``attempts`` holds columns of the dataset ``evaluations``, and the indices are positions in them.
    """
    evaluated = [at for at, outcome in enumerate(attempts["outcome"]) if outcome == Outcome.EVALUATED]
    return [at for at in evaluated if attempts["score"][at] is None or not attempts["valid"][at]]


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
    best: dict[int, float] = {}
    for iteration, score in zip(attempts["iteration"], attempts["score"], strict=True):
        best[iteration] = max(best.get(iteration, -inf), -inf if score is None else score)
    return [highest for highest in accumulate(best.values(), max) if highest > -inf]


def swaps_by_pools(swaps: Columns) -> Sheet:
    """List the swaps of each pair of pools that are neighbors, from the coldest pair to the hottest.

    The columns are the pools and the numbers of exchanges, of pairs of candidates that were tried and accepted with the
    share of the latter, and of those that were blocked, because a pool would have held a candidate twice.
    """
    lines = []
    for pools, some in sorted(group_by(rows(swaps), itemgetter("cold_pool", "hot_pool")).items()):
        tried = [row["accepted"] for row in some if not row["blocked"]]
        events = len({row["iteration"] for row in some})
        lines.append(("{} ⇄ {}".format(*pools), events, len(tried), sum(tried), mean(tried), len(some) - len(tried)))
    return Sheet("swaps by pair of pools", ("pools", ">events", ">tried", ">accepted", ">rate", ">blocked"), lines)


def requests_by_pool(llm_calls: Columns) -> list[Requests]:
    """Return a summary of the requests to language models for each pool and model."""
    requests = []
    for (pool, model), some in sorted(group_by(rows(llm_calls), itemgetter("pool", "model")).items()):
        used = [Usage(1, row["prompt_tokens"], row["completion_tokens"], row["cost_usd"]) for row in some]
        outcomes, cached = Counter(row["outcome"] for row in some), sum(row["cached"] for row in some)
        requests.append(Requests(pool, model, sum(used, Usage()), outcomes, cached))
    return requests


def xi_curve(log: Log) -> list[float]:
    """Return the values of ξ: first its value in the first exchange, then its value after each exchange.

    ξ is the power to which the Metropolis acceptance ratio of a swap between pools is raised. The list is empty if the
    swap rule has no ξ, or if no exchange has taken place yet.
    """
    after = dict(zip(log.adaptation["iteration"], log.adaptation["xi"], strict=True))
    return [*log.swaps["xi"][:1], *after.values()] if after else []


def errors_by_reason(attempts: Columns) -> Sheet:
    """List the errors by reason, which is the message up to its first colon, the most frequent first.

    The columns are the reason, the numbers of rejected attempts and of failed evaluations, and the rest of the first
    such message with its genotype.
    """
    errors, failed = attempts["error"], {*find_failed(attempts)}
    places = [at for at, outcome in enumerate(attempts["outcome"]) if outcome == Outcome.REJECTED or at in failed]
    lines = []
    for reason, some in group_by(places, lambda at: (errors[at] or "no reason given").partition(":")[0]).items():
        n_failed, detail = len(failed.intersection(some)), (errors[some[0]] or "").partition(":")[2].strip()
        lines.append((reason, len(some) - n_failed, n_failed, detail, attempts["genotype"][some[0]]))
    lines.sort(key=lambda line: (-line[1] - line[2], line[0]))
    return Sheet("errors by reason", ("reason", ">rejected", ">failed", "example error", "genotype"), lines)


def tell_apart(genotypes: Sequence[str | None]) -> list[str]:
    """Return genotypes without the lines that all genotypes of several lines have, such as their imports."""
    texts = [genotype or "" for genotype in genotypes]
    lines = [set(text.splitlines()) for text in set(texts) if "\n" in text]
    shared = set.intersection(*lines) if len(lines) > 1 else set()
    return ["\n".join(line for line in text.splitlines() if line not in shared) for text in texts]


class Compared(NamedTuple):
    """A run in a comparison with others.

    Attributes:
        run: The run that is compared.
        differing: The run's values, as text, of the settings in which the compared runs differ, by the key of the
            setting. Three keys are shortened to ``task``, ``method`` and ``llm``.
        best: The highest score of the run; None if no candidate has a score.
    """

    run: Run
    differing: Mapping[str, str]
    best: float | None

    @property
    def name(self) -> str:
        """The run's task, method and model, what the user changed in which the runs differ, and the seed."""
        run, shown = self.run, {*_NAMES.values(), "seed"}
        changed = self.differing if self.run.overrides is None else self.run.overrides
        others = [f"{key}={value}" for key, value in self.differing.items() if key in changed and key not in shown]
        return " · ".join([run.task, run.method, run.llm, *others, f"seed {run.seed}"])


def compare(runs: Sequence[Run], best: Sequence[float | None]) -> list[Compared]:
    """Return an entry for each run, with the settings in which the runs differ, from the highest score to the lowest.

    Runs without a score come last.

    Args:
        runs: The runs to compare, at least one.
        best: The highest score of each run, in the order of ``runs``; None for a run without a score.
    """
    keys = differing_keys(runs)
    compared = [
        Compared(run, {_NAMES.get(key, key): _write(run, key) for key in keys}, score)
        for run, score in zip(runs, best, strict=True)
    ]
    return sorted(compared, key=lambda one: (one.best is None, -(one.best or 0.0), str(one.run.path)))


def differing_keys(runs: Sequence[Run]) -> list[str]:
    """Return the keys of the settings in which runs differ: task, method and model first, the seed last.

    Besides these four, the settings that a user changed in any run are considered. Settings that only follow from the
    choice of task, method and model are left out. But if all runs have the same task, method and model, or if a log
    does not record what the user changed, all settings except ``task.domain`` are considered.
    """
    changed = {key for run in runs for key in run.overrides or {}}
    known = {key for run in runs for key in run.settings}
    choices = [key for key in _NAMES if key in known]
    if any(run.overrides is None for run in runs) or _same(runs, choices):
        changed = known
    rest = sorted(changed - set(choices) - {"seed"} - {"task.domain"})
    return [key for key in [*choices, *rest, "seed"] if not _same(runs, [key])]


def _same(runs: Sequence[Run], keys: Sequence[str]) -> bool:
    return len({tuple(_write(run, key) for key in keys) for run in runs}) <= 1


def _write(run: Run, key: str) -> str:
    return write_setting(run.settings[key]) if key in run.settings else "–"
