"""Run directories with a log chosen by the test."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evodiverse.runlog.datasets import COLUMNS, DATASETS
from evodiverse.runlog.log import Log
from evodiverse.runlog.runs import Run, survey_runs

Row = Mapping[str, object]

NOTHING: Mapping[str, object] = {"int64": 0, "float64": 0.0, "string": "", "bool": False, "list of int64": []}

SETTINGS = {
    "task.domain": "evodiverse.tasks.molecules",
    "task.name": "jnk3",
    "method.name": "pt",
    "llm.name": "off",
    "llm.model": None,
    "method.ladder": [0.8, 0.2],
    "method.offspring": 2,
    "method.capacity": 120,
    "method.parents": 2,
    "budget.oracle_calls": 12,
    "seed": 0,
}


def columns(rows: Sequence[Row]) -> dict[str, list[object]]:
    """Return the columns of rows that all have those of the first."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def write_parts(path: Path, dataset: str, parts: Sequence[Sequence[Row]]) -> None:
    """Write a dataset of a run directory, one part for each of ``parts``.

    Columns of a task's own are texts or numbers, as their first values. What rows do not name is null, or `NOTHING`
    where a run always has a value.
    """
    (path / dataset).mkdir(parents=True, exist_ok=True)
    values = {name: row[name] for rows in reversed(parts) for row in reversed(rows) for name in row}
    own = {
        name: pa.string() if isinstance(value, str) else pa.float64()
        for name, value in values.items()
        if name not in DATASETS[dataset].names
    }
    schema = pa.schema([*DATASETS[dataset], *own.items()])
    always = {name: NOTHING[column.type] for name, column in COLUMNS[dataset].columns.items() if not column.null_if}
    for number, rows in enumerate(parts):
        table = pa.Table.from_pylist([always | dict(row) for row in rows], schema=schema)
        pq.write_table(table, path / dataset / f"part-{number:06d}.parquet")


def make_record(status: str = "complete", overrides: Row | None = None, **settings: object) -> dict[str, Any]:
    """Return the content of a ``run.json``.

    Args:
        status: How the run stands.
        overrides: In what it differs from the defaults; these are settings too.
        settings: Changes of `SETTINGS`, with two underscores for a dot.
    """
    changed = {name.replace("__", "."): value for name, value in settings.items()}
    overrides = dict(overrides or {})
    return {"status": status, "settings": SETTINGS | changed | overrides, "overrides": overrides}


def write_record(path: Path, status: str = "complete", overrides: Row | None = None, **settings: object) -> None:
    """Write a ``run.json``, see `make_record`."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "run.json").write_text(json.dumps(make_record(status, overrides, **settings)))


def make_log(
    attempts: Sequence[Row] = (),
    states: Sequence[Sequence[Sequence[int]]] = (),
    swaps: Sequence[Row] = (),
    llm_calls: Sequence[Row] = (),
    **settings: object,
) -> Log:
    """Return a log in memory.

    Args:
        attempts: Rows of evaluations; what they do not name is null.
        states: The members of each pool after iteration 0, 1, …
        swaps: Rows of swaps.
        llm_calls: Rows of requests.
        settings: Changes of `SETTINGS`, with two underscores for a dot.
    """

    def columns(dataset: str, rows: Sequence[Row]) -> dict[str, list[Any]]:
        names = {*DATASETS[dataset].names, *(name for row in rows for name in row)}
        return {name: [row.get(name) for row in rows] for name in names}

    run = Run(Path("run"), make_record(**settings))
    rows = {"swaps": swaps, "migrations": (), "adaptation": (), "llm_calls": llm_calls}
    others = {name: columns(name, rows[name]) for name in rows}
    return Log(run=run, attempts=columns("evaluations", attempts), states=states, **others)


def initial_row(call: int, key: str, score: float) -> Row:
    """Return a row of an initial candidate."""
    return evaluated_row(0, call, key, score)


def evaluated_row(iteration: int, call: int, key: str, score: float | None) -> Row:
    """Return a row of a charged attempt."""
    return {"iteration": iteration, "outcome": "evaluated", "call": call, "key": key, "score": score}


def swap_row(*, accepted: bool, blocked: bool = False) -> Row:
    """Return a row of a swap."""
    return {"iteration": 5, "cold_pool": 0, "hot_pool": 1, "accepted": accepted, "blocked": blocked, "xi": 2.5}


def write_run(
    path: Path,
    scores: Mapping[str, float],
    populations: Sequence[Sequence[Sequence[int]]],
    swaps: Sequence[Row] = (),
    **settings: object,
) -> Run:
    """Write a complete run and find it.

    Args:
        path: The run directory.
        scores: Initial molecules with their scores; they are calls 1, 2, …
        populations: The members of each pool at iteration 0, 1, …
        swaps: Rows of swaps.
        settings: Changes of `SETTINGS`, with two underscores for a dot.
    """
    write_record(path, **settings)
    rows = [initial_row(call, key, score) for call, (key, score) in enumerate(scores.items(), start=1)]
    write_parts(path, "evaluations", [rows])
    pools = [
        [{"iteration": iteration, "pool": pool, "members": members} for pool, members in enumerate(state)]
        for iteration, state in enumerate(populations)
    ]
    write_parts(path, "populations", pools)
    write_parts(path, "swaps", [swaps])
    for dataset in ("migrations", "adaptation", "llm_calls"):
        write_parts(path, dataset, [[]])
    (run,) = survey_runs(path).complete
    return run


def write_staged(path: Path) -> None:
    """Write a run of two programs in stages, of which the second has failed in the first stage."""
    write_record(path, task__domain="evodiverse.tasks.programs")
    first = {"valid": True, "genotype": "a = 1", "feedback": "<b>\n\x1b[31m", "stage": "full", "length": 7.5}
    second = {"genotype": "b = 2", "error": "below_threshold: it", "output": "oh", "stage": "quick"}
    times = ({"seconds_quick": 0.5, "seconds_full": 3.0}, {"seconds_quick": 0.25})
    rows = [evaluated_row(0, 1, "a", 0.5) | first | times[0], evaluated_row(0, 2, "b", 0.0) | second | times[1]]
    for name in DATASETS:
        write_parts(path, name, [rows if name == "evaluations" else []])
