"""Writes the pages next to the runs that they are about."""

from collections.abc import Sequence
from pathlib import Path

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import refuse_link, write_file
from evodiverse.kit.text import printable
from evodiverse.report.history import read_history
from evodiverse.report.one_run import report_run
from evodiverse.runlog.record import REPORT
from evodiverse.runlog.runs import Run, find_records, read_record


def write_reports(given: Sequence[Path], own: frozenset[str] = frozenset()) -> tuple[list[Path], list[str]]:
    """Write ``report.html`` into the folder of each run.

    Args:
        given: Run directories, and folders above several.
        own: The user's own domains, whose code is run.

    Returns:
        The pages, and what is wrong with runs that have none, a line each.

    Raises:
        InputError: A page cannot be written.
    """
    pages: list[Path] = []
    errors: list[str] = []
    for folder in given:
        records = find_records(folder)
        if not records:
            errors.append(f"{printable(str(folder))} is no run, and there is none below it")
        for record in records:
            try:
                run = Run(record.parent, read_record(record))
                page = report_run(read_history(run, own))
            except InputError as error:
                errors.append(str(error))
                continue
            pages.append(write_page(record.parent / REPORT, page))
    return pages, errors


def write_page(path: Path, page: str) -> Path:
    """Write a page and return its path.

    Raises:
        InputError: It cannot be written.
    """
    refuse_link(path.parent)
    try:
        write_file(path, page.encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written ({reason(error)})") from error
    return path
