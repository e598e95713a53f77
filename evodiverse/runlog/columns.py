"""The columns of a run's log, except the domain's own: type, meaning and unit of each, and when a row has no value.

``columns.yaml`` lists them. `evodiverse.runlog.datasets` derives the Arrow schemas from it, and ``scripts/columns.py``
generates ``docs/columns.md``. The texts are not written to the Parquet files.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from evodiverse.kit.files import read_shipped

CALLS: Final = pa.list_(pa.int64())
"""The Arrow type of a list of numbers of oracle calls."""

TIMES: Final = pa.struct([(part, pa.float64()) for part in ("wall", "operator", "oracle")])
"""The Arrow type of the times of a run, in seconds."""

TYPES: Final[Mapping[str, pa.DataType]] = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "list of int64": CALLS,
    "struct": TIMES,
}
"""The Arrow types by the names that ``columns.yaml`` gives them."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a dataset.

    Attributes:
        type: The name of the Arrow type of the values.
        meaning: The meaning of a value, as a phrase or sentences in Markdown.
        unit: The unit of a number; empty for a count, an index, a name or a truth value.
        null_if: The case in which a row has no value; empty if every row has one.
    """

    type: str
    meaning: str
    unit: str = ""
    null_if: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset of a run.

    Attributes:
        meaning: The meaning of a row, as sentences in Markdown.
        columns: The columns by name, in the same order as in the Parquet files.
        key: The columns that identify a row; two logs are compared after sorting their rows by them.
    """

    meaning: str
    columns: Mapping[str, Column]
    key: tuple[str, ...] = ()


def _read_dataset(entry: Mapping[str, Any]) -> Dataset:
    columns = {name: Column(**column) for name, column in entry["columns"].items()}
    return Dataset(entry["meaning"], columns, tuple(entry.get("key", ())))


_DATASETS: Final = {
    name: _read_dataset(entry) for name, entry in read_shipped(Path(__file__).with_suffix(".yaml")).items()
}

DOCKED: Final = _DATASETS.pop("docking")
"""The dataset ``docking``, which is added to a complete run."""

FORECASTS: Final = _DATASETS.pop("forecasts").columns
"""Additional columns of ``evaluations`` in a run with ``method.screen``."""

COLUMNS: Final[Mapping[str, Dataset]] = _DATASETS
"""The datasets of every run, in the order of ``docs/columns.md``."""


def make_schema(columns: Mapping[str, Column]) -> pa.Schema:
    """Return the Arrow schema of a dataset with these columns, without their descriptions."""
    return pa.schema([(name, TYPES[column.type]) for name, column in columns.items()])
