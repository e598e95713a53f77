"""A user's own data: CSV files that have a header and a column for the target."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import DATA_BYTES, open_input
from evodiverse.tasks.equations.columns import UNUSABLE, find_few_rows, find_not_finite, find_wrong_target, is_usable
from evodiverse.tasks.equations.problems.problem import FloatArray, Rows, Splits


def read_splits(train: Path, test_id: Path | None, test_ood: Path | None, target: str) -> tuple[list[str], Splits]:
    """Return the names of the variables, and the data. A split without a file has no rows.

    Args:
        train: The file with the training data.
        test_id: The file with held-out data from the same domain, or None if there is none.
        test_ood: The file with held-out data from outside the domain, or None if there is none.
        target: The name of the target's column.

    Raises:
        InputError: A file cannot be read, or its content is not as required; the message covers all files.
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
            violations.append(f"{key}: {files[key]} is missing the columns {missing}, which task.data.train has")
    if first and not names:
        violations.append(f"task.data.train: {train} has no column other than the target")
    violations += [f"task.data.train: the column {name!r} {UNUSABLE}" for name in names if not is_usable(name)]
    if first:
        wrong = find_wrong_target(target, first[target], str(train))
        violations += [f"task.data.train: {violation}" for violation in wrong]
    if violations:
        raise InputError(*violations)
    parts = [_rows(tables.get(key), names, target) for key in files]
    return names, Splits(*parts)


def _read(key: str, path: Path, target: str) -> dict[str, FloatArray]:
    try:
        pa.enable_signal_handlers(False)  # Arrow's handler would lose a Ctrl-C that arrives during reading
        open_input(path, DATA_BYTES).close()  # a check; Arrow opens the path, as its suffix may imply compression
        table = csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=False))
        table.column_names  # noqa: B018 (Arrow decodes the names only here)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        why = reason(error) if isinstance(error, OSError) else " ".join(str(error).split())[:200]
        raise InputError(f"{key}: cannot read {path} ({why}); check the path and that it is a CSV file") from error
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        names = ", ".join(map(repr, repeated))[:200]
        raise InputError(f"{key}: {path} has several columns named {names}; rename all but one")
    if target not in table.column_names:
        known = ", ".join(table.column_names)[:200]
        hint = "" if table.num_columns > 1 else "; columns must be separated by commas"
        raise InputError(f"task.data.target={target} is not a column of {path}; its columns are {known}{hint}")
    violations = [f"{key}: {violation}" for violation in find_few_rows(table.num_rows, str(path))]
    if violations:
        raise InputError(*violations)
    columns = {}
    for name in table.column_names:
        column = table[name]
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            violations.append(f"{key}: the column {name!r} of {path} must hold numbers, got {column.type}")
            continue
        columns[name] = np.asarray(column.to_numpy(), dtype=np.float64)
        violations += [f"{key}: {violation}" for violation in find_not_finite(name, columns[name], str(path))]
    if violations:
        raise InputError(*violations)
    return columns


def _rows(columns: dict[str, FloatArray] | None, names: list[str], target: str) -> Rows:
    if columns is None:
        return Rows(np.empty((0, len(names))), np.empty(0))
    return Rows(np.stack([columns[name] for name in names], axis=1), columns[target])
