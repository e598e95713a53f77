"""Layouts of tables: their rows and columns, and the numbers that the paper reports.

``paper.yaml`` defines the tables of the paper. ``found.yaml`` and the ``tables.yaml`` of each domain define the tables
of all runs, whose rows follow from the runs that exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from evodiverse.kit.files import read_shipped

OFF: Final = "off"
_HERE: Final = Path(__file__).parent
FIT: Final = "task.fit"
"""The configuration key that chooses how candidates are fitted."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: The title of the column; an arrow shows whether higher or lower is better.
        metric: The name of the metric. ``own.*`` stands for a column for each metric whose name begins with ``own.``,
            under the rest of its name in place of the ``*`` in the title.
        digits: The number of decimals.
        style: The format of the numbers. ``fixed`` shows `digits` decimals, and so does ``percent``, with a percent
            sign. ``significant`` shows three digits, ``precise`` six, and ``scientific`` a power of ten. ``setting`` is
            ``fixed`` without a spread if all values are the same. ``calls`` is the median number of calls until a
            score is reached, which some runs never reach (`make_reach_cell`). ``overall`` is ``fixed`` for the values
            of the pools, with their mean in parentheses.
        llm: The only model whose runs count; None for all models of the table.
        group: The common title above several columns.
        test: The test to show instead of the metric, for the difference between two methods: ``t``, ``bootstrap`` or
            ``permutation``. None to show the metric.
        extra: Whether the paper has no such column.
        unlike: The metric of which ``metric`` is a variant; the column is then shown only if the two metrics differ by
            more than 0.01 in some row. None if ``metric`` is not a variant.
        note: A note to show below tables with the column; None if there is no note.
        median: Whether to show the median over the runs instead of the mean.
        needs: What the metric requires in addition to a complete run; None if nothing.
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
        """The title, preceded by the title of the group."""
        return self.title if self.group is None else f"{self.group}: {self.title}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table of the paper: the runs that fill it, and the values that the paper reports.

    Attributes:
        of: The labels at the start of the row.
        task: The name of the task.
        method: The name of the method.
        science: The group of equation problems that the runs must be about, such as physics. If None, the runs may be
            about problems of any group, but not about problems without a group. Runs of a task that has only one
            problem are then accepted too.
        fit: The way in which the parameters of equations are fitted. If None, the runs may fit them in any way, or may
            not be about equations at all.
        overrides: The only settings, besides the problem, in which the runs differ from the defaults of their task,
            method and llm.
        against: The method that ``method`` is compared with, in a table of tests; None in other tables.
        paper: The text of the cells that the paper reports, one for each column that is not ``extra``.
    """

    of: tuple[str, ...]
    task: str
    method: str
    science: str | None = None
    fit: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    against: str | None = None
    paper: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark of many tasks with published values.

    Its table has a column for each published method, and one for each combination of method, model and overrides among
    our runs.

    Attributes:
        metric: The metric that the benchmark compares.
        budget: The budget that a run must have to count, in oracle calls.
        methods: The methods with published values.
        uncounted: How many evaluations each of these methods made without counting them as oracle calls, as text.
        tasks: The published values (mean ± sample standard deviation) as text, one per method, by task.
        totals: The published sums over all tasks as text, one per method.
        experiment: The file in ``conf/experiment/`` whose sweep contains the runs.
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
    """A table before our numbers are filled in: its rows, columns and notes, and the values that the paper reports.

    Attributes:
        name: The name of the table's files.
        title: The title of the table.
        head: The titles above the labels of the rows.
        columns: The columns, each with its metric.
        llm: The models whose runs the table uses; empty for runs of any model. If `is_about_models`, there is a copy of
            the table for runs of other models.
        rows: The rows, for a table of the paper.
        kind: For a table of all runs, the kind of runs that it lists (`Result.kind`), or ``search`` if it lists runs of
            all kinds. None for a table of the paper.
        needs: For a table of all runs, the metric that a run must have to be listed; None for no such metric.
        notes: The notes below the table.
        fit: The way of fitting equations that the paper's numbers were obtained with, if the table has separate rows
            for each way.
        has_problems: Whether the rows of a table of all runs show their number of problems and way of fitting.
        is_filled_later: Whether the metrics need data that are added after a run, so that runs alone do not fill the
            table.
        label: The label of the table in LaTeX.
        experiment: The file in ``conf/experiment/`` whose sweep contains all runs of the table; None if there is none.
        task: The only task of the rows, if others were left out; None for all tasks of the table.
        benchmark: The benchmark; None for any other table.
    """

    name: str
    title: str
    head: tuple[str, ...]
    columns: tuple[Column, ...]
    llm: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    kind: str | None = None
    needs: str | None = None
    notes: tuple[str, ...] = ()
    fit: str | None = None
    has_problems: bool = False
    is_filled_later: bool = False
    label: str = ""
    experiment: str | None = None
    task: str | None = None
    benchmark: Benchmark | None = None

    @property
    def is_about_models(self) -> bool:
        """Whether the table is only for runs that use a language model."""
        return bool(self.llm) and OFF not in self.llm

    def for_task(self, task: str | None) -> "Layout":
        """Return the part of the layout about one task; None stands for all tasks."""
        rows = tuple(row for row in self.rows if task in (None, row.task))
        return replace(self, rows=rows, task=task if self.llm and len(rows) < len(self.rows) else None)

    def admits(self, model: str) -> bool:
        """Return whether the table uses runs of a model."""
        return not self.llm or model in self.llm


def paper_layouts() -> tuple[Layout, ...]:
    """Return the layouts of the paper's tables."""
    return _read(_HERE / "paper.yaml")


def found_layouts(*files: Path) -> tuple[Layout, ...]:
    """Return the layouts of all tables but the paper's: those in the domains' files, and those common to all domains.

    Args:
        *files: The path of the ``tables.yaml`` of each domain, as `table_files` returns them.
    """
    return tuple(layout for file in files for layout in _read(file)) + _read(_HERE / "found.yaml")


@lru_cache
def _read(file: Path) -> tuple[Layout, ...]:
    """Return the layouts in a YAML file."""
    layouts = []
    for name, entry in read_shipped(file).items():
        table = _freeze(entry)
        benchmark = table.pop("benchmark", None)
        table["columns"] = tuple(Column(**column) for column in table.get("columns", ()))
        table["rows"] = tuple(Row(**_freeze(row)) for row in table.get("rows", ()))
        layouts.append(Layout(name, benchmark=None if benchmark is None else Benchmark(**benchmark), **table))
    return tuple(layouts)


def _freeze(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
