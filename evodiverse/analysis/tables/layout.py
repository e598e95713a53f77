"""What each table is about: its rows, its columns, and the numbers that the paper reports.

``paper.yaml`` has the tables of the paper, ``found.yaml`` and the ``tables.yaml`` of each domain those of whatever runs
are found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from evodiverse.analysis.tables.models import OFF

_HERE: Final = Path(__file__).parent
FIT: Final = "task.fit"
"""The key of the way in which candidates are fitted."""


@dataclass(frozen=True, slots=True)
class Column:
    """A metric in a table.

    Attributes:
        title: What stands above it; an arrow says whether higher or lower is better.
        metric: Name of the metric.
        digits: Digits after the point.
        style: How its numbers are written: fixed, scientific, significant (three digits), precise (six digits),
            percent, setting (without a spread where all are the same), or overall (those of the pools, and their mean
            in brackets).
        llm: The model whose runs alone it is about, None for those of the table.
        group: What stands above the titles of several columns.
        test: Which test of the difference it shows (t, bootstrap, permutation) instead of the metric, if any.
        extra: Whether it is ours alone, without a number of the paper beside it.
        unlike: The metric that it is a variant of. It is shown only where it differs from that by more than 0.01.
        note: What a reader must know where it is shown.
        median: Whether the median over the runs stands for the mean.
        needs: What runs must have for it, if that is not certain.
    """

    title: str
    metric: str
    digits: int = 2
    style: str = "fixed"
    llm: str | None = None
    group: str | None = None
    test: str | None = None
    extra: bool = False
    unlike: str | None = None
    note: str | None = None
    median: bool = False
    needs: str | None = None

    @property
    def full_title(self) -> str:
        """The title with that of its group."""
        return self.title if self.group is None else f"{self.group}: {self.title}"


@dataclass(frozen=True, slots=True)
class Row:
    """Which runs stand in a row of a table of the paper, and what it reports of its own.

    Attributes:
        of: What stands at the head of the row.
        task: Name of the task.
        method: Name of the method.
        science: Which problems of equations; None for all, and for other tasks.
        fit: How the parameters of equations are fitted; None for any, and for other tasks.
        domain: The package of the task's domain, where it has problems to choose from.
        overrides: The settings that differ from what task, method and llm compose to, beside the problem.
        against: The method that ``method`` is compared with, in a table of tests.
        paper: The reported cells of the columns that are not extra, as text.
    """

    of: tuple[str, ...]
    task: str
    method: str
    science: str | None = None
    fit: str | None = None
    domain: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    against: str | None = None
    paper: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """The file in ``conf/experiment/`` whose sweep makes all runs of a table.

    Attributes:
        name: Of the file.
        models: The models that it asks.
        fit: Its way of fitting, None where that makes no rows.
        task: The only task that is wanted of it, None for all.
    """

    name: str
    models: frozenset[str]
    fit: str | None = None
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark of many tasks, and what others published on it; its table has a column for each method.

    Attributes:
        metric: What it compares.
        budget: The oracle calls of a run that counts.
        methods: Whose published values it has.
        uncounted: What each of these evaluated outside the count of calls, as text.
        tasks: The published values, mean ± sample standard deviation as text, by task.
        totals: The sums over all tasks, as published.
        experiment: The file in ``conf/experiment/`` whose sweep makes the runs.
    """

    metric: str
    budget: int
    methods: tuple[str, ...]
    uncounted: tuple[str, ...]
    tasks: Mapping[str, tuple[str, ...]]
    totals: tuple[str, ...]
    experiment: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A table without our numbers.

    Attributes:
        name: Of its files.
        title: What it is about.
        head: What stands above the heads of the rows.
        columns: The metrics.
        llm: The models whose runs fill it; runs of others fill a table of the same form. Empty for runs of any.
        rows: The rows of a table of the paper.
        kind: Of what metrics a table of all runs found is; None for one of the paper.
        notes: What a reader must know.
        fit: The way of fitting that the paper's numbers stand next to, where each has rows of its own.
        has_problems: Whether a table of all runs says of each row how many problems and which way of fitting it has.
        is_filled_later: Whether what it shows is made after the runs, so that runs alone do not fill it.
        label: What LaTeX refers to it by.
        experiment: What makes its runs, None where no file does.
        benchmark: What it compares runs on, None for a table of anything else.
    """

    name: str
    title: str
    head: tuple[str, ...]
    columns: tuple[Column, ...]
    llm: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    kind: str | None = None
    notes: tuple[str, ...] = ()
    fit: str | None = None
    has_problems: bool = False
    is_filled_later: bool = False
    label: str = ""
    experiment: Experiment | None = None
    benchmark: Benchmark | None = None

    @property
    def is_about_models(self) -> bool:
        """Whether its runs have a language model."""
        return bool(self.llm) and OFF not in self.llm

    def for_task(self, task: str | None) -> "Layout":
        """Return the part of it that is about one task, None for all."""
        rows = tuple(row for row in self.rows if task in (None, row.task))
        experiment = self.experiment
        if experiment is not None and self.llm and len(rows) < len(self.rows):
            experiment = replace(experiment, task=task)
        return replace(self, rows=rows, experiment=experiment)

    def admits(self, model: str) -> bool:
        """Return whether runs of a model fill it."""
        return not self.llm or model in self.llm


@lru_cache
def paper_layouts() -> tuple[Layout, ...]:
    """Return the tables of the paper."""
    return _read(_HERE / "paper.yaml")


@lru_cache
def found_layouts(*files: Path) -> tuple[Layout, ...]:
    """Return the tables of the runs that are found: those in the files of their domains, and those of every search."""
    return tuple(layout for file in files for layout in _read(file)) + _read(_HERE / "found.yaml")


def _read(file: Path) -> tuple[Layout, ...]:
    tables = yaml.safe_load(file.read_text(encoding="utf-8"))
    return tuple(_layout(name, **table) for name, table in tables.items())


def _layout(
    name: str,
    columns: Sequence[dict[str, Any]] = (),
    rows: Sequence[dict[str, Any]] = (),
    domain: str | None = None,
    experiment: str | None = None,
    benchmark: dict[str, Any] | None = None,
    **rest: Any,
) -> Layout:
    """Return a table; ``domain`` holds for all of its rows, and ``experiment`` names what makes its runs."""
    lists: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in rest.items()}
    common = {} if domain is None else {"domain": domain}
    return Layout(
        name,
        columns=tuple(Column(**column) for column in columns),
        rows=tuple(_row(common | row) for row in rows),
        experiment=None
        if experiment is None
        else Experiment(experiment, frozenset(lists.get("llm") or [OFF]), lists.get("fit")),
        benchmark=None if benchmark is None else Benchmark(**benchmark),
        **lists,
    )


def _row(values: Mapping[str, Any]) -> Row:
    renamed = {"with": "overrides"}
    fields: dict[str, Any] = {
        renamed.get(key, key): tuple(value) if isinstance(value, list) else value for key, value in values.items()
    }
    return Row(**fields)
