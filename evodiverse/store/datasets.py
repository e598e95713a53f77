"""Encoding the Parquet datasets of a run."""

from collections.abc import Mapping, Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from evodiverse.errors import InputError
from evodiverse.ports import Row
from evodiverse.runlog.columns import CALLS, FORECASTS
from evodiverse.runlog.datasets import DATASETS, EVALUATIONS, OWN_TYPES


def schemas(columns: Mapping[str, type]) -> dict[str, pa.Schema]:
    """Return the schema of each dataset, by name; ``columns`` come after the fixed columns of ``evaluations``."""
    further = [pa.field(name, OWN_TYPES[kind]) for name, kind in columns.items()]
    return {**DATASETS, "evaluations": pa.schema([*EVALUATIONS, *further])}


def add_columns(domain_columns: Mapping[str, type], *, screens: bool) -> dict[str, type]:
    """Return the columns that a run adds to ``evaluations``: the type of each, by name.

    They are those of the domain and, if the run screens proposals, those of the surrogate's forecasts.

    Raises:
        InputError: A column of the domain has the name of an existing column, regardless of case.
    """
    own: dict[str, type] = dict.fromkeys(FORECASTS, float) if screens else {}
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


def _list_encodings(schema: pa.Schema) -> dict[str, str]:
    return {f"{field.name}.list.element": "DELTA_BINARY_PACKED" for field in schema if field.type == CALLS}
