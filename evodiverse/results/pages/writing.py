"""Write report pages to files next to the runs that they show."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import check_regular, refuse_link, write_file
from evodiverse.results.pages.one_run import read_history, report_run
from evodiverse.results.pages.rendering import GENERATOR
from evodiverse.results.pages.several import Curve, report_comparison, report_index
from evodiverse.runlog.parts import check_parts
from evodiverse.runlog.record import RECORD, REPORT
from evodiverse.runlog.runs import Run, find_records, read_record
from evodiverse.text import printable

INDEX: Final = "index.html"
_HEAD_BYTES: Final = 2_000


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
                    curves += [Curve(run, history.rises, history.log.n_calls)] if compares else []
                    best = history.best[0]["score"] if history.best else None
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
            is_ours = GENERATOR.encode() in file.read(_HEAD_BYTES)
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
