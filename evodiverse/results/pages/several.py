"""The comparison of several runs, and the list of all runs below a folder."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Final
from urllib.parse import quote

from scipy.stats import t

from evodiverse.kit.markup import Content, Markup, tag
from evodiverse.results.comparison import compare
from evodiverse.results.pages.charts import Line, Point, draw_chart
from evodiverse.results.pages.history import History
from evodiverse.results.pages.one_run import status_of
from evodiverse.results.pages.page import Section, build_page, table
from evodiverse.runlog.record import REPORT
from evodiverse.runlog.runs import Run, find_distinct
from evodiverse.text import count_of

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


def trace(history: History) -> Curve:
    """Return the curve of a run's best score so far."""
    rises: list[Point] = []
    for call, row in sorted(history.by_call.items()):
        if row["score"] is not None and (not rises or row["score"] > rises[-1][1]):
            rises.append((float(call), row["score"]))
    return Curve(history.run, rises, history.log.last_call)


def report_comparison(curves: Sequence[Curve], folder: Path) -> str:
    """Return the page that compares runs.

    Args:
        curves: The curves of the runs, at least one.
        folder: The folder of the page. The links on the page are relative to it.
    """
    subjects: dict[tuple[str, ...], list[Curve]] = defaultdict(list)
    for curve in curves:
        subjects[tuple(str(curve.run.settings[key]) for key in _SUBJECT if key in curve.run.settings)].append(curve)
    sections = [Section("runs", "Runs", [list_runs([(curve.run, curve.best) for curve in curves], folder)])]
    for at, (subject, some) in enumerate(sorted(subjects.items()), start=1):
        sections.append(Section(f"subject-{at}", " · ".join(dict.fromkeys(subject)), _draw_subject(some)))
    lead = tag(
        "p",
        f"{count_of(len(curves), 'run')}, sorted by best score, with a column for each setting in which they differ.",
    )
    return build_page("Comparison", lead, sections)


def report_index(runs: Iterable[tuple[Run, float | None]], folder: Path, errors: Sequence[str]) -> str:
    """Return the page that lists all runs below a folder, and the errors of those that cannot be read.

    Args:
        runs: The runs, each with its highest score, or None if it has no score.
        folder: The folder of the page. The links on the page are relative to it.
        errors: One message for each run that cannot be read.
    """
    listed = list(runs)
    problems = [tag("ul", *(tag("li", error) for error in errors))] if errors else []
    sections = [
        Section("runs", "Runs", [list_runs(listed, folder)] if listed else []),
        Section("damaged", "Damaged", problems),
    ]
    return build_page("Runs", tag("p", count_of(len(listed), "run")), sections)


def list_runs(runs: Sequence[tuple[Run, float | None]], folder: Path) -> Markup:
    """Return a table of runs with links to their reports, the run with the highest score first.

    Args:
        runs: The runs, at least one, each with its highest score, or None if it has no score.
        folder: The folder of the page with the table. The links are relative to it.
    """
    compared = compare([run for run, _ in runs], [best for _, best in runs])
    names = [name for name in compared[0].differing if name != "task"]
    lines: list[list[Content | float]] = [
        [
            tag("a", "report", href=_link(one.run, folder)),
            status_of(one.run),
            one.run.task,
            one.best,
            one.calls,
            *(_setting(one.differing[name]) for name in names),
            one.run.started,
        ]
        for one in compared
    ]
    return table(["report", "status", "task", "best", "calls", *names, "started"], lines, "runs", searchable=True)


def _setting(text: str) -> Content | float:
    try:
        return int(text)
    except ValueError:
        return text


def _link(run: Run, folder: Path) -> str:
    return quote(Path(os.path.relpath(run.path, folder), REPORT).as_posix())


def _draw_subject(given: Sequence[Curve]) -> list[Content]:
    distinct = {run.path for run in find_distinct(curve.run for curve in given).runs}
    curves = [curve for curve in given if curve.run.path in distinct]
    groups: dict[str, list[Curve]] = defaultdict(list)
    for curve, name in zip(curves, _name_groups([curve.run for curve in curves]), strict=True):
        groups[name].append(curve)
    lines = [average(f"{name} (n = {len(some)})", some) for name, some in sorted(groups.items())]
    is_single = all(len(some) < 2 for some in groups.values())
    note = (
        "Mean over seeds of the best score so far. The band is the 95% t-interval of the mean, for two seeds or more."
    )
    chart = draw_chart("Best score so far", "oracle calls", "score", lines, stepped=False)
    finals = [_tell_final(name, some) for name, some in sorted(groups.items())]
    names = ["runs", "n", "mean best score", "95% from", "to"]
    note += " Here, each line is one run." if is_single else ""
    if n_left_out := len(given) - len(curves):
        note += f" Left out: {count_of(n_left_out, 'run')} that repeats or replays another run."
    return [
        tag("p", note, class_="note"),
        tag("div", chart, class_="charts"),
        table(names, finals, "best scores by kind of run"),
    ]


def _name_groups(runs: Sequence[Run]) -> list[str]:
    """Return the name of the group of each run; runs of a group differ only in their seeds."""
    named: Mapping[str, Mapping[str, str]] = {
        str(one.run.path): one.differing for one in compare(runs, [None for _ in runs])
    }
    return [
        ", ".join(f"{key}={value}" for key, value in named[str(run.path)].items() if key != "seed")
        or f"{run.method}, {run.llm}"
        for run in runs
    ]


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


def half_width(values: Sequence[float]) -> float:
    """Return half the width of the 95% t-interval of the mean of at least two values."""
    return float(t.ppf(0.975, len(values) - 1)) * stdev(values) / sqrt(len(values))


def _tell_final(name: str, curves: Sequence[Curve]) -> list[Content | float]:
    best = [curve.best for curve in curves if curve.best is not None]
    if len(best) < 2:
        return [name, len(best), best[0] if best else None, None, None]
    mean, half = fmean(best), half_width(best)
    return [name, len(best), mean, mean - half, mean + half]
