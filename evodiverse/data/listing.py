"""The table of ``evodiverse-data list``."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from evodiverse.data.cache import CacheEntry, State

_HEADS = ("name", "state", "size", "license", "source", "description")
_SIZE = _HEADS.index("size")
_STYLES = {State.PRESENT: "green", State.ABSENT: "yellow", State.DAMAGED: "bold red"}
_GAP = 2


def format_table(entries: Sequence[CacheEntry]) -> str:
    """Return a table as aligned text. Each entry is one line, never wrapped, so that grep works."""
    rows = [_HEADS, *(_cells(entry) for entry in entries)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "".join(f"{_align(row, widths)}\n" for row in rows)


def draw_table(entries: Sequence[CacheEntry]) -> Table:
    """Return the table for a terminal, with colored states, and long cells wrapped to the terminal's width."""
    table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="dim")
    for number, head in enumerate(_HEADS):
        is_long = head in ("source", "description")
        table.add_column(head, no_wrap=not is_long, overflow="fold", justify="right" if number == _SIZE else "left")
    for entry in entries:
        name, state, *others = _cells(entry)
        table.add_row(Text(name), Text(state, _STYLES[entry.state]), *(Text(cell) for cell in others))
    return table


def _cells(entry: CacheEntry) -> tuple[str, ...]:
    artifact = entry.artifact
    return (
        artifact.name,
        str(entry.state),
        f"{artifact.n_bytes / 1e6:.1f} MB",
        artifact.license,
        f"{artifact.requirement} {artifact.member}",
        artifact.description,
    )


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    pairs = enumerate(zip(cells, widths, strict=True))
    aligned = (cell.rjust(width) if number == _SIZE else cell.ljust(width) for number, (cell, width) in pairs)
    return (" " * _GAP).join(aligned).rstrip()
