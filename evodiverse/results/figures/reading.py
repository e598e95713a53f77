"""The interface of figures, and the grouping of runs so that a figure compares only runs that are comparable."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from evodiverse.results.measuring import Measurer
from evodiverse.results.tables.models import OFF
from evodiverse.results.tables.results import Result, show_overrides
from evodiverse.runlog.values import Value

OWN_FIT = "own"
"""The value of `Result.fit` for a baseline: a run of another engine, such as PySR, which fits equations itself."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The runs that a figure of the paper needs.

    Attributes:
        tasks: The names of the tasks.
        methods: The names of the methods.
        models: The models of the paper; runs with ``llm=off`` are wanted in addition.
        sciences: For equations, the sciences, such as "physics"; all problems of each are wanted. A single None for
            other tasks.
        fit: The value of ``task.fit`` for the paper's runs on equations; None for other tasks.
        domain: The Python package of the task's domain, such as ``evodiverse.tasks.equations``. If runs of a
            baseline are missing, EvoDiverse prints the command that makes them. The domain provides the part of the
            command that selects the problems of ``sciences``. None for tasks with a single problem.
        engines: The names of the baselines that are wanted in addition: other programs, such as PySR.
    """

    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    models: tuple[str, ...]
    sciences: tuple[str | None, ...] = (None,)
    fit: str | None = None
    domain: str | None = None
    engines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What figures need besides the metrics of runs.

    Attributes:
        measurer: The object that knows the cache folder and the encoders, which turn programs into vectors.
        reference: The path of a user's file with the molecules that figure ``si_mol_chembl`` shows as chemical space;
            None for ZINC-250K.
        n_reference: How many of these molecules to show at most.
    """

    measurer: Measurer
    reference: Any = None
    n_reference: int = 50_000


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that can be drawn.

    Attributes:
        name: The name of its files, without the suffix.
        caption: The caption: what the picture shows, of which runs, and the meaning of the bands around curves.
        draw: A function that draws the picture and returns the figure. ``evodiverse-figures`` calls it when it writes
            the files of the picture.
        basis: The small print above the picture: the number of runs, and their seeds.
        texts: A function that returns the text files to write next to the picture: their contents by suffix, such as
            ``.py``. It is called after ``draw``.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]
    basis: str
    texts: Callable[[], Mapping[str, str]] = dict


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure of the paper or one of our own.

    Attributes:
        name: The name of the figure for ``--only``, and the prefix of the names of its files.
        title: The title of the figure.
        find: A function that yields the pictures that can be drawn. It is called at most once, with the runs that
            count (see ``takes_all``) and the `Context`.
        label: The label of the figure in the paper's LaTeX; None for our own.
        wanted: The runs that the paper's figure needs; None for our own.
        example: A command whose runs fill a figure of our own; None for a figure of the paper.
        missing: A function that returns a sentence about what must be installed, or None if nothing is missing.
        takes_all: Whether all runs count. Otherwise, a run counts only if its `Result.overrides` are all about the
            budget, or if the run is named on the command line.
    """

    name: str
    title: str
    find: Callable[[Sequence[Result], Context], Iterator[Picture]]
    label: str | None = None
    wanted: Wanted | None = None
    example: str | None = None
    missing: Callable[[], str | None] = lambda: None
    takes_all: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The runs that a picture compares: those with the same model, way of fitting equations and overrides.

    Attributes:
        model: The language model; ``off`` for runs without one.
        fit: The value of ``task.fit``; None for tasks other than equations.
        overrides: The settings that differ from the defaults, as on the command line (`show_overrides`).
        results: The runs, with their metrics.
    """

    model: str
    fit: str | None
    overrides: str
    results: Sequence[Result]

    @property
    def suffix(self) -> str:
        """The part of the names of this group's pictures that tells them from pictures of other groups.

        It consists of the model, the way of fitting equations and the overrides, joined by underscores. Parts that are
        None or empty are left out.
        """
        return "_".join(filter(None, [self.model, self.fit, self.overrides]))

    @property
    def words(self) -> str:
        """The description of the group in a caption."""
        model = "without a model" if self.model == OFF else f"with {self.model}"
        fit = f"fitted by {self.fit}" if self.fit else ""
        return ", ".join(filter(None, [model, fit, self.overrides and f"with {self.overrides}"]))


def group_runs(results: Sequence[Result], kind: str, tasks: Collection[str] = ()) -> list[Group]:
    """Return the runs of one kind, without baselines, in sorted groups with the same model, fit and overrides.

    Args:
        results: The runs.
        kind: The kind of the runs (`Result.kind`), such as "molecules".
        tasks: The only tasks whose runs count; empty for all tasks.
    """
    groups: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.kind == kind and (not tasks or result.task in tasks) and result.fit != OWN_FIT:
            groups[result.model, result.fit or "", show_overrides(result.overrides)].append(result)
    return [Group(model, fit or None, overrides, some) for (model, fit, overrides), some in sorted(groups.items())]


def is_budget(key: str) -> bool:
    """Return whether a setting belongs to the budget, given its key."""
    return key.startswith("budget.")


def by_method(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return runs grouped by method."""
    grouped: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        grouped[result.run.method].append(result)
    return grouped


def curve(result: Result, name: str) -> list[float | None]:
    """Return the curve of a run that the metric ``curve.<name>`` holds; empty if the run does not have this metric."""
    value: Value = result.metrics.get(f"curve.{name}")
    return value if isinstance(value, list) else []


def numbers(values: Sequence[float | None]) -> list[float]:
    """Return the values of a curve without Nones."""
    return [value for value in values if value is not None]


def has(result: Result, *names: str) -> bool:
    """Return whether a run has all curves with these names, and none of them is empty."""
    return all(curve(result, name) for name in names)


def describe_runs(results: Sequence[Result], *more: str) -> str:
    """Return a text with the number of runs, in total and per method, their seeds, and then the phrases ``more``."""
    counts = ", ".join(f"{method} {len(some)}" for method, some in sorted(by_method(results).items()))
    seeds = sorted({result.run.seed for result in results})
    named = ", ".join(map(str, seeds)) if len(seeds) <= 6 else f"{seeds[0]} … {seeds[-1]} ({len(seeds)})"
    total = f"n = {len(results)} run{'s' * (len(results) != 1)} ({counts})"
    return "; ".join([total, f"seed{'s' * (len(seeds) != 1)} {named}", *more])


def budget_of(results: Sequence[Result]) -> int:
    """Return the largest budget of some runs, in oracle calls."""
    return max(int(result.run.settings["budget.oracle_calls"]) for result in results)


def best_run(results: Sequence[Result], metric: str) -> Result | None:
    """Return the run with the highest value of a metric, the first in a tie; None if no run has the metric."""

    def number(result: Result) -> float:
        value = result.metrics.get(metric)
        return float(value) if isinstance(value, int | float) else float("-inf")

    best = max(results, key=number, default=None)
    return None if best is None or number(best) == float("-inf") else best


def first_of(results: Sequence[Result], key: Callable[[Result], Hashable]) -> list[Result]:
    """Return one run for each method, task or other value of ``key``: the one with the lowest seed.

    Args:
        results: The runs.
        key: A function that is called with each run and returns the value to group the run by, such as the method.

    Returns:
        The chosen runs, sorted by their seeds.
    """
    chosen: dict[Hashable, Result] = {}
    for result in sorted(results, key=lambda each: each.run.seed):
        chosen.setdefault(key(result), result)
    return list(chosen.values())
