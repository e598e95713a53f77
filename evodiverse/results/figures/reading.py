"""The interface of figures, the grouping of runs so that a figure compares only comparable runs, and their means."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from evodiverse.errors import InputError
from evodiverse.results.figures.style import order_methods
from evodiverse.results.grouping import group_by
from evodiverse.text import count_of

if TYPE_CHECKING:  # these load much of EvoDiverse, and no figure needs them to be imported
    from evodiverse.ports import Headline as Headline
    from evodiverse.ports import Metrics
    from evodiverse.results.measuring import Measurer
    from evodiverse.results.tables.results import Result as Result
    from evodiverse.runlog.log import Log as Log
else:
    Headline = Log = Measurer = Metrics = Result = Any

FloatArray = NDArray[np.float64]
OURS: Final = "pt"
OFF: Final = "off"
OWN_FIT: Final = "own"
"""The value of `Result.fit` for a baseline: a run of another engine, such as PySR, which fits equations itself."""

SCIENCES: Final = ("physics", "biology", "chemistry", "materials")
LEAST: Final = 1e-16
"""The smallest error that is drawn. Smaller errors are rounding errors of an exact law, and are drawn at this value."""

_UNNAMED: Final = {OURS, "circle_packing"}  # the parts of groups that names of pictures do not mention
WHAT: Final = "95% t intervals of the mean over seeds"
"""The meaning of bands and whiskers, for captions."""


class Wanted(NamedTuple):
    """The runs that a figure of the paper needs.

    Attributes:
        experiments: The files in ``conf/experiment/`` whose sweeps contain them: with a language model, and without.
        tasks: The names of the tasks.
        methods: The names of the methods.
        models: The models of the paper; runs with ``llm=off`` are wanted in addition.
        sciences: For equations, the sciences, such as "physics"; all problems of each are wanted. A single None for
            other tasks.
        engines: The names of the baselines that are wanted in addition: other programs, such as PySR.
    """

    experiments: Sequence[str]
    tasks: Sequence[str]
    methods: Sequence[str]
    models: Sequence[str] = ("DeepSeek-V3.2",)
    sciences: Sequence[str | None] = (None,)
    engines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What figures need besides the metrics of runs.

    Attributes:
        measurer: The object that knows the cache folder and the encoders, which turn programs into vectors.
        reference: A function that returns the path of the file with the molecules that figure ``si_mol_chembl`` shows
            as chemical space.
        reference_name: The name of this file in captions.
        threshold: The least score of hits; None for the usual one of each domain.
    """

    measurer: Measurer
    reference: Callable[[], Path]
    reference_name: str
    threshold: float | None = None


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
class Group:
    """The runs that a picture compares: those with the same model, way of fitting equations and overrides.

    Attributes:
        kind: The kind of the runs (`Result.kind`), such as "molecules".
        model: The language model; ``off`` for runs without one.
        fit: The value of ``task.fit``; an empty string for tasks other than equations.
        overrides: The settings that differ from the defaults, as on the command line (`show_overrides`).
        part: The task or the method of the runs, or both, if each has a picture of its own; otherwise empty.
        results: The runs that the picture shows, with their metrics.
        context: What the picture needs besides them.
        n_runs: The number of runs from which they were chosen.
        detail: What only one figure needs.
    """

    kind: str
    model: str
    fit: str
    overrides: str
    part: tuple[str, ...]
    results: Sequence[Result]
    context: Context
    n_runs: int = 0
    detail: Any = None

    @property
    def suffix(self) -> str:
        """The part of the names of this group's pictures that tells them from pictures of other groups."""
        return "_".join(filter(None, [self.model, self.fit, self.overrides]))

    @property
    def words(self) -> str:
        """The description of the group in a caption."""
        model = "without a model" if self.model == OFF else f"with {self.model}"
        fit = f"fitted by {self.fit}" if self.fit else ""
        return ", ".join(filter(None, [model, fit, self.overrides and f"with {self.overrides}"]))

    @property
    def best(self) -> Result:
        """The run that the picture shows, if it shows only one."""
        return self.results[0]

    @property
    def runs(self) -> str:
        """The number of runs and their seeds, for captions."""
        return describe_runs(self.results)

    @property
    def problems(self) -> str:
        """The number of problems, for captions."""
        return count_of(len({run.problem for run in self.results}), "problem")


