"""Conversions between records of the search core and rows of the log."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from math import isnan
from typing import Any

import numpy as np

from evodiverse.ports import Row
from evodiverse.search.adaptation import Thermostat
from evodiverse.search.archive import Archive
from evodiverse.search.exchange import Migration, SwapTrial
from evodiverse.search.settings import Search
from evodiverse.search.state import Adaptation, Attempt, IterationInfo, Progress, Screened, State
from evodiverse.vocabulary import Evaluation, Hypothesis, Outcome


def log_rows(
    info: IterationInfo, ladder: Sequence[float], seconds: Mapping[int, float], times: Mapping[str, float]
) -> dict[str, list[Row]]:
    """Return the rows of one iteration, by dataset.

    Args:
        info: The record of the iteration.
        ladder: The inverse temperature of each pool.
        seconds: The duration of each oracle call in seconds, by the number of the call.
        times: The value of `Clock.seconds` after the iteration.
    """
    iteration = {"iteration": info.iteration}
    return {
        "evaluations": [_attempt_row(attempt, seconds) for attempt in info.attempts],
        "populations": [
            iteration | {"pool": pool, "beta": beta, "members": members.tolist(), "seconds": times}
            for pool, (beta, members) in enumerate(zip(ladder, info.pools, strict=True))
        ],
        "swaps": [_row(trial, info.iteration) for trial in info.trials],
        "migrations": [_row(migration, info.iteration) for migration in info.migrations],
        "adaptation": [_row(adaptation, info.iteration) for adaptation in info.adaptations],
        "screened": [_row(screened, info.iteration) for screened in info.screened],
    }


def _row(record: Attempt | SwapTrial | Migration | Adaptation | Screened, iteration: int) -> dict[str, Any]:
    """Return the fields of a record by name; unlike `dataclasses.asdict`, it copies no values."""
    return {"iteration": iteration} | {field.name: getattr(record, field.name) for field in fields(record)}


def _attempt_row(attempt: Attempt, seconds: Mapping[int, float]) -> Row:
    row = _row(attempt, attempt.iteration) | {
        "error": attempt.error or None,
        "seconds": None if attempt.call is None else seconds[attempt.call],
        "valid": attempt.outcome is not Outcome.REJECTED,
    }
    forecast, evaluation = row.pop("forecast"), row.pop("evaluation")
    if forecast is not None:
        row |= forecast._asdict()
    if evaluation is not None:
        row |= {"score": evaluation.score, "energy": evaluation.energy, "valid": evaluation.valid, **evaluation.details}
    return row


def checkpoint(state: State, archive: Archive, seconds: Mapping[str, float]) -> dict[str, object]:
    """Return the content of the checkpoint, except the number of the iteration.

    The checkpoint holds the state of the search, which `restore` reads, and shows how far the run has come. It does not
    hold the evaluations, which are in the log. The argument ``seconds`` has the keys of `Clock.seconds`.
    """
    best, top_mean = archive.best(), state.progress.top_mean
    return {
        "seconds": dict(seconds),
        "best_score": best.score if best else None,
        "oracle_calls": archive.n_calls - archive.n_free,
        **({"n_free": archive.n_free} if archive.n_free else {}),
        "pools": [pool.tolist() for pool in state.pools],
        "xi": state.thermostat.xi,
        "rates": list(state.thermostat.rates),
        "repairs": [list(calls) for calls in state.repairs],
        **asdict(state.progress),
        "top_mean": None if top_mean is None or isnan(top_mean) else top_mean,
    }


def restore(saved: Mapping[str, Any]) -> State:
    """Return the state of the search that a checkpoint describes.

    Args:
        saved: The mapping that `checkpoint` returned, with the key ``iteration`` added.
    """
    return State(
        iteration=saved["iteration"],
        pools=tuple(np.array(pool, dtype=np.int64) for pool in saved["pools"]),
        thermostat=Thermostat(saved["xi"], tuple(saved["rates"])),
        progress=Progress(**{field.name: saved[field.name] for field in fields(Progress)}),
        repairs=saved.get("repairs", ()),
    )


def empty_archive(search: Search) -> Archive:
    """Return an archive without candidates for a run with these settings."""
    return Archive(search.early_stop.top if search.early_stop else 0, keep_failed=search.keep_failed)


SWAP_COLUMNS = ("iteration", *(field.name for field in fields(SwapTrial)))
EVALUATION_COLUMNS = (
    *("iteration", "pool", "outcome", "call", "parents", "genotype", "key", "score", "energy", "valid", "error"),
)


def refill_archive(archive: Archive, rows: Sequence[Mapping[str, Any]], detail_columns: Sequence[str]) -> None:
    """Add the evaluations of logged rows to an archive, in the order of their calls.

    Args:
        archive: The archive, which must hold the evaluations of all oracle calls before those in ``rows``.
        rows: Rows of ``evaluations``, in any order.
        detail_columns: The task's own columns.
    """
    charged = [row for row in rows if row["outcome"] == Outcome.EVALUATED]
    for row in sorted(charged, key=lambda row: row["call"]):
        details = {name: row[name] for name in detail_columns if row[name] is not None}
        archive.reserve(row["key"], row["pool"] if row["iteration"] else -1)
        evaluation = Evaluation(row["score"], row["energy"], row["valid"], row["error"] or "", details)
        archive.record(Hypothesis(row["genotype"], row["key"]), evaluation)


def journal_record(hypothesis: Hypothesis, evaluation: Evaluation, seconds: float) -> Row:
    """Return the record of an evaluation for the journal; `read_record` reads it."""
    values = {field.name: getattr(evaluation, field.name) for field in fields(Evaluation)}
    return {"key": hypothesis.key, "seconds": seconds, **values, "details": dict(evaluation.details)}


def read_record(record: Mapping[str, Any]) -> tuple[Evaluation, float]:
    """Return the evaluation in a record of the journal, and the seconds that the record gives for it."""
    return Evaluation(**{field.name: record[field.name] for field in fields(Evaluation)}), record["seconds"]
