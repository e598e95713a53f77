"""Write report pages to files next to the runs that they show; among them the pages about several runs."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import check_regular, refuse_link, write_file
from evodiverse.results.grouping import group_by
from evodiverse.results.pages.one_run import read_history, report_run
from evodiverse.results.pages.rendering import GENERATOR, Line, Point, plan_chart, render
from evodiverse.results.statistics import t_interval
from evodiverse.results.summary import Compared, compare
from evodiverse.runlog.parts import check_parts
from evodiverse.runlog.record import RECORD, REPORT
from evodiverse.runlog.runs import Run, find_distinct, find_records, read_record
from evodiverse.text import printable

INDEX: Final = "index.html"
N_AT: Final = 120
"""The number of evenly spaced numbers of calls at which the best scores of runs are averaged."""


class Curve(NamedTuple):
    """A run's best score so far, as a function of the number of calls.

    Attributes:
        run: The run whose scores are drawn.
        rises: The points (call, score) where the best score rose.
        n_calls: The number of the last call of the run.
        best: The highest score, also of candidates that cost no call; None if there is none.
    """

    run: Run
    rises: Sequence[Point]
    n_calls: int
    best: float | None

    def at(self, calls: float) -> float | None:
        """Return the best score after ``calls`` calls, or None before the first score or after the last call."""
        found = [score for call, score in self.rises if call <= calls]
        return found[-1] if found and calls <= self.n_calls else None


def report_comparison(curves: Sequence[Curve], folder: Path) -> str:
    """Return the page that compares runs.

    Args:
        curves: The curves of the runs, at least one.
        folder: The folder of the page. The links on the page are relative to it.
    """
    keys = ("task.name", "task.problem", "task.evaluator")
    named = group_by(curves, lambda curve: tuple(str(curve.run.settings.get(key, "")) for key in keys))
    groups = {f"subject-{at}": group for at, group in enumerate(sorted(named.items()), start=1)}
    titles = {name: " · ".join(dict.fromkeys(filter(None, words))) for name, (words, _) in groups.items()}
    subjects = {name: _compare(some) for name, (_, some) in groups.items()}
    listed = _list_runs([(curve.run, curve.best) for curve in curves], folder)
    return render("comparison.html", title="Comparison", titles=titles, subjects=subjects, **listed)


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


def _compare(given: Sequence[Curve]) -> dict[str, Any]:
    """Return what the template needs to compare the runs that searched the same problem."""
    distinct = {run.path for run in find_distinct(curve.run for curve in given)[0]}
    curves = {curve.run.path: curve for curve in given if curve.run.path in distinct}

    def describe(one: Compared) -> str:
        settings = [f"{key}={value}" for key, value in one.differing.items() if key != "seed"]
        return ", ".join(settings) or f"{one.run.method}, {one.run.llm}"

    # The runs of a group differ only in their seeds.
    named = group_by(compare([curve.run for curve in curves.values()], [None for _ in curves]), describe)
    groups = {name: [curves[one.run.path] for one in some] for name, some in sorted(named.items())}
    lines = [average(f"{name} (n = {len(some)})", some) for name, some in groups.items()]
    return {
        "chart": plan_chart("Best score so far", "oracle calls", "score", lines),
        "finals": [_tell_final(group, some) for group, some in groups.items()],
        "is_single": all(len(some) < 2 for some in groups.values()),
        "n_left_out": len(given) - len(curves),
    }


def average(name: str, curves: Sequence[Curve]) -> Line:
    """Return the mean of curves of the best score, with a 95% interval for two curves or more.

    The mean is taken at evenly spaced numbers of oracle calls, and only where all curves have a score.
    """
    last = min(curve.n_calls for curve in curves)
    points, band = [], []
    for step in range(1, N_AT + 1):
        calls = last * step / N_AT
        found = [score for curve in curves if (score := curve.at(calls)) is not None]
        if len(found) == len(curves):
            mean, low, high = t_interval(found)
            points.append((calls, mean))
            band.append((calls, low, high))
    return Line(name, points, band if len(curves) > 1 else ())


def _tell_final(name: str, curves: Sequence[Curve]) -> tuple[str | float | None, ...]:
    best = [curve.best for curve in curves if curve.best is not None]
    return (name, len(best), *(t_interval(best) if len(best) > 1 else [*best, None, None, None][:3]))


def write_reports(given: Sequence[Path], own: frozenset[str] = frozenset()) -> tuple[list[Path], list[str]]:
    """Write ``report.html`` into the folder of each run, and pages about several runs.

    A folder of runs gets an ``index.html`` that lists them. If several run directories are given, all runs are compared
    on ``comparison.html`` in their common parent folder, and every ``report.html`` is written again. Otherwise, a
    ``report.html`` is left as it is if `is_current` returns true for its run.

    Args:
        given: Run directories and folders of runs.
        own: The packages that define the user's own kinds of problems (domains), and whose code may be run.

    Returns:
        The pages that were written, and one message for each run without a page and each path without runs.

    Raises:
        InputError: A page about several runs cannot be written.
    """
    errors: list[str] = []
    pages: list[Path] = []
    named = [folder for folder in given if (folder / RECORD).is_file()]
    compares = len(named) > 1
    curves: list[Curve] = []
    for folder in given:
        records = find_records(folder)
        if not records:
            errors.append(f"{printable(str(folder))} is not a run, and contains none; check the path")
        listed: list[tuple[Run, float | None]] = []
        damaged: list[str] = []
        for record in records:
            try:
                run = Run(record.parent, read_record(record))
                best = run.record.get("totals", {}).get("best_score")
                if not compares and is_current(run):
                    check_parts(run.path)
                else:
                    history = read_history(run, own)
                    pages.append(write_page(run.path / REPORT, report_run(history)))
                    best = history.log.best_score
                    curves += [Curve(run, history.rises, history.log.n_calls, best)] if compares else []
                listed.append((run, best))
            except InputError as error:
                damaged.append(str(error))
        errors += damaged
        if records and folder not in named:
            pages.append(write_page(folder / INDEX, report_index(listed, folder, damaged)))
    if len(curves) > 1:
        above = Path(os.path.commonpath([curve.run.path.absolute() for curve in curves]))
        pages.append(write_page(above / "comparison.html", report_comparison(curves, above)))
    return pages, errors


def is_current(run: Run) -> bool:
    """Return whether a complete run has a report that this version wrote after the run ended."""
    report = run.path / REPORT
    if run.record["status"] != "complete":
        return False
    try:
        check_regular(report)
        with report.open("rb") as file:
            is_ours = GENERATOR.encode() in file.read(2_000)
        return is_ours and report.stat().st_mtime_ns >= (run.path / RECORD).stat().st_mtime_ns
    except (OSError, ValueError):
        return False


def write_page(path: Path, page: str) -> Path:
    """Write a page and return its path.

    Raises:
        InputError: The page cannot be written.
    """
    refuse_link(path.parent)
    try:
        write_file(path, page.encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written ({reason(error)}); check the folder and the disk") from error
    return path
