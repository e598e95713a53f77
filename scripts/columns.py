"""Print docs/columns.md: python scripts/columns.py > docs/columns.md."""

import sys
from collections.abc import Iterator, Mapping

from evodiverse.runlog.datasets import COLUMNS, DOCKED, FORECASTS, Column, Dataset
from evodiverse.runlog.record import MEANINGS
from evodiverse.tasks.equations import task as equations
from evodiverse.tasks.molecules import task as molecules
from evodiverse.tasks.molecules.objective import objective
from evodiverse.tasks.programs import exact, feedback, points
from evodiverse.tasks.programs.bin_packing import evaluator as bin_packing
from evodiverse.tasks.programs.circle_packing import evaluator as circle_packing
from evodiverse.vocabulary import OwnColumn

INTRODUCTION = """\
# Columns of the log

The columns of all datasets that a run writes, and the keys of its `run.json`; `make docs` generates this page. A
dataset is a folder of Parquet files, `<run>/<dataset>/part-*.parquet` ([the run
directory](runs.md#the-run-directory)). Candidates are identified by the number of the oracle call that evaluated them
(`call`). A column has a value in every row, unless *null* says when it has none. The columns listed after *Key*
identify a row.

Columns of several datasets:

"""

OWN = """
## Columns of the domains

Each domain adds columns of its own to `evaluations`. All of them are null for a candidate that was not evaluated, and
most of them for a candidate whose evaluation failed. Your own [evaluator](programs.md) or [domain](domain.md) adds the
columns that it declares. Runs of [`evodiverse-baseline`](baselines.md) also have the column `selected`: 1 for the
equation that the engine itself chose, otherwise 0.
"""

RECORD = """
## run.json

| key | meaning |
|---|---|
"""

SHARED: Mapping[str, Column] = {
    **{name: COLUMNS["llm_calls"].columns[name] for name in ("iteration", "pool", "slot", "attempt")},
    **{name: COLUMNS["swaps"].columns[name] for name in ("cold_pool", "hot_pool")},
}
"""The columns that several datasets have."""
OWN_TYPES: Mapping[type, str] = {int: "int64", float: "float64", bool: "bool", str: "string"}


def main() -> int:
    """Print the page that lists the columns of the log, and return the exit code."""
    sys.stdout.write("".join(write_page()))
    return 0


def write_page() -> Iterator[str]:
    """Yield the text of the page, piece by piece."""
    yield INTRODUCTION
    yield from write_table(SHARED)
    for name, dataset in COLUMNS.items():
        yield from write_dataset(name, dataset)
        if name == "evaluations":
            yield "\nRuns with [screening](diverse.md#screening) (`method.screen`) have two more columns:\n\n"
            yield from write_table(FORECASTS)
    yield from write_dataset("docking", DOCKED)
    yield OWN
    own: Mapping[str, Mapping[str, OwnColumn]] = {
        "Molecules with an objective (`task.objective`)": objective.COLUMNS,
        "Molecules from a file of your own (`task.initial.path`)": molecules.COLUMNS,
        "Equations": equations.COLUMNS,
        "Programs": feedback.COLUMNS,
        "Programs: circle packing": circle_packing.COLUMNS,
        "Programs: points, circles in a rectangle and hexagons": points.COLUMNS,
        "Programs: [problems](problems.md) whose programs construct an object": exact.COLUMNS,
        "Programs: bin packing": bin_packing.COLUMNS,
    }
    for heading, columns in own.items():
        yield f"\n### {heading}\n\n"
        yield from write_table(columns)
    yield RECORD
    yield from (f"| `{key}` | {meaning} |\n" for key, meaning in MEANINGS.items())


def write_dataset(name: str, dataset: Dataset) -> Iterator[str]:
    """Yield the text of the page's section about a dataset, piece by piece; shared columns are only named."""
    own = {column: described for column, described in dataset.columns.items() if described != SHARED.get(column)}
    key, shared = (
        ", ".join(f"`{column}`" for column in columns)
        for columns in (dataset.key, [column for column in dataset.columns if column not in {*own, *dataset.key}])
    )
    yield f"\n## {name}\n\n{dataset.meaning} Key: {key}." + (f" Shared: {shared}." if shared else "") + "\n\n"
    yield from write_table(own)


def write_table(columns: Mapping[str, Column] | Mapping[str, OwnColumn]) -> Iterator[str]:
    """Yield a table with one row per column."""
    yield "| column | type | meaning |\n|---|---|---|\n"
    for name, column in columns.items():
        if isinstance(column, OwnColumn):
            kind, null = OWN_TYPES[column.kind], column.null
        else:
            kind, null = column.type, column.null_if
        unit = f", {column.unit}" if column.unit else ""
        yield f"| `{name}` | {kind}{unit} | {column.meaning}{f'; null: {null}' if null else ''} |\n"


if __name__ == "__main__":
    sys.exit(main())
