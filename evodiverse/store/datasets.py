"""The Parquet datasets of a run, as they are written and checked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from evodiverse.errors import InputError
from evodiverse.ports import Row
from evodiverse.runlog.columns import CALLS
from evodiverse.runlog.datasets import DATASETS, EVALUATIONS, FORECAST, NEVER_NULL, DatasetReader

_ARROW_TYPES = {float: pa.float64(), int: pa.int64(), str: pa.string()}


def schemas(columns: Mapping[str, type]) -> dict[str, pa.Schema]:
    """Return the schema of each dataset, with further columns at the end of ``evaluations``."""
    further = [pa.field(name, _ARROW_TYPES[kind]) for name, kind in columns.items()]
    return {**DATASETS, "evaluations": pa.schema([*EVALUATIONS, *further])}


def add_columns(domain_columns: Mapping[str, type], *, screens: bool) -> dict[str, type]:
    """Return the columns that a run adds to ``evaluations``: the domain's own, and the forecasts of what is screened.

    Raises:
        InputError: One of the domain's has the name of a column that there is already, but for upper and lower case.
    """
    own = FORECAST if screens else {}
    taken = [name for name in domain_columns if name.lower() in {*EVALUATIONS.names, *own}]
    if taken:
        raise InputError(*(f"the task's own column {name} is one of the log's already; rename it" for name in taken))
    return {**domain_columns, **own}


def write_part(file: BinaryIO, rows: Sequence[Row], schema: pa.Schema) -> None:
    """Write one part. Small parts dominate a run's size, so they carry no statistics and no copy of the schema."""
    table = pa.Table.from_pylist(list(rows), schema=schema)
    integers = [field.name for field in schema if field.type == pa.int64()]
    pq.write_table(
        table,
        file,
        compression="zstd",
        compression_level=9,
        use_dictionary=["outcome", "operator", "model"],
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED") | _list_encodings(schema),
        write_statistics=False,
        write_page_checksum=True,
        store_schema=False,
    )


def read_rows(name: str, schema: pa.Schema, columns: Sequence[str], parts: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the rows of parts of a dataset, in their order.

    Raises:
        InputError: A part is damaged; names it.
    """
    reader = _open(name, schema, columns)
    rows: list[dict[str, Any]] = []
    for part in parts:
        with _naming(part):
            values = reader.read(part)
        rows += [dict(zip(columns, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return rows


def check_part(name: str, schema: pa.Schema, part: Path, iterations: range) -> None:
    """Read one part to see that it is whole and in its place.

    Raises:
        InputError: It is damaged, or is another dataset's or of other iterations than these.
    """
    with _naming(part):
        table = _open(name, schema, schema.names).read_table(part)
        if any(row not in iterations for row in table["iteration"].to_pylist()):
            raise ValueError("it holds another iteration")


def _open(name: str, schema: pa.Schema, columns: Sequence[str]) -> DatasetReader:
    return DatasetReader({column: schema.field(column).type for column in columns}, NEVER_NULL[name])


@contextmanager
def _naming(part: Path) -> Iterator[None]:
    """Name the part in which damage is found."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{part} is damaged ({error}); use overwrite=true to start afresh") from error


def _list_encodings(schema: pa.Schema) -> dict[str, str]:
    return {f"{field.name}.list.element": "DELTA_BINARY_PACKED" for field in schema if field.type == CALLS}
