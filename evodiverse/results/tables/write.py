"""Write filled tables to a folder as Markdown, CSV and LaTeX, with an HTML page of all of them."""

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import Final

from tabulate import tabulate

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import write_listed
from evodiverse.results.pages.rendering import escape_markdown, render
from evodiverse.results.tables.cells import DASH, RUNS, Cell, Table
from evodiverse.text import printable

INDEX: Final = "index.html"
_LONGEST: Final = 200  # file systems allow 255, including suffixes
_MISSING: Final = "To fill the cells with a dash, run:"
_PAPER: Final = "paper"
# The characters that pdfLaTeX cannot typeset as they are, and what to write instead. At the start of a row, LaTeX would
# take the last two for arguments of the preceding \\.
_SYMBOLS: Final = r"$\pm$ $\uparrow$ $\downarrow$ $\infty$ $\beta$ $\nu$ $\xi$ $_1$ $_2$ $-$ --- $^\dagger$ {[} {*}"
_LATEX: Final = str.maketrans(dict(zip("±↑↓∞βνξ₁₂−—†[*", _SYMBOLS.split(), strict=True)))
# The places where a spreadsheet would start a formula when it reads a cell, or when it splits a cell at semicolons.
_FORMULA: Final = re.compile(r"(^|;)(?=[=+\-@\t\r＝＋－＠])")


def to_markdown(table: Table) -> str:
    """Return a table as Markdown, with its notes and the commands that fill it."""
    header, rows = _lay_out(table)
    header, *rows = [[*map(escape_markdown, row)] for row in [header, *rows]]
    lines = [f"# {escape_markdown(table.title)}", "", _lay_lines(rows, header, "pipe"), ""]
    lines += [*(f"- {escape_markdown(note)}" for note in table.notes), ""] if table.notes else []
    lines += [_MISSING, "", *(f"    {command}" for command in table.commands), ""] if table.commands else []
    return "\n".join(lines)


def to_csv(table: Table) -> str:
    """Return a table as CSV, with up to five columns per metric.

    These columns hold the text of the cell, its mean, its spread, the number of runs, and the paper's value. Row labels
    come from runs, possibly other people's, so anything in them that a spreadsheet would run as a formula is preceded
    by an apostrophe.
    """
    parts = ("", " mean", " std", " runs", *([f" {_PAPER}"] if table.is_of_paper else []))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*table.head, *(f"{column.full_title}{part}" for column in table.columns for part in parts)])
    for line in table.lines:
        pairs = zip_longest(line.cells, line.paper)
        values = [(cell.text, cell.mean, cell.spread, cell.n_runs, paper)[: len(parts)] for cell, paper in pairs]
        writer.writerow([*(_FORMULA.sub(r"\1'", label) for label in line.of), *chain.from_iterable(values)])
    return text.getvalue()


def to_latex(table: Table) -> str:
    """Return a table as LaTeX, for the package booktabs."""
    header, rows = _lay_out(table)
    caption = _escape_latex(" ".join([f"{table.title}.", *table.notes]))
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", rf"\label{{{table.label or table.name}}}"]
    lines += [_lay_lines(rows, header, "latex_booktabs"), r"\end{table}", ""]
    text = "\n".join(lines).translate(_LATEX)
    return text.encode("latin-1", "replace").decode("latin-1")  # other characters that pdfLaTeX cannot typeset become ?


def _lay_lines(rows: Sequence[Sequence[str]], header: Sequence[str], style: str) -> str:
    """Return a table as text in a format of the library tabulate, such as ``pipe`` or ``html``."""
    return str(tabulate(rows, header, style, disable_numparse=True))


def _lay_out(table: Table) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows. Next to each column for which the paper has values, another column shows them."""
    header = list(table.head)
    rows = [list(line.of) for line in table.lines]
    for at, column in enumerate(table.columns):
        header.append(column.full_title)
        reported = [line.paper[at] if line.paper else None for line in table.lines]
        header += [_PAPER] if any(reported) else []
        for row, line, paper in zip(rows, table.lines, reported, strict=True):
            row.append(_show(line.cells[at], table, line.of))
            row += [paper or DASH] if any(reported) else []
    return header, rows


def _show(cell: Cell, table: Table, of: Sequence[str]) -> str:
    """Return the text of a cell, followed by the cell's number of runs in parentheses.

    The number is left out if it is 0 or if the last label of the row already shows it.

    Args:
        cell: The cell.
        table: The table of the cell.
        of: The labels of the row.
    """
    is_in_head = table.head[-1] == RUNS and of[-1] == str(cell.n_runs)
    return cell.text if is_in_head or cell.n_runs == 0 else f"{cell.text} ({cell.n_runs})"


def _escape_latex(text: str) -> str:
    """Return text escaped for LaTeX in the same way as the library tabulate escapes the cells of a table."""
    return _lay_lines([[text]], (), "latex_booktabs").splitlines()[2].strip(" \\")


WRITERS: Final[Mapping[str, Callable[[Table], str]]] = {"md": to_markdown, "csv": to_csv, "tex": to_latex}
"""The writer of each format, by the suffix of its files."""


def write_tables(folder: Path, tables: Sequence[Table], facts: Sequence[str]) -> Path:
    """Write all tables and the page that shows them, and delete files of earlier calls that are not written again.

    A file that was changed after the earlier call is kept; see `write_listed`.

    Args:
        folder: The folder, which is created if it is missing.
        tables: The tables, in the order of the page.
        facts: Sentences about the runs that were read, for the top of the page.

    Returns:
        The path of the page.

    Raises:
        InputError: The folder is a link or cannot be written, or its list of files is damaged.
    """
    by_name: dict[str, Table] = {}
    for table in tables:
        name = find_unused(table.name[:_LONGEST], by_name)
        by_name[name] = _clean(table, name)
    tables = [*by_name.values()]
    files = {f"{table.name}.{ending}": write(table).encode() for table in tables for ending, write in WRITERS.items()}
    page = to_page(tables, [*map(printable, facts)])
    try:
        write_listed(folder, files, {INDEX: page.encode()})
    except OSError as error:
        why = f"{folder} cannot be written ({reason(error)})"
        raise InputError(f"{why}; choose another folder with outputs=…") from error
    return folder / INDEX


def _clean(table: Table, name: str) -> Table:
    """Return a table with a new name and without characters that could control a terminal or break a line.

    Each such character is replaced by ``�`` in the title, labels, notes and commands, but not in the titles of the
    columns.
    """
    lines = tuple(replace(line, of=tuple(map(printable, line.of))) for line in table.lines)
    notes, commands = (tuple(map(printable, texts)) for texts in (table.notes, table.commands))
    return replace(table, name=name, title=printable(table.title), lines=lines, notes=notes, commands=commands)


def find_unused(name: str, names: Collection[str]) -> str:
    """Return a name that is not among ``names``: the name itself, or followed by a number."""
    return next(each for each in chain([name], (f"{name}-{number}" for number in count(2))) if each not in names)


def to_page(tables: Sequence[Table], facts: Sequence[str]) -> str:
    """Return an HTML page of all tables.

    Args:
        tables: The tables, in the order of the page.
        facts: Sentences about the runs that were read.
    """
    values = {"facts": facts, "tables": tables, "endings": [*WRITERS], "lay_out": _lay_out, "missing": _MISSING}
    return render("tables.html", title="Tables", **values)
