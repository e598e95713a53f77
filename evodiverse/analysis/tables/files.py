"""Writes tables into a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evodiverse.analysis.tables.build import Table
from evodiverse.analysis.tables.formats import WRITERS
from evodiverse.analysis.tables.index import to_page
from evodiverse.errors import InputError, reason

INDEX: Final = "index.html"
_WRITTEN: Final = ".written"


def write_tables(folder: Path, tables: Sequence[Table], facts: Sequence[str]) -> Path:
    """Write all tables and the page that shows them, and delete what an earlier call wrote and this one does not.

    What was written stands in a hidden file; no other file is touched.

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
        written = [f"{table.name}.{ending}" for table in tables for ending in WRITERS]
        for table in tables:
            for ending, write in WRITERS.items():
                (folder / f"{table.name}.{ending}").write_text(write(table), encoding="utf-8")
        page.write_text(to_page(tables, facts), encoding="utf-8")
        manifest = folder / _WRITTEN
        before = manifest.read_text(encoding="utf-8").splitlines() if manifest.exists() else []
        for name in set(before) - set(written):
            if Path(name).suffix.lstrip(".") in WRITERS and Path(name).name == name:
                (folder / name).unlink(missing_ok=True)
        manifest.write_text("\n".join(written), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({reason(error)}); choose another outputs") from error
    return page
