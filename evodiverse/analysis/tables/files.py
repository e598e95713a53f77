"""Writes tables into a folder."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

from evodiverse.analysis.tables.formats import WRITERS
from evodiverse.analysis.tables.index import to_page
from evodiverse.analysis.tables.table import Table
from evodiverse.errors import InputError, reason
from evodiverse.kit.listed_files import write_listed
from evodiverse.kit.text import printable

INDEX: Final = "index.html"
_LONGEST: Final = 200  # of 255 that file systems allow


def write_tables(folder: Path, tables: Sequence[Table], facts: Sequence[str]) -> Path:
    """Write all tables and the page that shows them, and delete what an earlier call wrote and this one does not.

    A hidden file lists what was written with its SHA-256. A file on the list that was changed since then stays, and so
    does every other file. Nothing is written through a link.

    Args:
        folder: Is made if need be.
        tables: In the order to be shown.
        facts: What was read, a line each.

    Returns:
        The page.

    Raises:
        InputError: The folder is a link or cannot be written.
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
        raise InputError(f"{folder} cannot be written ({reason(error)}); choose another outputs") from error
    return folder / INDEX


def _clean(table: Table, name: str) -> Table:
    """Return a table with a name for its files, in whose texts nothing controls a terminal or breaks a line."""
    return replace(
        table,
        name=name,
        title=printable(table.title),
        lines=tuple(replace(line, of=tuple(map(printable, line.of))) for line in table.lines),
        notes=tuple(map(printable, table.notes)),
        commands=tuple(map(printable, table.commands)),
    )


def _name(tables: Sequence[Table]) -> list[str]:
    """Return a name for the files of each table: its own, unless that is too long or another table has it."""
    names: list[str] = []
    for table in tables:
        name = table.name[:_LONGEST]
        others = (f"{name}-{number}" for number in count(2))
        names.append(name if name not in names else next(other for other in others if other not in names))
    return names


def _is_table(name: str) -> bool:
    return Path(name).suffix.lstrip(".") in WRITERS
