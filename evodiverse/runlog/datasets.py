"""The datasets of a run's log: their columns and schemas, and a reader for their parts.

A dataset is a folder such as ``evaluations/``. Its parts are Parquet files; the run keeps adding parts.

``columns.yaml`` lists the columns, except the domain's own: type, meaning and unit of each, and when a row has no
value. From it, ``scripts/columns.py`` generates ``docs/columns.md``. The texts are not written to the Parquet files.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evodiverse.errors import InputError, describe
from evodiverse.kit.files import check_regular, read_shipped

CALLS: Final = pa.list_(pa.int64())
"""The Arrow type of a list of numbers of oracle calls."""

TIMES: Final = pa.struct([(part, pa.float64()) for part in ("wall", "operator", "oracle")])
"""The Arrow type of the times of a run, in seconds."""

_KINDS: Final = {
    "int64": (pa.int64(), pa.types.is_integer),
    "float64": (pa.float64(), lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind)),
    "string": (pa.string(), lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind)),
    "bool": (pa.bool_(), pa.types.is_boolean),
    "list of int64": (CALLS, lambda kind: pa.types.is_list(kind) and pa.types.is_integer(kind.value_type)),
    "struct": (TIMES, TIMES.equals),
}
"""By the names that ``columns.yaml`` gives them: Arrow types, and whether another type may stand for each."""

TYPES: Final[Mapping[str, pa.DataType]] = {name: kind for name, (kind, _) in _KINDS.items()}
_FITS: Final = dict(_KINDS.values())


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
    key: tuple[str, ...]


_DATASETS: Final = {
    name: Dataset(entry["meaning"], {key: Column(**one) for key, one in entry["columns"].items()}, tuple(entry["key"]))
    for name, entry in read_shipped(Path(__file__).with_name("columns.yaml")).items()
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


# The most that a run can log, over all parts of a dataset. More is refused: even a small file can claim to hold any
# number of rows.
MOST_ROWS: Final = 5_000_000
MOST_ELEMENTS: Final = 50_000_000
MOST_BYTES: Final = 2 << 30

DATASETS: Final[Mapping[str, pa.Schema]] = {name: make_schema(dataset.columns) for name, dataset in COLUMNS.items()}
EVALUATIONS: Final = DATASETS["evaluations"]

OWN_TYPES: Final = {float: pa.float64(), int: pa.int64(), str: pa.string(), bool: pa.bool_()}
"""The Arrow types of the columns that domains add."""

FINITE: Final = frozenset({"score", "xi"})
"""The columns whose numbers must be finite, in every dataset that has them."""


def read_parts(
    dataset: str, names: Sequence[str], own: Mapping[str, type], parts: Iterable[Path]
) -> Iterator[dict[str, list[Any]]]:
    """Yield these columns of each part of a dataset: lists of values by column name.

    Args:
        dataset: The name of the dataset.
        names: The columns to read. One that may be without a value may be missing from a part; it is None throughout.
        own: The type, float, int, bool or str, of those columns that the dataset does not have in every run.
        parts: The parts, which are Parquet files.

    Raises:
        InputError: A part cannot be read; the message names it.
    """
    described = {**COLUMNS, "docking": DOCKED}[dataset].columns
    kinds = {
        name: TYPES[described[name].type] if name in described else OWN_TYPES[own.get(name, float)] for name in names
    }
    nullable = {name for name in names if name in own or (name in described and described[name].null_if)}
    reader = DatasetReader(kinds, {*names} - nullable)
    yield from map(reader.read, parts)


def find_own_columns(part: Path) -> dict[str, type]:
    """Return the type of each column of texts or numbers, float or str, that a part of ``evaluations`` has of a domain.

    Raises:
        InputError: The part cannot be read; the message names it.
    """
    with _naming(part):
        check_regular(part)
        schema = pq.read_schema(part)
    kinds = {float: _FITS[pa.float64()], str: _FITS[pa.string()]}
    return {
        field.name: kind
        for field in schema
        for kind, fits in kinds.items()
        if field.name not in {*EVALUATIONS.names, *FORECASTS} and fits(_plain(field.type))
    }


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, whether or not each is stored only once."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@contextmanager
def _naming(part: Path) -> Iterator[None]:
    """Turn an error from reading a part into one that names the part."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        why = error if type(error) is ValueError else describe(error)
        raise InputError(f"{part} cannot be read ({why}); run it again with overwrite=true") from error


