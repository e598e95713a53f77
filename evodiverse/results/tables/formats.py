"""Formats of filled tables: Markdown, CSV, LaTeX and HTML."""

import csv
import html
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tabulate import tabulate

from evodiverse.results.tables.cells import DASH, Cell
from evodiverse.results.tables.table import RUNS, Table

_MISSING: Final = "To fill the cells with a dash, run:"
_PAPER: Final = "paper"
# Characters that pdfLaTeX cannot typeset as they are.
_LATEX: Final = str.maketrans(
    {
        "±": r"$\pm$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "∞": r"$\infty$",
        "β": r"$\beta$",
        "ν": r"$\nu$",
        "ξ": r"$\xi$",
        "₁": "$_1$",
        "₂": "$_2$",
        "−": "$-$",
        "—": "---",
        "†": r"$^\dagger$",
        # at the start of a row, LaTeX would take them for arguments of the preceding \\
        "[": "{[}",
        "*": "{*}",
    }
)
# The places where a spreadsheet would start a formula when it reads a cell, or when it splits a cell at semicolons.
_FORMULA: Final = re.compile(r"(^|;)(?=[=+\-@\t\r＝＋－＠])")
# The characters that Markdown would take for a link, a picture, or the end of a cell.
_MARKDOWN: Final = re.compile(r"[\\\[\]|]|(?<=:)//|(?<=www)\.", re.IGNORECASE)


def to_markdown(table: Table) -> str:
    """Return a table as Markdown, with its notes and the commands that fill it."""
    header, rows = _lay_out(table)
    header, *rows = [[*map(_escape_markdown, row)] for row in [header, *rows]]
    lines = [f"# {_escape_markdown(table.title)}", "", _lay_lines(rows, header, "pipe"), ""]
    lines += [*(f"- {_escape_markdown(note)}" for note in table.notes), ""] if table.notes else []
    lines += [_MISSING, "", *(f"    {command}" for command in table.commands), ""] if table.commands else []
    return "\n".join(lines)


def to_csv(table: Table) -> str:
    """Return a table as CSV, with up to five columns per metric.

    These columns hold the text of the cell, its mean, its spread, the number of runs, and the paper's value. Row labels
    come from runs, possibly other people's, so anything in them that a spreadsheet would run as a formula is preceded
    by an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    titles = [column.full_title for column in table.columns]
    parts = ("", " mean", " std", " runs", *([f" {_PAPER}"] if table.is_of_paper else []))
    writer.writerow([*table.head, *(f"{title}{part}" for title in titles for part in parts)])
    for line in table.lines:
        cells = [
            value
            for cell, reported in zip(line.cells, line.paper, strict=True)
            for value in [cell.text, cell.mean, cell.spread, cell.n_runs, *([reported] if table.is_of_paper else [])]
        ]
        writer.writerow([*(_FORMULA.sub(r"\1'", text) for text in line.of), *cells])
    return text.getvalue()


def to_latex(table: Table) -> str:
    """Return a table as LaTeX, for the package booktabs."""
    header, rows = _lay_out(table)
    body = _lay_lines(rows, header, "latex_booktabs")
    caption = " ".join([f"{table.title}.", *table.notes])
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escape_latex(caption)}}}",
        rf"\label{{{table.label}}}",
        body,
    ]
    text = "\n".join([*lines, r"\end{table}", ""]).translate(_LATEX)
    return text.encode("latin-1", "replace").decode("latin-1")  # other characters that pdfLaTeX cannot typeset become ?


def to_html(table: Table) -> str:
    """Return a table as HTML, with its notes and the commands that fill it, but without a title."""
    header, rows = _lay_out(table)
    parts = [_lay_lines(rows, header, "html")]
    if table.notes:
        parts.append(f"<ul>{''.join(f'<li>{html.escape(note)}</li>' for note in table.notes)}</ul>")
    if table.commands:
        commands = html.escape("\n".join(table.commands))
        parts.append(f"<p>{_MISSING}</p><pre>{commands}</pre>")
    return "\n".join(parts)


def _lay_lines(rows: Sequence[Sequence[str]], header: Sequence[str], style: str) -> str:
    """Return a table as text in a format of the library tabulate, such as ``pipe`` or ``html``."""
    text: str = tabulate(rows, header, style, disable_numparse=True)
    return text


def _lay_out(table: Table) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows. Next to each column for which the paper has values, another column shows them."""
    header = list(table.head)
    rows = [list(line.of) for line in table.lines]
    for at, column in enumerate(table.columns):
        header.append(column.full_title)
        has_paper = any(line.paper[at] is not None for line in table.lines)
        header += [_PAPER] if has_paper else []
        for row, line in zip(rows, table.lines, strict=True):
            row.append(_show(line.cells[at], table, line.of))
            row += [line.paper[at] or DASH] if has_paper else []
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


def _escape_markdown(text: str) -> str:
    """Return text in which Markdown finds no tags, links or pictures, and no end of a cell."""
    return _MARKDOWN.sub(lambda special: f"\\{special[0]}", html.escape(text, quote=False))


def _escape_latex(text: str) -> str:
    """Return text escaped for LaTeX in the same way as the library tabulate escapes the cells of a table."""
    return _lay_lines([[text]], (), "latex_booktabs").splitlines()[2].strip(" \\")


WRITERS: Final[Mapping[str, Callable[[Table], str]]] = {"md": to_markdown, "csv": to_csv, "tex": to_latex}
"""The writer of each format, by the suffix of its files."""
