"""Encoding and checking the Parquet datasets of a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evodiverse.errors import InputError
from evodiverse.ports import Row
from evodiverse.runlog.columns import CALLS
from evodiverse.runlog.datasets import DATASETS, EVALUATIONS, FORECAST, LATER, NEVER_NULL, DatasetReader

_ARROW_TYPES = {float: pa.float64(), int: pa.int64(), str: pa.string()}


def schemas(columns: Mapping[str, type]) -> dict[str, pa.Schema]:
    """Return the schema of each dataset, by name; ``columns`` come after the fixed columns of ``evaluations``."""
    further = [pa.field(name, _ARROW_TYPES[kind]) for name, kind in columns.items()]
    return {**DATASETS, "evaluations": pa.schema([*EVALUATIONS, *further])}


def add_columns(domain_columns: Mapping[str, type], *, screens: bool) -> dict[str, type]:
    """Return the columns that a run adds to ``evaluations``: the type of each, by name.

    They are those of the domain and, if the run screens proposals, those of the surrogate's forecasts.

    Raises:
        InputError: A column of the domain has the name of an existing column, regardless of case.
    """
    own = FORECAST if screens else {}
    taken = [name for name in domain_columns if name.lower() in {*EVALUATIONS.names, *own}]
    if taken:
        raise InputError(*(f"the task's own column {name} already exists in the log; rename it" for name in taken))
    return {**domain_columns, **own}


def encode_part(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    """Return one part of a dataset, that is, the content of one Parquet file.

    Small parts dominate the size of a run, so a part contains neither statistics nor a copy of the Arrow schema.
    """
    table = pa.Table.from_pylist(list(rows), schema=schema)
    integers = [field.name for field in schema if field.type == pa.int64()]
    buffer = BytesIO()
    pq.write_table(
        table,
        buffer,
        compression="zstd",
        compression_level=9,
        use_dictionary=["outcome", "operator", "model"],
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED") | _list_encodings(schema),
        write_statistics=False,
        write_page_checksum=True,
        store_schema=False,
    )
    return buffer.getvalue()


def read_rows(name: str, schema: pa.Schema, columns: Sequence[str], parts: Iterable[Path]) -> list[dict[str, Any]]:
    """Return these columns of all rows in some parts of a dataset, in the order of the parts.

    Raises:
        InputError: A part is damaged; the message names it.
    """
    reader = _open(name, schema, columns)
    rows: list[dict[str, Any]] = []
    for part in parts:
        with _naming(part):
            values = reader.read(part)
        rows += [dict(zip(columns, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return rows


def check_part(name: str, schema: pa.Schema, part: Path, iterations: range) -> None:
    """Check that a part (a Parquet file) is intact and belongs to this dataset and these iterations.

    Args:
        name: The name of the dataset.
        schema: The schema of the dataset.
        part: The path of the part.
        iterations: The iterations whose rows the part may hold.

    Raises:
        InputError: The part is damaged, belongs to another dataset, or holds rows of other iterations.
    """
    with _naming(part):
        table = _open(name, schema, schema.names).read_table(part)
        if any(row not in iterations for row in table["iteration"].to_pylist()):
            raise ValueError("it holds rows of another iteration")


def _open(name: str, schema: pa.Schema, columns: Sequence[str]) -> DatasetReader:
    kinds = {column: schema.field(column).type for column in columns}
    return DatasetReader(kinds, NEVER_NULL[name], LATER.get(name, frozenset()))


@contextmanager
def _naming(part: Path) -> Iterator[None]:
    """Turn a `ValueError` from reading a part into an error that names the part."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{part} is damaged ({error}); use overwrite=true to start over") from error


def _list_encodings(schema: pa.Schema) -> dict[str, str]:
    return {f"{field.name}.list.element": "DELTA_BINARY_PACKED" for field in schema if field.type == CALLS}
