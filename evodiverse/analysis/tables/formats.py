"""A filled table as Markdown, CSV, LaTeX and HTML."""

import csv
import html
import io
from collections.abc import Sequence
from typing import Final

from tabulate import tabulate

from evodiverse.analysis.tables.build import Table
from evodiverse.analysis.tables.cells import DASH, Cell

_MISSING: Final = "To fill the cells with a dash:"
_PAPER: Final = "paper"
# What pdfLaTeX cannot set as it is.
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
    }
)


def to_markdown(table: Table) -> str:
    """Return a table in Markdown, with its notes and the commands that fill it."""
    rows = [[text.replace("|", r"\|") for text in row] for row in [_header(table), *_rows(table)]]
    lines = [f"# {table.title}", "", tabulate(rows[1:], rows[0], "pipe", disable_numparse=True), ""]
    lines += [*(f"- {note}" for note in table.notes), ""] if table.notes else []
    lines += [_MISSING, "", *(f"    {command}" for command in table.commands), ""] if table.commands else []
    return "\n".join(lines)


def to_csv(table: Table) -> str:
    """Return a table as CSV: of each metric what is shown, the mean, its spread, the runs, and the paper's number."""
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
        writer.writerow([*line.of, *cells])
    return text.getvalue()


def to_latex(table: Table) -> str:
    """Return a table in LaTeX, for the package booktabs."""
    body = tabulate(_rows(table), _header(table), "latex_booktabs", disable_numparse=True)
    caption = " ".join([f"{table.title}.", *table.notes])
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_escape(caption)}}}", rf"\label{{{table.label}}}", body]
    text = "\n".join([*lines, r"\end{table}", ""]).translate(_LATEX)
    return text.encode("latin-1", "replace").decode("latin-1")  # what else pdfLaTeX cannot set becomes a question mark


def to_html(table: Table) -> str:
    """Return a table, its notes and the commands that fill it in HTML, without a title."""
    parts = [tabulate(_rows(table), _header(table), "html", disable_numparse=True)]
    if table.notes:
        parts.append(f"<ul>{''.join(f'<li>{html.escape(note)}</li>' for note in table.notes)}</ul>")
    if table.commands:
        commands = html.escape("\n".join(table.commands))
        parts.append(f"<p>{_MISSING}</p><pre>{commands}</pre>")
    return "\n".join(parts)


def _header(table: Table) -> list[str]:
    beside = _has_paper(table)
    titles = [
        [column.full_title, *([_PAPER] if has else [])] for column, has in zip(table.columns, beside, strict=True)
    ]
    return [*table.head, *(title for each in titles for title in each)]


def _rows(table: Table) -> list[list[str]]:
    beside = _has_paper(table)
    return [
        [
            *line.of,
            *(
                text
                for cell, reported, has in zip(line.cells, line.paper, beside, strict=True)
                for text in [_show(cell, table, line.of), *([reported or DASH] if has else [])]
            ),
        ]
        for line in table.lines
    ]


def _has_paper(table: Table) -> list[bool]:
    """Return of each column whether the paper reports anything beside it."""
    return [any(line.paper[at] is not None for line in table.lines) for at in range(len(table.columns))]


def _show(cell: Cell, table: Table, of: Sequence[str]) -> str:
    """Return a cell with the number of runs behind it, where the row does not say it."""
    says = not table.is_of_paper and of[-1] == str(cell.n_runs)
    return cell.text if says or cell.n_runs == 0 else f"{cell.text} ({cell.n_runs})"


def _escape(text: str) -> str:
    """Return text as LaTeX sets it, by the rules of the library that sets the cells."""
    return str(tabulate([[text]], tablefmt="latex_booktabs", disable_numparse=True)).splitlines()[2].strip(" \\")
