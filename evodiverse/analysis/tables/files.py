"""Writes tables into a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evodiverse.analysis.tables.build import Table
from evodiverse.analysis.tables.formats import to_csv, to_latex, to_markdown
from evodiverse.analysis.tables.index import to_page
from evodiverse.analysis.tables.layout import found_layouts, paper_layouts
from evodiverse.errors import InputError, reason

INDEX: Final = "index.html"
_WRITERS: Final = {"md": to_markdown, "csv": to_csv, "tex": to_latex}


def write_tables(folder: Path, tables: Sequence[Table], facts: Sequence[str]) -> Path:
    """Write all tables and the page that shows them, and delete those of an earlier call that are not among them.

    Args:
        folder: Is made if need be.
        tables: In the order to be shown.
        facts: What was read, a line each.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written.
    """
    page = folder / INDEX
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = {page}
        for table in tables:
            for ending, write in _WRITERS.items():
                file = folder / f"{table.name}.{ending}"
                file.write_text(write(table), encoding="utf-8")
                written.add(file)
        page.write_text(to_page(tables, facts), encoding="utf-8")
        for layout in (*paper_layouts(), *found_layouts()):
            for ending in _WRITERS:
                for old in {
                    *folder.glob(f"{layout.name}.{ending}"),
                    *folder.glob(f"{layout.name}_*.{ending}"),
                } - written:
                    old.unlink()
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({reason(error)}); choose another outputs") from error
    return page
