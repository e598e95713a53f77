"""Write tables to a folder."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

from evodiverse.errors import InputError, reason
from evodiverse.kit.listed_files import write_listed
from evodiverse.results.tables.formats import WRITERS
from evodiverse.results.tables.index import to_page
from evodiverse.results.tables.table import Table
from evodiverse.text import printable

INDEX: Final = "index.html"
_LONGEST: Final = 200  # file systems allow 255, including suffixes


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
        InputError: The folder is a link or cannot be written, its list of files is damaged, or tabulate is not
            installed.
    """
    tables, facts = (
        [_clean(table, name) for table, name in zip(tables, _name(tables), strict=True)],
        [*map(printable, facts)],
    )
    files = {f"{table.name}.{ending}": write(table) for table in tables for ending, write in WRITERS.items()}
    contents = {name: text.encode() for name, text in files.items()}
    try:
        write_listed(folder, contents, {INDEX: to_page(tables, facts).encode()}, _is_table)
    except OSError as error:
        why = f"{folder} cannot be written ({reason(error)})"
        raise InputError(f"{why}; choose another folder with outputs=…") from error
    return folder / INDEX


def _clean(table: Table, name: str) -> Table:
    """Return a table with a new name and without characters that could control a terminal or break a line.

    Each such character is replaced by ``�`` in the title, labels, notes and commands, but not in the titles of the
    columns.
    """
    return replace(
        table,
        name=name,
        title=printable(table.title),
        lines=tuple(replace(line, of=tuple(map(printable, line.of))) for line in table.lines),
        notes=tuple(map(printable, table.notes)),
        commands=tuple(map(printable, table.commands)),
    )


def _name(tables: Sequence[Table]) -> list[str]:
    """Return a unique name for the files of each table: its own name, shortened or numbered if necessary."""
    names: list[str] = []
    for table in tables:
        name = table.name[:_LONGEST]
        others = (f"{name}-{number}" for number in count(2))
        names.append(name if name not in names else next(other for other in others if other not in names))
    return names


def _is_table(name: str) -> bool:
    return Path(name).suffix.lstrip(".") in WRITERS
