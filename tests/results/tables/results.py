"""Runs with chosen metrics, for tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evodiverse.results.tables.layout import Column, Layout, Row
from evodiverse.results.tables.results import Result, read_result
from evodiverse.runlog.log import Measurement
from evodiverse.runlog.runs import Run
from tests.results.builders import make_record

EQUATIONS = "evodiverse.tasks.equations"


def result(
    metrics: Measurement,
    task: str = "jnk3",
    method: str = "pt",
    llm: str = "off",
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    more: Mapping[str, Any] | None = None,
    **settings: object,
) -> Result:
    """Return a complete run with these metrics; ``more`` are changes of its record."""
    record = make_record(
        overrides=overrides, task__name=task, method__name=method, llm__name=llm, seed=seed, **settings
    )
    path = Path(task, method, llm, *(f"{key}={value}" for key, value in (overrides or {}).items()), f"seed{seed}")
    return read_result(Run(path, {**record, **(more or {})}), metrics)


def equation(
    metrics: Measurement, problem: str = "builtin/reaction1", method: str = "pt", seed: int = 0, **more: Any
) -> Result:
    """Return a complete run on a problem of equations with these metrics."""
    overrides = {"task.problem": problem, **more.pop("overrides", {})}
    settings = {"task__domain": EQUATIONS, "task__fit": "bfgs", **more}
    return result(metrics, "equation", method, seed=seed, overrides=overrides, **settings)


def layout(rows: Sequence[Row], columns: Sequence[Column] = (Column("score", "score"),), **more: Any) -> Layout:
    """Return the layout of a table of the paper, whose runs are those of the experiment ``these``."""
    head = ("target", "method")[-len(rows[0].of) :]
    more = {"llm": ("off",), "experiment": "these", **more}
    return Layout("table", "A table", head, tuple(columns), rows=tuple(rows), **more)
