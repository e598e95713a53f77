"""The runs that a figure stands on: grouped so that a figure compares what can be compared."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from evodiverse.analysis.measuring import Measurer
from evodiverse.analysis.tables.models import OFF
from evodiverse.analysis.tables.results import Result, show_overrides
from evodiverse.runlog.values import Value

OWN_FIT = "own"
"""``task.fit`` of a baseline, whose engine fits equations itself."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The runs of a figure of the paper.

    Attributes:
        tasks: Names of the tasks.
        methods: Names of the methods.
        models: The paper's; those of ``llm=off`` are wanted beside them.
        sciences: Of equations, each with all its problems; one None for other tasks.
        fit: The way in which the paper fits equations; None for other tasks.
        domain: The package of the task's domain, where it has problems to choose from.
        engines: Baselines that are wanted too.
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
    """What figures are made with, beside the metrics of runs.

    Attributes:
        measurer: Has the cache, and the encoders of programs.
        reference: The user's file of molecules whose space is shown, None for ZINC-250K.
        n_reference: How many molecules of it are shown at most.
    """

    measurer: Measurer
    reference: Any = None
    n_reference: int = 50_000


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure that can be drawn.

    Attributes:
        name: Of its files.
        caption: What is shown, of which runs, and what bands are.
        draw: Draws it.
        basis: What stands above it in small print: how many runs, and of which seeds.
        texts: Files of text that go with it, by what their names end with.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]
    basis: str
    texts: Callable[[], Mapping[str, str]] = dict


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure of the paper or of ours.

    Attributes:
        name: What its files begin with.
        title: What it shows.
        find: Yields what can be drawn from some runs.
        label: What the paper's LaTeX refers to it by, None for one of ours.
        wanted: The runs of the paper's figure, None for one of ours.
        example: A command that makes runs for one of ours.
        missing: Returns what must be installed and is not, None if nothing.
        takes_all: Whether it takes runs whatever their overrides, as sweeps do.
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
    """Runs that a figure compares: of one model, one way of fitting, and the same overrides."""

    model: str
    fit: str | None
    overrides: str
    results: Sequence[Result]

    @property
    def suffix(self) -> str:
        """What the names of its files end with."""
        return "_".join(filter(None, [self.model, self.fit, self.overrides]))

    @property
    def words(self) -> str:
        """What a caption says of it."""
        model = "without a model" if self.model == OFF else f"with {self.model}"
        fit = f"fitted by {self.fit}" if self.fit else ""
        return ", ".join(filter(None, [model, fit, self.overrides and f"with {self.overrides}"]))


def group_runs(results: Sequence[Result], kind: str, tasks: Collection[str] = ()) -> list[Group]:
    """Return the groups of runs of one kind of metrics, baselines apart, in the order of their names.

    Args:
        results: Any runs.
        kind: Of metrics, such as "molecules".
        tasks: Only of these; empty for all.
    """
    groups: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.kind == kind and (not tasks or result.task in tasks) and result.fit != OWN_FIT:
            groups[result.model, result.fit or "", show_overrides(result.overrides)].append(result)
    return [Group(model, fit or None, overrides, some) for (model, fit, overrides), some in sorted(groups.items())]


def is_budget(key: str) -> bool:
    """Return whether a setting is what a run may spend."""
    return key.startswith("budget.")


def by_method(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return runs by their method."""
    found: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        found[result.run.method].append(result)
    return found


def curve(result: Result, name: str) -> list[float | None]:
    """Return a curve of a run, empty if it has none."""
    value: Value = result.metrics.get(f"curve.{name}")
    return value if isinstance(value, list) else []


def numbers(values: Sequence[float | None]) -> list[float]:
    """Return the values of a curve that has one everywhere."""
    return [value for value in values if value is not None]


def has(result: Result, *names: str) -> bool:
    """Return whether a run has all of these curves, none of them empty."""
    return all(curve(result, name) for name in names)


def describe_runs(results: Sequence[Result], *more: str) -> str:
    """Return how many runs there are, of which methods and seeds, and what else is to be said, in words."""
    counts = ", ".join(f"{method} {len(some)}" for method, some in sorted(by_method(results).items()))
    seeds = sorted({result.run.seed for result in results})
    named = ", ".join(map(str, seeds)) if len(seeds) <= 6 else f"{seeds[0]} … {seeds[-1]} ({len(seeds)})"
    what = f"n = {len(results)} run{'s' * (len(results) != 1)} ({counts})"
    return "; ".join([what, f"seed{'s' * (len(seeds) != 1)} {named}", *more])


def budget_of(results: Sequence[Result]) -> int:
    """Return the largest budget of some runs, in oracle calls."""
    return max(int(result.run.settings["budget.oracle_calls"]) for result in results)


def best_run(results: Sequence[Result], metric: str) -> Result | None:
    """Return the run with the highest number of a metric, the first of equals; None where none has it."""

    def number(result: Result) -> float:
        value = result.metrics.get(metric)
        return float(value) if isinstance(value, int | float) else float("-inf")

    found = max(results, key=number, default=None)
    return None if found is None or number(found) == float("-inf") else found


def first_of(results: Sequence[Result], key: Callable[[Result], Hashable]) -> list[Result]:
    """Return the run with the lowest seed for each value of a key, in the order of the runs."""
    found: dict[Hashable, Result] = {}
    for result in sorted(results, key=lambda each: each.run.seed):
        found.setdefault(key(result), result)
    return list(found.values())
