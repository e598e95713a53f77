"""Print docs/columns.md: python scripts/columns.py > docs/columns.md."""

import sys
from collections.abc import Iterator, Mapping

import pyarrow as pa

from evodiverse.kit.own_columns import OwnColumn
from evodiverse.runlog.columns import COLUMNS, DOCKED, FORECAST_COLUMNS, TIMES, Column, Dataset
from evodiverse.runlog.record import MEANINGS
from evodiverse.tasks.equations import task as equations
from evodiverse.tasks.molecules import task as molecules
from evodiverse.tasks.molecules.objective import objective
from evodiverse.tasks.programs import points
from evodiverse.tasks.programs.bin_packing import evaluator as bin_packing
from evodiverse.tasks.programs.circle_packing import evaluator as circle_packing

INTRODUCTION = """\
# Columns of the log

This page lists the columns of all datasets that a run writes, and the keys of its `run.json`. `make docs` generates
the page from the code that writes the logs. [The run directory](runs.md#the-run-directory) explains where the files are and how to read
them.

A dataset is a folder of Parquet files, `<run>/<dataset>/part-*.parquet`. Candidates are identified by the number of the
oracle call that evaluated them (`call`). The entry under *null* says in which rows a column has no value. A column
without such an entry has a value in every row (except for [columns of the domains](#columns-of-the-domains)). The
columns listed after *Key* identify a row. Two runs have the same log if, after sorting the rows by these columns, all
columns but `seconds`, `cached`, `cost_usd` and `retries` are equal.
"""

OWN = """
## Columns of the domains

Each domain adds columns of its own to `evaluations`, after those above. All of them are null for a candidate that was
not evaluated, and most of them are null for a candidate whose evaluation failed. The entries under *null* list only
further cases. An evaluator or a domain of your own adds the columns that it declares ([programs](programs.md),
[domains](domain.md)). Runs of [`evodiverse-baseline`](baselines.md), which runs another engine on a problem, also have
the column `selected`: 1 for the equation that the engine itself chose as its result, otherwise 0.
"""

RECORD = """
## run.json

| key | meaning |
|---|---|
"""

TYPES: Mapping[pa.DataType, str] = {
    pa.int64(): "int64",
    pa.float64(): "float64",
    pa.string(): "string",
    pa.bool_(): "bool",
    TIMES: "struct",
}
OWN_TYPES: Mapping[type, str] = {int: "int64", float: "float64", str: "string"}


def main() -> int:
    """Print the page that lists the columns of the log, and return the exit code."""
    sys.stdout.write("".join(write_page()))
    return 0


def write_page() -> Iterator[str]:
    """Yield the text of the page, piece by piece."""
    yield INTRODUCTION
    for name, dataset in COLUMNS.items():
        yield from write_dataset(name, dataset)
        if name == "evaluations":
            yield "\nRuns with [screening](diverse.md#screening) (`method.screen`) have two more columns:\n\n"
            yield from write_table(FORECAST_COLUMNS)
    yield from write_dataset("docking", DOCKED)
    yield OWN
    own: Mapping[str, Mapping[str, OwnColumn]] = {
        "Molecules with an objective (`task.objective`)": objective.COLUMNS,
        "Molecules from a file of your own (`task.initial.path`)": {molecules.LIBRARY_LINE: molecules.LIBRARY_COLUMN},
        "Equations": equations.COLUMNS,
        "Programs: circle packing": circle_packing.COLUMNS,
        "Programs: points (`heilbronn`, `distances`)": points.COLUMNS,
        "Programs: bin packing": bin_packing.COLUMNS,
    }
    for heading, columns in own.items():
        yield f"\n### {heading}\n\n"
        yield from write_table(columns)
    yield RECORD
    yield from (f"| `{key}` | {meaning} |\n" for key, meaning in MEANINGS.items())


def write_dataset(name: str, dataset: Dataset) -> Iterator[str]:
    """Yield the text of the page's section about a dataset, piece by piece."""
    key = ", ".join(f"`{column}`" for column in dataset.key)
    yield f"\n## {name}\n\n{dataset.meaning} Key: {key}.\n\n"
    yield from write_table(dataset.columns)


def write_table(columns: Mapping[str, Column] | Mapping[str, OwnColumn]) -> Iterator[str]:
    """Yield a table with one row per column."""
    yield "| column | type | unit | meaning | null |\n|---|---|---|---|---|\n"
    for name, column in columns.items():
        yield f"| `{name}` | {type_name(column)} | {column.unit} | {column.meaning} | {column.null} |\n"


def type_name(column: Column | OwnColumn) -> str:
    """Return the name of the Arrow type of a column."""
    if isinstance(column, OwnColumn):
        return OWN_TYPES[column.kind]
    return TYPES.get(column.kind, "list of int64")


if __name__ == "__main__":
    sys.exit(main())
