"""Runs that continue the log of an earlier run whose budget was smaller."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from evodiverse.errors import EvoDiverseError, InputError
from evodiverse.ports import Row, Task
from evodiverse.runlog.parts import check_parts
from evodiverse.runlog.record import PRICES, RECORD
from evodiverse.runlog.standing import read_standing
from evodiverse.runner.rows import EVALUATION_COLUMNS, checkpoint, empty_archive, journal_record, refill_archive
from evodiverse.search.adaptation import Thermostat, adapt_xi
from evodiverse.search.repair import choose_repairs
from evodiverse.search.screening import is_due
from evodiverse.search.settings import Method, Search
from evodiverse.search.state import Progress, State
from evodiverse.search.stopping import count_progress
from evodiverse.settings.plan import Plan
from evodiverse.settings.schema import Config
from evodiverse.store.files import Journal, read_json
from evodiverse.store.record import BUDGET, Identity, is_shorter, package_versions, read_record, tell_change
from evodiverse.store.run_directory import JOURNAL, RunDirectory
from evodiverse.text import count_of
from evodiverse.vocabulary import CHARGED, Evaluation, Hypothesis, Usage

Rows = Sequence[Mapping[str, Any]]

_LOG = logging.getLogger("evodiverse.settings")
_OVER: Final = ("complete", "interrupted", "failed", "killed")
_ROWS: Final = {
    "populations": ("iteration", "pool", "members", "seconds"),
    "adaptation": ("iteration", "rate"),
    "llm_calls": ("iteration", "pool", "prompt_tokens", "completion_tokens", "cost_usd"),
}


def begin_from_shorter(
    this: Identity,
    plan: Plan,
    directory: RunDirectory,
    task: Task,
    prices: Mapping[str, Any] | None,
    replaced: Path | None = None,
) -> Mapping[str, Any]:
    """Fill the directory of a new run with the results of a run with a smaller budget, and return a note about it.

    The log will be the same as that of a run from scratch: only the iterations that the smaller budget did not cut
    short are taken over. The smaller run's evaluations after them go into the journal, so that nothing is evaluated
    twice.

    Args:
        this: The identity of the new run.
        plan: The plan of the new run.
        directory: The directory of the new run, in which nothing is committed yet.
        task: The task of the new run.
        prices: The prices of its models, as in ``prices.json``, if its log depends on them.
        replaced: The folder of the run with a smaller budget whose place the new run takes; None to look for one among
            the other runs.

    Returns:
        The entries to add to ``run.json``; empty if there is no suitable shorter run.

    Raises:
        InputError: The run in ``replaced`` cannot be continued.
    """
    versions = package_versions(plan.libraries)
    if replaced is not None:
        return _take_place(this, plan, directory, task, prices, replaced, versions)
    shorter, unfit = _find_shorter(this, plan.shelf, versions)
    for budget, path in shorter:
        try:
            n_taken, n_aside = _take_over(path, budget, directory, task, plan.config, prices)
        except EvoDiverseError as error:
            _LOG.warning("this run cannot continue %s (%s)", path, error)
            continue
        _tell(n_taken, n_aside, path)
        return {"begun_from": {"path": str(path), "oracle_calls": n_taken}}
    if unfit is not None:
        _LOG.info("starts from scratch, since %s", unfit)
    return {}


def _tell(n_taken: int, n_aside: int, path: Path) -> None:
    aside = f", and reuses {count_of(n_aside, 'more evaluation')}" if n_aside else ""
    _LOG.info("starts with the first %s of %s%s", count_of(n_taken, "call"), path, aside)


def _take_place(
    this: Identity,
    plan: Plan,
    directory: RunDirectory,
    task: Task,
    prices: Mapping[str, Any] | None,
    replaced: Path,
    versions: Mapping[str, str],
) -> Mapping[str, Any]:
    record = read_record(replaced) or {}
    budget = record["settings"][BUDGET]
    try:
        if difference := _tell_difference(record, this, versions):
            raise InputError(f"it {difference}")  # noqa: TRY301 (reported with the others)
        n_taken, n_aside = _take_over(replaced, budget, directory, task, plan.config, prices)
        directory.journal.append(Journal(replaced / JOURNAL).read())
    except InputError as error:
        raise InputError(
            f"{plan.path} cannot get a larger budget ({error}); use name=…, outputs=… or overwrite=true"
        ) from error
    _tell(n_taken, n_aside, plan.path)
    return {"grown": [*record.get("grown", []), {"budget": budget, "oracle_calls": n_taken}]}


def _find_shorter(
    this: Identity, shelf: Path, versions: Mapping[str, str]
) -> tuple[list[tuple[int, Path]], str | None]:
    """Return the runs that have ended and differ from ``this`` only by a smaller budget, with it, largest budget first.

    The second result says why a run that has the same settings, apart from its smaller budget, is not among them; of
    several such runs, the one with the largest budget is described. It is None if there is no such run.
    """
    found: list[tuple[int, Path]] = []
    unfit: dict[int, str] = {}
    for path in shelf.glob(f"*/seed{this.settings['seed']}/{RECORD}"):
        try:
            record = read_record(path.parent)
        except InputError:
            continue
        if record is None:
            continue
        budget = record["settings"][BUDGET]
        if not is_shorter(this, record) or read_standing(path.parent).state not in _OVER:
            continue
        difference = _tell_difference(record, this, versions)
        if difference is None:
            found.append((budget, path.parent))
        else:
            unfit[budget] = f"{path.parent} {difference}"
    return sorted(found, reverse=True), unfit[max(unfit)] if unfit else None


def _tell_difference(record: Mapping[str, Any], this: Identity, versions: Mapping[str, str]) -> str | None:
    """Return how a run was made with other data or code than ``this``, or None if it was not."""
    sources = {role: source.sha256 for role, source in this.sources.items()}
    if roles := {role for role, _ in sources.items() ^ record["sources"].items()}:
        return f"was made with other data or code ({', '.join(sorted(roles))})"
    if "corrected" in record:
        return "was continued with changed code"
    change = tell_change(record["versions"], versions)
    return None if change is None else "was made with {}, now it is {}".format(*change)


def _take_over(
    path: Path, budget: int, directory: RunDirectory, task: Task, config: Config, prices: Mapping[str, Any] | None
) -> tuple[int, int]:
    """Take over the log of another run.

    Return the number of oracle calls in the part of the log that was taken over, and the number of the other
    evaluations. These are written to the journal, from which the new run reads them instead of evaluating again.
    """
    if prices is not None and read_json(path / PRICES) != prices:
        raise InputError("its models had other prices")
    source = RunDirectory(path, directory.columns, is_read_only=True)
    saved = source.checkpoint()
    if saved is None:
        raise InputError("it has not finished an iteration")
    last = int(saved["iteration"])
    check_parts(source.path, last)
    details = list(task.columns)
    rows = source.rows("evaluations", [*EVALUATION_COLUMNS, "seconds", *details])
    n_free = sum(row.get(CHARGED) is False for row in rows)
    uncut = find_uncut(rows, last, config.method.size, budget + n_free)
    kept = [row for row in rows if row["iteration"] <= uncut]
    found = {name: source.rows(name, columns) for name, columns in _ROWS.items()}
    until = {name: [row for row in some if row["iteration"] <= uncut] for name, some in found.items()}
    # With a lag, an iteration may have fewer slots since those of others were open, which the log does not say.
    lagged = config.search.lag > 0
    again = None if lagged else rewind(uncut, {"evaluations": kept, **until}, config.method, config.search)
    aside = [row for row in rows if row["call"] is not None and (again is None or row["iteration"] > uncut)]
    directory.journal.append([_as_record(row, details) for row in aside])
    if again is None:
        return 0, len(aside)
    # The evaluations set aside will not be made again, so their time counts already here.
    times = again["seconds"]
    aside_seconds = found["populations"][-1]["seconds"]["oracle"] - times["oracle"]
    again["seconds"] = times | {part: times[part] + aside_seconds for part in ("wall", "oracle")}
    directory.take_over(source, uncut, again)
    return sum(row["call"] is not None for row in kept), len(aside)


def _as_record(row: Mapping[str, Any], details: Sequence[str]) -> Mapping[str, object]:
    found = {name: row[name] for name in details if row[name] is not None}
    evaluation = Evaluation(row["score"], row["energy"], valid=row["valid"], error=row["error"] or "", details=found)
    return journal_record(Hypothesis(row["genotype"], row["key"]), evaluation, row["seconds"] or 0.0)


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


def rewind(iteration: int, logged: Mapping[str, Rows], method: Method, search: Search) -> dict[str, Any] | None:
    """Return the checkpoint of an iteration, from which a run with a larger budget can continue.

    If the log does not say what was spent on a model up to this iteration, or how long the run took, the result is
    None.

    Args:
        iteration: The iteration to return to.
        logged: All rows up to this iteration, and no later ones, of the dataset ``evaluations``, with
            `EVALUATION_COLUMNS`, and of those in `_ROWS`, with the columns named there.
        method: The method of the run.
        search: The search settings of the run.
    """
    archive = empty_archive(search)
    by_iteration: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in logged["evaluations"]:
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
    rates = {row["iteration"]: row["rate"] for row in logged["adaptation"]}  # each row of an event repeats its rate
    for event in sorted(rates):
        thermostat, _ = adapt_xi(thermostat, rates[event], method.swap)
    last = {row["pool"]: row for row in logged["populations"] if row["iteration"] == iteration}
    pools = tuple(np.array(last[pool]["members"], dtype=np.int64) for pool in range(method.n_pools))
    ledger, times = _count_spent(logged["llm_calls"], method.n_pools), last[0]["seconds"]
    if ledger is None or times is None:
        return None
    tried = sorted(
        (row["call"], row["pool"], row["parents"]) for row in by_iteration[iteration] if row["call"] is not None
    )
    repairs = choose_repairs([(pool, call, parents) for call, pool, parents in tried], archive, method)
    state = State(iteration, pools, thermostat, progress, repairs if search.repair else ())
    saved = checkpoint(state, archive, times)
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
