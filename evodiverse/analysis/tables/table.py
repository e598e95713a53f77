"""A filled table."""

from dataclasses import dataclass

from evodiverse.analysis.tables.cells import DASH, Cell
from evodiverse.analysis.tables.layout import Column


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a filled table: its heads, our cells, and beside each what the paper reports, None if nothing."""

    of: tuple[str, ...]
    cells: tuple[Cell, ...]
    paper: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A filled table.

    Attributes:
        name: Of its files.
        title: What it is about.
        head: What stands above the heads of the rows.
        columns: The metrics.
        lines: The rows.
        notes: What a reader must know.
        commands: What would fill the cells that are empty.
        label: What LaTeX refers to it by.
        is_of_paper: Whether it is one of the paper's.
    """

    name: str
    title: str
    head: tuple[str, ...]
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    commands: tuple[str, ...]
    label: str
    is_of_paper: bool

    @property
    def n_filled(self) -> int:
        """How many cells have a number of ours."""
        return sum(cell.text != DASH for line in self.lines for cell in line.cells)

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return sum(len(line.cells) for line in self.lines)
