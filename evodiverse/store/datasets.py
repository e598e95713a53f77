"""The Parquet datasets of a run and their columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from evodiverse.errors import InputError, describe
from evodiverse.ports import Row

_CALLS = pa.list_(pa.int64())


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


EVALUATIONS = _schema(
    iteration=pa.int64(),
    pool=pa.int64(),
    slot=pa.int64(),
    attempt=pa.int64(),
    outcome=pa.string(),
    call=pa.int64(),
    reused_call=pa.int64(),
    genotype=pa.string(),
    key=pa.string(),
    score=pa.float64(),
    energy=pa.float64(),
    valid=pa.bool_(),
    error=pa.string(),
    operator=pa.string(),
    parents=_CALLS,
    llm_call=pa.int64(),
    seconds=pa.float64(),
)

DATASETS: Mapping[str, pa.Schema] = {
    "evaluations": EVALUATIONS,
    "populations": _schema(iteration=pa.int64(), pool=pa.int64(), beta=pa.float64(), members=_CALLS),
    "swaps": _schema(
        iteration=pa.int64(),
        cold_pool=pa.int64(),
        hot_pool=pa.int64(),
        cold_call=pa.int64(),
        hot_call=pa.int64(),
        log_accept=pa.float64(),
        log_u=pa.float64(),
        accepted=pa.bool_(),
        blocked=pa.bool_(),
        xi=pa.float64(),
    ),
    "migrations": _schema(iteration=pa.int64(), from_pool=pa.int64(), to_pool=pa.int64(), call=pa.int64()),
    "adaptation": _schema(
        iteration=pa.int64(),
        cold_pool=pa.int64(),
        hot_pool=pa.int64(),
        rate=pa.float64(),
        xi=pa.float64(),
        accepted=pa.int64(),
        tried=pa.int64(),
        clamped=pa.bool_(),
    ),
    "llm_calls": _schema(
        llm_call=pa.int64(),
        iteration=pa.int64(),
        pool=pa.int64(),
        slot=pa.int64(),
        attempt=pa.int64(),
        model=pa.string(),
        prompt_tokens=pa.int64(),
        completion_tokens=pa.int64(),
        cost_usd=pa.float64(),
        seconds=pa.float64(),
        cached=pa.bool_(),
        retries=pa.int64(),
        outcome=pa.string(),
        prompt=pa.string(),
        reply=pa.string(),
        error=pa.string(),
    ),
}

_ARROW_TYPES = {float: pa.float64(), int: pa.int64(), str: pa.string()}


def schemas(domain_columns: Mapping[str, type]) -> dict[str, pa.Schema]:
    """Return the schema of each dataset, with the domain's own columns at the end of ``evaluations``.

    Raises:
        InputError: One has the name of a column that there is already, but for upper and lower case.
    """
    taken = [name for name in domain_columns if name.lower() in EVALUATIONS.names]
    if taken:
        raise InputError(*(f"the task's own column {name} is one of the log's already; rename it" for name in taken))
    own = [pa.field(name, _ARROW_TYPES[kind]) for name, kind in domain_columns.items()]
    return {**DATASETS, "evaluations": pa.schema([*EVALUATIONS, *own])}


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


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read one part, all columns if none are named.

    Raises:
        InputError: It is damaged.
    """
    try:
        return pq.ParquetFile(path, page_checksum_verification=True).read(columns=columns)
    except (OSError, ValueError, KeyError) as error:  # Arrow's errors are among these
        raise InputError(f"{path} is damaged ({describe(error)}); use overwrite=true to start afresh") from error


def check_part(path: Path, schema: pa.Schema, iterations: range) -> None:
    """Read one part to see that it is whole and in its place.

    Raises:
        InputError: It is damaged, or is another dataset's or of other iterations than these.
    """
    table = read_part(path)
    if table.column_names != schema.names:
        raise InputError(f"{path} is damaged (it has other columns); use overwrite=true to start afresh")
    if any(row not in iterations for row in table["iteration"].to_pylist()):
        raise InputError(f"{path} is damaged (it holds another iteration); use overwrite=true to start afresh")


def _list_encodings(schema: pa.Schema) -> dict[str, str]:
    return {f"{field.name}.list.element": "DELTA_BINARY_PACKED" for field in schema if field.type == _CALLS}
