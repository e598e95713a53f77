"""A user's own data: CSV files that have a header and a column for the target.

Files may be large, so Arrow parses them. How they are encoded and delimited is found as for all other tables.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import open_input
from evodiverse.kit.tables import BLOCK_BYTES, Table, find_decimal_mark, find_delimiter, find_encoding, read_number
from evodiverse.tasks.equations.columns import (
    UNUSABLE,
    as_identifier,
    find_unusable,
    find_wrong_target,
    is_usable,
    make_splits,
)
from evodiverse.tasks.equations.problems import FloatArray, Splits
from evodiverse.text import count_of


def read_splits(files: Mapping[str, Path | None], target: str) -> tuple[list[str], Splits]:
    """Return the names of the variables, and the data. A split without a file has no rows.

    Args:
        files: The file of each split, or None if there is none, by the key of ``task.data``: ``train`` (training data,
            which must be given), ``test_id`` (held-out data from the same domain) and ``test_ood`` (held-out data from
            outside the domain).
        target: The name of the target's column, as an identifier (see `as_identifier`).

    Raises:
        InputError: A file cannot be read, or its content is not as required; the message covers all files.
    """
    tables: dict[str, dict[str, FloatArray]] = {}
    violations: list[str] = []
    for key, path in files.items():
        if path is not None:
            columns, faults = _read_columns(path, target)
            violations += [f"task.data.{key}: {fault}" for fault in faults]
            if not faults:
                tables[key] = columns
    train, first = files["train"], tables.get("train", {})
    names = [name for name in first if name != target]
    for key, path in files.items():
        missing = ", ".join(name for name in first if name not in tables.get(key, first))
        if missing:
            violations.append(f"task.data.{key}: {path} is missing the columns {missing}, which task.data.train has")
    if first:
        faults = [f"the column {name!r} {UNUSABLE}" for name in names if not is_usable(name)]
        faults += find_wrong_target(target, first[target], str(train))
        faults += [] if names else [f"{train} has no column other than the target"]
        violations += [f"task.data.train: {fault}" for fault in faults]
    if violations:
        raise InputError(*violations)
    return names, make_splits([tables.get(key, {}) for key in files], names, target)


def _read_columns(path: Path, target: str) -> tuple[dict[str, FloatArray], list[str]]:
    """Return the ``(n,)`` values of each column of a file, by name, and what is wrong with the file."""
    try:
        table, delimiter = _read_table(path)
        written = [name.strip() for name in table.column_names]  # Arrow decodes them only here
    except (OSError, UnicodeError, pa.ArrowException) as error:
        why = reason(error) if isinstance(error, OSError) else " ".join(str(error).split())[:200]
        return {}, [f"cannot read {path} ({why}); check the path and that it is a CSV file"]
    names = [as_identifier(name) for name in written]
    if len({*names}) < len(names):
        repeated = [name for name, normal in zip(written, names, strict=True) if names.count(normal) > 1]
        same = "" if len({*repeated}) < len(repeated) else ", which are the same identifier in Python"
        shown = ", ".join(map(repr, dict.fromkeys(repeated)))[:200]
        return {}, [f"{path} has several columns named {shown}{same}; rename all but one"]
    if target not in names:
        hint = "" if len(names) > 1 else "; columns must be separated by commas, semicolons or tabs"
        known = ", ".join(names)[:200]
        return {}, [f"task.data.target={target} is not a column of {path}; its columns are {known}{hint}"]
    columns, faults = {}, []
    for name, column in zip(names, table.columns, strict=True):
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            columns[name] = np.asarray(column.to_numpy(), dtype=np.float64)
            continue
        cells = column.cast(pa.string()).fill_null("").to_pylist()
        columns[name], wrong = _read_numbers(cells, delimiter)
        faults += _describe(path, name, wrong)
    return columns, faults or find_unusable(columns, str(path))


def read_columns(
    path: Path, table: Table, rows: Sequence[Sequence[str]], names: Sequence[str]
) -> dict[str, FloatArray]:
    """Return the ``(n,)`` values of those columns of a table that have one of some names, by name.

    Args:
        path: The file with the table, for error messages.
        table: The table, of which only the header and the delimiter are used.
        rows: The cells of its n rows.
        names: The names of the columns, as identifiers (see `as_identifier`).

    Raises:
        InputError: A row has too few or too many cells, or a cell holds no number.
    """
    uneven = [row for row, cells in enumerate(rows, 1) if len(cells) != len(table.names)]
    if uneven:
        n = len(rows[uneven[0] - 1])
        raise InputError(f"{path}: row {uneven[0]} has {count_of(n, 'cell')}, expected {len(table.names)}; correct it")
    places = {as_identifier(name): place for place, name in enumerate(table.names)}
    columns, faults = {}, []
    for name in filter(places.__contains__, names):
        columns[name], wrong = _read_numbers([cells[places[name]] for cells in rows], table.delimiter)
        faults += _describe(path, name, wrong)
    if faults:
        raise InputError(*faults)
    return columns


def _describe(path: Path, name: str, wrong: Sequence[tuple[int, str]]) -> list[str]:
    """Return a message about the cells of a column that hold no number; empty if there are none."""
    if not wrong:
        return []
    (row, fault), *others = wrong
    more = f", like {count_of(len(others), 'other row')}" if others else ""
    return [f"{path}: row {row} of the column {name!r} {fault}{more}; correct or remove it"]


def _read_table(path: Path) -> tuple[pa.Table, str]:
    """Return a table and its delimiter. Columns in which Arrow finds no numbers are of another type, such as dates."""
    pa.enable_signal_handlers(False)  # Arrow's handler would lose a Ctrl-C that arrives during reading
    open_input(path).close()  # a check; Arrow opens the path, as its suffix may imply compression
    with pa.input_stream(path) as stream:
        head = stream.read(BLOCK_BYTES)
    encoding = find_encoding(head)
    delimiter = find_delimiter(next(filter(str.strip, head.decode(encoding, "replace").splitlines()), ""))
    table = csv.read_csv(
        path,
        csv.ReadOptions(encoding="utf8" if encoding == "utf-8-sig" else encoding),
        csv.ParseOptions(delimiter=delimiter),
        csv.ConvertOptions(strings_can_be_null=False, true_values=[], false_values=[]),  # so "true" is text
    )
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