Groups = Callable[[Sequence[Result], Context], Iterator[Group]]


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs that a figure shows, in groups with the same kind, model, fit and overrides; baselines are left out.

    Attributes:
        kind: The kind of the runs that count, such as "molecules"; empty for all kinds.
        tasks: The only tasks whose runs count; empty for all.
        curves: The curves that a run must have to count.
        part: The attributes of runs, such as ``task`` and ``run.method``, for each of whose values there is a picture.
        counts: A function that says whether a run counts.
        choose: A function that is called with the runs of a group and with all runs, and returns those to show. Without
            any, there is no picture.
    """

    kind: str = ""
    tasks: Collection[str] = ()
    curves: Sequence[str] = ()
    part: Sequence[str] = ()
    counts: Callable[[Result], bool] = lambda _: True
    choose: Callable[[Sequence[Result], Sequence[Result]], Sequence[Result]] = lambda some, _: some

    def __call__(self, results: Sequence[Result], context: Context) -> Iterator[Group]:
        """Yield the groups of some runs, sorted by their attributes."""
        from evodiverse.results.tables.results import show_overrides  # here because it loads much of EvoDiverse

        def describe(run: Result) -> tuple[Any, ...]:
            part = tuple(attrgetter(name)(run) for name in self.part)
            return run.kind, run.model, run.fit or "", show_overrides(run.overrides), part

        usable = [run for run in results if self.kind in ("", run.kind) and run.fit != OWN_FIT and self.counts(run)]
        usable = [run for run in usable if (not self.tasks or run.task in self.tasks) and has(run, *self.curves)]
        for (kind, model, fit, overrides, part), some in sorted(group_by(usable, describe).items()):
            if shown := self.choose(some, results):
                yield Group(kind, model, fit, overrides, part, shown, context, len(some))


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure of the paper or one of our own.

    Attributes:
        name: The name of the figure for ``--only``, and the prefix of the names of its files.
        title: The title of the figure.
        groups: A function that is called with the runs that count (see ``takes_all``) and the `Context`, and yields
            what each picture shows, such as `Runs`.
        draw: A function that draws the picture of a group.
        caption: The caption: what a picture shows, of which runs, and the meaning of the bands around curves. In it and
            in the next two, ``{group}`` and its attributes are inserted, and ``{name}``, ``{other}``, ``{facts}``.
        basis: The small print above a picture: the number of runs, and their seeds.
        file: The name of a picture; ``{other}`` is the last part of the group, if names mention it.
        facts: A function that returns what only captions of this figure say: a text, or values by name.
        texts: A function that returns the text files to write next to a picture: their contents by suffix.
        wanted: The runs that the paper's figure needs; None for our own.
        example: A command whose runs fill a figure of our own; None for a figure of the paper.
        missing: A function that returns a sentence about what must be installed, or None if nothing is missing.
        takes_all: Whether all runs count. Otherwise, a run counts only if its `Result.overrides` are all about the
            budget, or if the run is named on the command line.
        label: The label of the figure in the paper's LaTeX; None for our own.
    """

    name: str
    title: str
    groups: Groups
    draw: Callable[[Group], Figure]
    caption: str
    basis: str = "{group.runs}"
    file: str = "{name}_{group.suffix}{other}"
    facts: Callable[[Group], object] = lambda _: ""
    texts: Callable[[Group], Mapping[str, str]] = lambda _: {}
    wanted: Wanted | None = None
    example: str | None = None
    missing: Callable[[], str | None] = lambda: None
    takes_all: bool = False
    label: str | None = None

    def find(self, results: Sequence[Result], context: Context) -> Iterator[Picture]:
        """Yield the pictures that can be drawn of some runs."""
        for group in self.groups(results, context):
            other = "" if {*group.part[-1:]} <= _UNNAMED else f"_{group.part[-1]}"
            words = {"group": group, "name": self.name, "other": other, "facts": self.facts(group), "WHAT": WHAT}
            file, caption, basis = (text.format(**words) for text in (self.file, self.caption, self.basis))
            yield Picture(file, caption, partial(self.draw, group), basis, partial(self.texts, group))


def find_metrics(group: Group, result: Result) -> Metrics:
    """Return the object that measures a run."""
    from evodiverse.results.domains import find_metrics as find  # here because it loads much of EvoDiverse

    return find(result.run, group.context.measurer.own)


def open_log(group: Group, result: Result) -> tuple[Metrics, Log]:
    """Return the object that measures a run, and its log with the columns that this object reads.

    Raises:
        InputError: The log is damaged.
    """
    from evodiverse.runlog.log import read_log  # here because it loads much of EvoDiverse

    metrics = find_metrics(group, result)
    return metrics, read_log(result.run, {"genotype": str, **metrics.columns})


