"""The comparison of several runs, and the list of all runs below a folder."""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final
from urllib.parse import quote

from evodiverse.results.comparison import compare
from evodiverse.results.grouping import group_by
from evodiverse.results.pages.charts import Chart, Line, Point, plan_chart
from evodiverse.results.pages.history import History
from evodiverse.results.pages.rendering import render
from evodiverse.results.statistics import half_width
from evodiverse.runlog.record import REPORT
from evodiverse.runlog.runs import Run, find_distinct

N_AT: Final = 120
"""The number of evenly spaced numbers of calls at which the best scores of runs are averaged."""

_SUBJECT: Final = ("task.name", "task.problem", "task.evaluator")


@dataclass(frozen=True, slots=True)
class Curve:
    """A run's best score so far, as a function of the number of calls.

    Attributes:
        run: The run whose scores are drawn.
        rises: The points (call, score) where the best score rose.
        n_calls: The number of the last call of the run.
    """

    run: Run
    rises: Sequence[Point]
    n_calls: int

    @property
    def best(self) -> float | None:
        """The highest score, or None if there is no score."""
        return self.rises[-1][1] if self.rises else None

    def at(self, calls: float) -> float | None:
        """Return the best score after ``calls`` calls, or None before the first score or after the last call."""
        found = [score for call, score in self.rises if call <= calls]
        return found[-1] if found and calls <= self.n_calls else None


@dataclass(frozen=True, slots=True)
class Subject:
    """The runs of a comparison that searched the same problem.

    Attributes:
        name: The name of their section, for links.
        title: The title of their section.
        chart: The curves of the best scores.
        finals: The cells of each kind of run in the table of best scores.
        is_single: Whether each curve is that of one run.
        n_left_out: The number of runs that are left out because they repeat or replay another one.
    """

    name: str
    title: str
    chart: Chart
    finals: Sequence[tuple[str | float | None, ...]]
    is_single: bool
    n_left_out: int


def trace(history: History) -> Curve:
    """Return the curve of a run's best score so far."""
    return Curve(history.run, history.rises, history.log.last_call)


def report_comparison(curves: Sequence[Curve], folder: Path) -> str:
    """Return the page that compares runs.

    Args:
        curves: The curves of the runs, at least one.
        folder: The folder of the page. The links on the page are relative to it.
    """
    groups = group_by(
        curves, lambda curve: tuple(str(curve.run.settings[key]) for key in _SUBJECT if key in curve.run.settings)
    )
    subjects = [
        _compare_subject(f"subject-{at}", " · ".join(dict.fromkeys(names)), some)
        for at, (names, some) in enumerate(sorted(groups.items()), start=1)
    ]
    return render(
        "comparison.html",
        title="Comparison",
        **_list_runs([(curve.run, curve.best) for curve in curves], folder),
        subjects=subjects,
        titles={subject.name: subject.title for subject in subjects},
    )


def report_index(runs: Iterable[tuple[Run, float | None]], folder: Path, errors: Sequence[str]) -> str:
    """Return the page that lists all runs below a folder, and the errors of those that cannot be read.

    Args:
        runs: The runs, each with its highest score, or None if it has no score.
        folder: The folder of the page. The links on the page are relative to it.
        errors: One message for each run that cannot be read.
    """
    return render("index.html", title="Runs", **_list_runs(list(runs), folder), errors=errors)


def _list_runs(runs: Sequence[tuple[Run, float | None]], folder: Path) -> dict[str, Any]:
    """Return what the templates need to list runs with links to their reports, the run with the highest score first.

    Args:
        runs: The runs, each with its highest score, or None if it has no score.
        folder: The folder of the page. The links are relative to it.
    """
    compared = compare([run for run, _ in runs], [best for _, best in runs]) if runs else []
    names = [name for name in compared[0].differing if name != "task"] if compared else []
    return {"runs": compared, "names": names, "link": lambda run: _link(run, folder)}


def _link(run: Run, folder: Path) -> str:
    return quote(Path(os.path.relpath(run.path, folder), REPORT).as_posix())


def _compare_subject(name: str, title: str, given: Sequence[Curve]) -> Subject:
    distinct = {run.path for run in find_distinct(curve.run for curve in given).runs}
    curves = {curve.run.path: curve for curve in given if curve.run.path in distinct}
    groups: dict[str, list[Curve]] = defaultdict(list)  # runs of a group differ only in their seeds
    for one in compare([curve.run for curve in curves.values()], [None for _ in curves]):
        settings = [f"{key}={value}" for key, value in one.differing.items() if key != "seed"]
        groups[", ".join(settings) or f"{one.run.method}, {one.run.llm}"].append(curves[one.run.path])
    named = sorted(groups.items())
    lines = [average(f"{group} (n = {len(some)})", some) for group, some in named]
    return Subject(
        name,
        title,
        plan_chart("Best score so far", "oracle calls", "score", lines),
        [_tell_final(group, some) for group, some in named],
        is_single=all(len(some) < 2 for some in groups.values()),
        n_left_out=len(given) - len(curves),
    )


def average(name: str, curves: Sequence[Curve]) -> Line:
    """Return the mean of curves of the best score, with a 95% interval for two curves or more.

    The mean is taken at evenly spaced numbers of oracle calls, and only where all curves have a score.
    """
    last = min(curve.n_calls for curve in curves)
    points, band = [], []
    for step in range(1, N_AT + 1):
        calls = last * step / N_AT
        found = [score for curve in curves if (score := curve.at(calls)) is not None]
        if len(found) < len(curves):
            continue
        points.append((calls, fmean(found)))
        if len(found) > 1:
            half = half_width(found)
            band.append((calls, fmean(found) - half, fmean(found) + half))
    return Line(name, points, band)


def _tell_final(name: str, curves: Sequence[Curve]) -> tuple[str | float | None, ...]:
    best = [curve.best for curve in curves if curve.best is not None]
    if len(best) < 2:
        return (name, len(best), best[0] if best else None, None, None)
    mean, half = fmean(best), half_width(best)
    return (name, len(best), mean, mean - half, mean + half)