class DatasetReader:
    """A reader for the parts of one dataset.

    The files may come from other people. To bound its memory use, the reader raises an error if the parts together hold
    more than a run can log.

    Args:
        kinds: The columns to read, with their types.
        needed: Those that every part must have, with a value in every row. The others are read as nulls from a part
            that lacks them.
    """

    def __init__(self, kinds: Mapping[str, pa.DataType], needed: Set[str] = frozenset()) -> None:
        self._kinds = kinds
        self._needed = needed
        self._n_values = Counter[str]()
        self._n_bytes = 0

    def read(self, part: Path) -> dict[str, list[Any]]:
        """Return the columns of one more part (a Parquet file) of the dataset: lists of values by column name.

        Raises:
            InputError: The part is a link, cannot be read or is damaged; a column or a value is missing, or is of the
                wrong type or not finite; or the parts together hold more than a run can log. The message names it.
        """
        with _naming(part):
            check_regular(part)
            footer = pq.read_metadata(part)
            schema = footer.schema.to_arrow_schema()
            self._check_types(schema)
            self._check_size(footer)
            there = {name: kind for name, kind in self._kinds.items() if name in schema.names}
            texts = [name for name, kind in there.items() if kind == pa.string()]
            with pq.ParquetFile(part, metadata=footer, page_checksum_verification=True, read_dictionary=texts) as file:
                table = file.read(columns=list(there))
            self._check_values(table)
            none = [None] * table.num_rows
            return {name: _to_list(table[name]) if name in there else none for name in self._kinds}

    def _check_types(self, schema: pa.Schema) -> None:
        for name in [*sorted(self._needed - {*schema.names}), *(name for name in schema.names if name in self._kinds)]:
            if schema.names.count(name) != 1:
                raise ValueError(f"it has no column {name}, or several")
            actual = schema.field(name).type
            if not _FITS[self._kinds[name]](_plain(actual)):
                raise ValueError(f"its column {name} holds {actual}, expected {self._kinds[name]}")

    def _check_size(self, metadata: pq.FileMetaData) -> None:
        """Raise a `ValueError` if this part and the earlier ones together hold too many values or bytes.

        The sizes come from the footers of the parts, so nothing is decompressed before the check.
        """
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                name = column.path_in_schema.partition(".")[0]
                if name in self._kinds:
                    self._n_values[name] += column.num_values
                    self._n_bytes += column.total_uncompressed_size
        for name, count in self._n_values.items():
            most = MOST_ELEMENTS if self._kinds[name] == CALLS else MOST_ROWS
            if count > most:
                raise ValueError(f"the parts up to it hold {count:,} values of {name}, expected at most {most:,}")
        if self._n_bytes > MOST_BYTES:
            raise ValueError(f"the parts up to it hold {self._n_bytes:,} bytes, expected at most {MOST_BYTES:,}")

    def _check_values(self, table: pa.Table) -> None:
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in self._needed and column.null_count:
                raise ValueError(f"its column {name} has no value in {column.null_count:,} rows")
            if name in FINITE and not pc.all(pc.is_finite(column), min_count=0).as_py():
                raise ValueError(f"its column {name} has a number that is not finite")
            if pa.types.is_list(column.type) and any(chunk.flatten().null_count for chunk in column.chunks):
                raise ValueError(f"its column {name} has a list with missing values")


def _to_list(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column; a repeated text is a single object in memory."""
    values: list[Any] = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(column.type):
            texts = chunk.dictionary.to_pylist()
            values += [None if place is None else texts[place] for place in chunk.indices.to_pylist()]
        else:
            values += chunk.to_pylist()
    return values