def draw_candidate(
    axes: Axes, group: Group, result: Result, call: int, genotype: str, details: Mapping[str, Any]
) -> None:
    """Draw the candidate that an oracle call of a run evaluated, as the domain of the run draws it.

    Raises:
        InputError: The log has nothing that can be drawn for the call.
    """
    from evodiverse.ports import Viewed  # here because it loads much of EvoDiverse
    from evodiverse.results.domains import find_view

    run = result.run
    view = find_view(run, frozenset(group.context.measurer.own))
    try:
        if not isinstance(view, Viewed):
            raise ValueError("its domain draws none")  # noqa: TRY301, TRY004 (the text below says what to do)
        view.draw(axes, genotype, details)
    except ValueError as error:
        message = f"{run.path}: call {call} cannot be drawn ({error}); run it again with overwrite=true"
        raise InputError(message) from error


def by_method(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return runs grouped by method, in the order of legends."""
    groups = group_by(results, lambda result: result.run.method)
    return {method: groups[method] for method in order_methods(groups)}


def is_budget(key: str) -> bool:
    """Return whether a setting belongs to the budget, given its key."""
    return key.startswith("budget.")


def curve(result: Result, name: str) -> list[float | None]:
    """Return the curve of a run that the metric ``curve.<name>`` holds; empty if the run does not have this metric."""
    value = result.metrics.get(f"curve.{name}")
    return value if isinstance(value, list) else []


def numbers(result: Result, name: str) -> list[float]:
    """Return the values of a curve of a run without Nones."""
    return [value for value in curve(result, name) if value is not None]


def has(result: Result, *names: str) -> bool:
    """Return whether a run has all curves with these names, and none of them is empty."""
    return all(curve(result, name) for name in names)


def describe_runs(results: Sequence[Result]) -> str:
    """Return a text with the number of runs, in total and per method, and their seeds."""
    counts = ", ".join(f"{method} {len(some)}" for method, some in sorted(by_method(results).items()))
    seeds = sorted({result.run.seed for result in results})
    named = ", ".join(map(str, seeds)) if len(seeds) <= 6 else f"{seeds[0]} … {seeds[-1]} ({len(seeds)})"
    return f"n = {count_of(len(results), 'run')} ({counts}); seed{'s' * (len(seeds) != 1)} {named}"


def budget_of(results: Sequence[Result]) -> int:
    """Return the largest budget of some runs, in oracle calls."""
    return max(int(result.run.settings["budget.oracle_calls"]) for result in results)


def keep_best(name: str, results: Sequence[Result], _: Sequence[Result] = ()) -> list[Result]:
    """Return only the run with the highest value of a metric, the first in a tie; none if no run has the metric."""
    known = [(value, run) for run in results if (value := run.number(name)) not in (None, float("-inf"))]
    return [max(known, key=lambda pair: pair[0])[1]] if known else []


def first_of(results: Sequence[Result], key: Callable[[Result], Hashable]) -> list[Result]:
    """Return the run with the lowest seed for each method, task or other value of ``key``, sorted by their seeds."""
    return [some[0] for some in group_by(sorted(results, key=lambda each: each.run.seed), key).values()]


def estimate(values: ArrayLike, strata: Sequence[Hashable] | None = None) -> FloatArray:
    """Return the means of values of runs, and the bounds of their 95% t intervals.

    The mean is the mean of the problems' means. The interval shows how much this mean would change with other seeds on
    the same problems. It therefore depends only on the differences between runs on the same problem (the variance is
    pooled within problems); differences between problems, which are far larger, do not widen it. There is no interval
    if each problem has a single seed.

    Args:
        values: ``(n,)`` or ``(n, m)`` values of n runs. Those that are not finite are left out.
        strata: ``(n,)`` problems of the runs; None if all runs are on one problem.

    Returns:
        ``(3,)`` or ``(3, m)``: means, lower and upper bounds; NaN where there is no value or no interval.
    """
    matrix = np.array(values, dtype=np.float64)
    table = pd.DataFrame(np.where(np.isfinite(matrix), matrix, np.nan).reshape(len(matrix), -1))
    problems = table.groupby([str(stratum) for stratum in strata or [0] * len(matrix)])
    counts = problems.count().replace(0, np.nan)
    center, n_problems = problems.mean().mean(), counts.count()
    freedom = (counts.sum() - n_problems).replace(0, np.nan)
    squares = ((table - problems.transform("mean")) ** 2).sum()
    error = np.sqrt(squares / freedom * (1 / counts).sum() / n_problems**2)
    half = stats.t.ppf(0.975, freedom) * error
    return np.array([center, center - half, center + half]).reshape(3, *matrix.shape[1:])


def science_of(result: Result) -> str:
    """Return the field of science that a run's problem comes from; ``own data`` if the problem has none."""
    return result.science or "own data"


def sciences_of(results: Sequence[Result]) -> list[str]:
    """Return the sciences of some runs: those of the paper in its order, then others by name."""
    sciences = {science_of(result) for result in results}
    return [*(name for name in SCIENCES if name in sciences), *sorted(sciences - {*SCIENCES})]
