"""A user's own data: CSV files with a header, one of whose columns is the target."""

import keyword
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import DATA_BYTES, open_input
from evodiverse.tasks.equations.problems.problem import FloatArray, Rows, Splits
from evodiverse.tasks.equations.skeleton import NAME, PARAMS

MIN_ROWS = 2
_TAKEN = {PARAMS, NAME, "np", "__debug__"}
_UNUSABLE = f"cannot be a variable; rename it to a Python name that is none of {', '.join(sorted(_TAKEN))}"


def read_splits(train: Path, test_id: Path | None, test_ood: Path | None, target: str) -> tuple[list[str], Splits]:
    """Return the names of the variables, and the data; a split that is not given has no rows.

    Raises:
        InputError: A file cannot be read, or its columns are not what is needed; names all that is wrong.
    """
    files = {"task.data.train": train, "task.data.test_id": test_id, "task.data.test_ood": test_ood}
    tables: dict[str, dict[str, FloatArray]] = {}
    violations: list[str] = []
    for key, path in files.items():
        if path is not None:
            try:
                tables[key] = _read(key, path, target)
            except InputError as error:
                violations += error.violations
    first = tables.get("task.data.train", {})
    names = [name for name in first if name != target]
    for key, columns in tables.items():
        missing = ", ".join(name for name in first if name not in columns)
        if missing:
            violations.append(f"{key}: {files[key]} lacks the columns {missing}, which task.data.train has")
    if first and not names:
        violations.append(f"task.data.train: {train} has no column but the target")
    violations += [f"task.data.train: the column {name!r} {_UNUSABLE}" for name in names if not _is_usable(name)]
    if first and np.ptp(first[target]) == 0:
        violations.append(f"task.data.train: the target {target!r} is the same in all rows of {train}")
    elif first and not _has_variance(first[target]):
        violations.append(
            f"task.data.train: the target {target!r} is too small or too large for its variance; scale it"
        )
    if violations:
        raise InputError(*violations)
    parts = [_rows(tables.get(key), names, target) for key in files]
    return names, Splits(*parts)


def _has_variance(values: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        return bool(0 < np.var(values) < np.inf)


def _is_usable(name: str) -> bool:
    is_normal = unicodedata.normalize("NFKC", name) == name  # as Python compares names
    return name.isidentifier() and is_normal and not keyword.iskeyword(name) and name not in _TAKEN


def _read(key: str, path: Path, target: str) -> dict[str, FloatArray]:
    try:
        open_input(path, DATA_BYTES).close()  # only then by its path, whose ending may say that it is compressed
        table = csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=False))
        table.column_names  # noqa: B018 (which are read only now)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        why = reason(error) if isinstance(error, OSError) else " ".join(str(error).split())[:200]
        raise InputError(f"{key}: cannot read {path} ({why})") from error
    if len(set(table.column_names)) != table.num_columns:
        raise InputError(f"{key}: {path} has two columns of one name")
    if target not in table.column_names:
        known = ", ".join(table.column_names)[:200]
        hint = "" if table.num_columns > 1 else "; columns are parted by commas"
        raise InputError(f"task.data.target={target} is no column of {path}; it has {known}{hint}")
    if table.num_rows < MIN_ROWS:
        raise InputError(f"{key}: {path} has {table.num_rows} rows, at least {MIN_ROWS} are needed")
    columns, violations = {}, []
    for name in table.column_names:
        column = table[name]
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            violations.append(f"{key}: the column {name!r} of {path} holds {column.type}, expected numbers")
            continue
        values = np.asarray(column.to_numpy(), dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            violations.append(f"{key}: the column {name!r} of {path} has no finite number in row {bad[0] + 1}")
        columns[name] = values
    if violations:
        raise InputError(*violations)
    return columns


def _rows(columns: dict[str, FloatArray] | None, names: list[str], target: str) -> Rows:
    if columns is None:
        return Rows(np.empty((0, len(names))), np.empty(0))
    return Rows(np.stack([columns[name] for name in names], axis=1), columns[target])
