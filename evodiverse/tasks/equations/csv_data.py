"""A user's own data: CSV files that have a header and a column for the target.

Files may be large, so Arrow parses them. How they are encoded and delimited is found as for all other tables.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import DATA_BYTES, open_input
from evodiverse.kit.tables import BLOCK_BYTES, find_decimal_mark, find_delimiter, find_encoding, read_number
from evodiverse.tasks.equations.columns import (
    UNUSABLE,
    as_identifier,
    find_few_rows,
    find_not_finite,
    find_wrong_target,
    is_usable,
)
from evodiverse.tasks.equations.problems import FloatArray, Rows, Splits
from evodiverse.text import count_of


def read_splits(train: Path, test_id: Path | None, test_ood: Path | None, target: str) -> tuple[list[str], Splits]:
    """Return the names of the variables, and the data. A split without a file has no rows.

    Args:
        train: The file with the training data.
        test_id: The file with held-out data from the same domain, or None if there is none.
        test_ood: The file with held-out data from outside the domain, or None if there is none.
        target: The name of the target's column, as an identifier (see `as_identifier`).

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
        table, delimiter = _read_table(path)
    except (OSError, UnicodeError, pa.ArrowException) as error:
        why = reason(error) if isinstance(error, OSError) else " ".join(str(error).split())[:200]
        raise InputError(f"{key}: cannot read {path} ({why}); check the path and that it is a CSV file") from error
    written = [name.strip() for name in table.column_names]
    names = [as_identifier(name) for name in written]
    if len({*names}) < len(names):
        repeated = [name for name, normal in zip(written, names, strict=True) if names.count(normal) > 1]
        same = "" if len({*repeated}) < len(repeated) else ", which are the same identifier in Python"
        shown = ", ".join(map(repr, dict.fromkeys(repeated)))[:200]
        raise InputError(f"{key}: {path} has several columns named {shown}{same}; rename all but one")
    if target not in names:
        known = ", ".join(names)[:200]
        hint = "" if len(names) > 1 else "; columns must be separated by commas, semicolons or tabs"
        raise InputError(f"task.data.target={target} is not a column of {path}; its columns are {known}{hint}")
    violations = [f"{key}: {violation}" for violation in find_few_rows(table.num_rows, str(path))]
    if violations:
        raise InputError(*violations)
    columns = {}
    for name, column in zip(names, table.columns, strict=True):
        if pa.types.is_string(column.type):
            columns[name], faults = _read_numbers(column.to_pylist(), delimiter)
            if faults:
                row, fault = faults[0]
                more = f", like {count_of(len(faults) - 1, 'other row')}" if len(faults) > 1 else ""
                violations.append(
                    f"{key}: {path}: row {row} of the column {name!r} {fault}{more}; correct or remove it"
                )
                continue
        else:
            columns[name] = np.asarray(column.to_numpy(), dtype=np.float64)
        violations += [f"{key}: {violation}" for violation in find_not_finite(name, columns[name], str(path))]
    if violations:
        raise InputError(*violations)
    return columns


def _read_table(path: Path) -> tuple[pa.Table, str]:
    """Return a table and its delimiter; columns in which Arrow finds no numbers hold the text of their cells."""
    pa.enable_signal_handlers(False)  # Arrow's handler would lose a Ctrl-C that arrives during reading
    open_input(path, DATA_BYTES).close()  # a check; Arrow opens the path, as its suffix may imply compression
    with pa.input_stream(path) as stream:
        head = stream.read(BLOCK_BYTES)
    encoding = find_encoding(head)
    delimiter = find_delimiter(next(filter(str.strip, head.decode(encoding, "replace").splitlines()), ""))
    files = {
        "read_options": csv.ReadOptions(encoding="utf8" if encoding == "utf-8-sig" else encoding),
        "parse_options": csv.ParseOptions(delimiter=delimiter),
    }
    table = csv.read_csv(path, **files, convert_options=csv.ConvertOptions(strings_can_be_null=False))
    names = table.column_names  # Arrow decodes the names only here
    others = {
        name: pa.string()
        for name, kind in zip(names, table.schema.types, strict=True)
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind))
    }
    if others:  # such as dates, whose text is needed
        as_text = csv.ConvertOptions(column_types=others, strings_can_be_null=False)
        table = csv.read_csv(path, **files, convert_options=as_text)
    return table, delimiter


def _read_numbers(cells: Sequence[str], delimiter: str) -> tuple[FloatArray, list[tuple[int, str]]]:
    """Return the ``(n,)`` numbers in cells, and the row, counted from 1, and the fault of each that holds no number."""
    mark = find_decimal_mark(cells, delimiter)
    numbers, faults = np.full(len(cells), np.nan), []
    for row, cell in enumerate(cells):
        try:
            numbers[row] = read_number(cell, mark)
        except ValueError as error:
            faults.append((row + 1, str(error)))
    return numbers, faults


def _rows(columns: dict[str, FloatArray] | None, names: list[str], target: str) -> Rows:
    if columns is None:
        return Rows(np.empty((0, len(names))), np.empty(0))
    return Rows(np.stack([columns[name] for name in names], axis=1), columns[target])
