"""The checkpoint of an earlier iteration, rebuilt from the log, so that a run with a larger budget can begin there."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from evodiverse.ports import Row
from evodiverse.runner.rows import checkpoint, refill_archive
from evodiverse.search.adaptation import Thermostat, adapt_xi
from evodiverse.search.archive import Archive
from evodiverse.search.screening import is_due
from evodiverse.search.settings import Method, Search
from evodiverse.search.state import Progress, State
from evodiverse.search.stopping import count_progress
from evodiverse.vocabulary import Usage

Rows = Sequence[Mapping[str, Any]]


def find_uncut(evaluations: Rows, last: int, size: Callable[[int], int], oracle_calls: int) -> int:
    """Return the last iteration that the budget did not cut short.

    Up to this iteration, a run with a larger budget has the same log. Later iterations had fewer slots, since too few
    oracle calls were left.

    Args:
        evaluations: All rows of the dataset ``evaluations``, with at least ``iteration`` and ``call``.
        last: The last iteration committed.
        size: A function that returns the number of slots, over all pools, of an iteration that begins after a number of
            oracle calls.
        oracle_calls: The budget of the run.
    """
    charged = Counter(row["iteration"] for row in evaluations if row["call"] is not None)
    n_calls = charged[0]
    for iteration in range(1, last + 1):
        if oracle_calls - n_calls < size(n_calls):
            return iteration - 1
        n_calls += charged[iteration]
    return last


def rewind(
    iteration: int,
    evaluations: Rows,
    populations: Rows,
    adaptation: Rows,
    llm_calls: Rows,
    method: Method,
    search: Search,
) -> dict[str, Any] | None:
    """Return the checkpoint of an iteration, from which a run with a larger budget can continue.

    If the log does not say what was spent on a model up to this iteration, or how long the run took, the result is
    None. Each dataset must be given with all rows up to this iteration, and without later rows.

    Args:
        iteration: The iteration to return to.
        evaluations: Rows with `EVALUATION_COLUMNS`.
        populations: Rows with ``iteration``, ``pool``, ``members`` and ``seconds``.
        adaptation: Rows with ``iteration`` and ``rate``.
        llm_calls: Rows with ``pool``, ``prompt_tokens``, ``completion_tokens`` and ``cost_usd``.
        method: The method of the run.
        search: The search settings of the run.
    """
    archive = Archive(search.early_stop.top if search.early_stop else 0)
    by_iteration: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in evaluations:
        by_iteration[row["iteration"]].append(row)
    progress, n_rated = Progress(), 0
    for now in range(iteration + 1):
        n_calls = archive.n_calls
        if now and method.screen is not None and is_due(n_calls, n_rated, method.screen.apart):
            n_rated = n_calls
        rows = by_iteration[now]
        refill_archive(archive, rows, ())
        charged, top_mean = any(row["call"] is not None for row in rows), archive.top_mean()
        if now:
            n_slots = method.size(n_calls)
            progress = count_progress(progress, top_mean, n_slots, method.period, search, charged=charged)
        else:
            progress = Progress(top_mean=top_mean)
    thermostat = Thermostat(method.swap.xi)
    rates = {row["iteration"]: row["rate"] for row in adaptation}  # each row of an event repeats its rate
    for event in sorted(rates):
        thermostat, _ = adapt_xi(thermostat, rates[event], method.swap)
    last = {row["pool"]: row for row in populations if row["iteration"] == iteration}
    pools = tuple(np.array(last[pool]["members"], dtype=np.int64) for pool in range(method.n_pools))
    ledger, times = _count_spent(llm_calls, method.n_pools), last[0]["seconds"]
    if ledger is None or times is None:
        return None
    saved = checkpoint(State(iteration, pools, thermostat, progress), archive, times)
    return saved | {"ledger": ledger, "cap": None, "n_rated": n_rated}


def _count_spent(llm_calls: Rows, n_pools: int) -> Row | None:
    """Return the totals of all requests in ``llm_calls``, in the form that `Ledger.saved` returns.

    The result is None if the size or the price of one of the requests is unknown.
    """
    pools = [Usage()] * n_pools
    for row in llm_calls:
        used = (row["prompt_tokens"], row["completion_tokens"], row["cost_usd"])
        if None in used:
            return None
        pools[row["pool"]] += Usage(1, *used)
    total = sum(pools, Usage())
    return {
        **asdict(total),
        "pools": [asdict(usage) for usage in pools],
        "counted_tokens": (total.prompt_tokens or 0) + (total.completion_tokens or 0),
        "counted_usd": total.cost_usd,
    }
