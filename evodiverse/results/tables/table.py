"""Tables with their values and notes, and with the commands that start missing runs."""

from dataclasses import dataclass
from typing import Final

from evodiverse.results.tables.cells import DASH, Cell
from evodiverse.results.tables.layout import Column

RUNS: Final = "runs"
"""The title above the numbers of runs, in tables whose rows show them."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a filled table.

    Attributes:
        of: The labels at the start of the row.
        cells: The cells, one per column. They show our results, except in a benchmark's columns for published methods,
            which show published values.
        paper: The value that the paper reports for each cell; None if it reports none.
    """

    of: tuple[str, ...]
    cells: tuple[Cell, ...]
    paper: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A filled table.

    Attributes:
        name: The name of the table's files.
        title: The title of the table.
        head: The titles above the labels of the rows.
        columns: The columns, each with its metric.
        lines: The rows.
        notes: The notes below the table.
        commands: The commands that start the runs for the empty cells.
        label: The label of the table in LaTeX.
        is_of_paper: Whether this is a table of the paper.
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
        """The number of cells that are not empty."""
        return sum(cell.text != DASH for line in self.lines for cell in line.cells)

    @property
    def n_cells(self) -> int:
        """The number of cells of the table, including the empty ones but not the labels of the rows."""
        return sum(len(line.cells) for line in self.lines)
