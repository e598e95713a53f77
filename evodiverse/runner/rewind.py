"""The checkpoint of an earlier iteration, made again from the log."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from evodiverse.ports import Row
from evodiverse.runner.rows import checkpoint, refill_archive
from evodiverse.runner.surrogate import is_due
from evodiverse.search.adaptation import Thermostat, adapt_xi
from evodiverse.search.archive import Archive
from evodiverse.search.settings import Method, Search
from evodiverse.search.state import Progress, State
from evodiverse.search.stopping import count_progress
from evodiverse.vocabulary import Usage

Rows = Sequence[Mapping[str, Any]]


def find_uncut(evaluations: Rows, last: int, slots: int, oracle_calls: int) -> int:
    """Return the last iteration that a budget did not cut: until then a run of a larger one is the same.

    Args:
        evaluations: The rows of the run, with ``iteration`` and ``call``.
        last: The last iteration committed.
        slots: Offspring of an iteration in all pools.
        oracle_calls: The budget.
    """
    charged = _count_charged(evaluations)
    n_calls = charged[0]
    for iteration in range(1, last + 1):
        if oracle_calls - n_calls < slots:
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
) -> dict[str, object] | None:
    """Return what the checkpoint of an iteration held, None where the log does not say what was spent on a model.

    Args:
        iteration: The iteration.
        evaluations: The rows of the run up to it; so are the others.
        populations: With ``iteration``, ``pool`` and ``members``.
        adaptation: With ``iteration`` and ``rate``.
        llm_calls: With ``pool``, ``prompt_tokens``, ``completion_tokens`` and ``cost_usd``.
        method: Of the run.
        search: Of the run.
    """
    archive = Archive(search.early_stop.top if search.early_stop else 0)
    by_iteration: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in evaluations:
        by_iteration[row["iteration"]].append(row)
    progress, n_fitted = Progress(), 0
    for now in range(iteration + 1):
        if now and method.screen is not None and is_due(archive.n_calls, n_fitted):
            n_fitted = archive.n_calls
        rows = by_iteration[now]
        refill_archive(archive, rows, ())
        charged, top_mean = any(row["call"] is not None for row in rows), archive.top_mean()
        if now:
            progress = count_progress(progress, charged=charged, top_mean=top_mean, search=search)
        else:
            progress = Progress(top_mean=top_mean)
    thermostat = Thermostat(method.swap.xi)
    rates = {row["iteration"]: row["rate"] for row in adaptation}  # an event has one rate, in a row for each pair
    for event in sorted(rates):
        thermostat, _ = adapt_xi(thermostat, rates[event], method.swap)
    members = {row["pool"]: row["members"] for row in populations if row["iteration"] == iteration}
    pools = tuple(np.array(members[pool], dtype=np.int64) for pool in range(method.n_pools))
    ledger = _count_spent(llm_calls, method.n_pools)
    if ledger is None:
        return None
    state = State(iteration, pools, thermostat, progress)
    seconds = sum(row["seconds"] or 0.0 for row in evaluations)
    saved = checkpoint(state, archive, {"wall": seconds, "operator": 0.0, "oracle": seconds})
    return saved | {"ledger": ledger, "cap": None, "n_fitted": n_fitted}


def _count_charged(evaluations: Rows) -> dict[int, int]:
    charged: dict[int, int] = defaultdict(int)
    for row in evaluations:
        charged[row["iteration"]] += row["call"] is not None
    return charged


def _count_spent(llm_calls: Rows, n_pools: int) -> Row | None:
    """Return how the ledger stood after these requests, None if the size or the price of one is not known."""
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
