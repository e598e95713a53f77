"""A user's own data: CSV files that have a header and a column for the target.

Files may be large, so Arrow parses them. How they are encoded and delimited is found as for all other tables.
"""

import io
from collections.abc import Mapping, Sequence
from csv import reader as reader_of
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from evodiverse.errors import InputError, reason
from evodiverse.kit.documented import nearest
from evodiverse.kit.inputs import open_input
from evodiverse.kit.tables import BLOCK_BYTES, Table, find_decimal_mark, find_delimiter, find_encoding, read_number
from evodiverse.tasks.equations.columns import as_identifier, find_unusable, make_splits, make_usable, name_columns
from evodiverse.tasks.equations.problems import Dataset, FloatArray, Variable
from evodiverse.tasks.equations.result import MISSING, Result
from evodiverse.tasks.equations.settings import DROP, DataSettings
from evodiverse.text import count_of

MAX_CATEGORIES: Final = 20
"""The largest number of different texts in a column of categories; there must be at most one for two rows."""

MAX_SHOWN: Final = 5

Column = FloatArray | NDArray[np.str_]
"""The ``(n,)`` numbers or texts of a column."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """The usable rows of a file.

    Attributes:
        labels: The name of each column as it is written, by its name as a variable.
        values: The values of each column that is used.
        target: The name of the target.
        sigma: The name of the column of the target's standard errors, or None if there is none.
        note: What was left out; empty if nothing was.
    """

    labels: Mapping[str, str]
    values: Mapping[str, Column]
    target: str
    sigma: str | None
    note: str

    @property
    def variables(self) -> list[Variable]:
        """A variable for each column of numbers, and one for each text of the other columns, 1 where it stands."""
        variables, taken = [], list(self.values)
        for name, values in self.values.items():
            if values.dtype != np.float64:
                for text in map(str, np.unique(values)):
                    own = make_usable([*taken, as_identifier(f"{name}_{text}")])[-1]
                    taken.append(own)
                    label = f"1 if {self.labels[name]} is {text}, else 0"
                    variables.append(Variable(own, "", label, (name, text)))
            elif name not in (self.target, self.sigma):
                variables.append(Variable(name, "", self.labels[name]))
        return variables


def read_own_data(files: Mapping[str, Path | None], settings: DataSettings) -> Dataset:
    """Return the columns and the rows of a user's files. A split without a file has no rows.

    Args:
        files: The file of each split, or None if there is none, by the key of ``task.data``: ``train`` (training data,
            which must be given), ``test_id`` (held-out data from the same domain) and ``test_ood`` (held-out data from
            outside the domain).
        settings: The settings under ``task.data``.

    Raises:
        InputError: A file cannot be read, or its content is not as required; the message covers all files.
    """
    read: dict[str, _Columns] = {}
    tables: dict[str, dict[str, FloatArray]] = {}
    violations: list[str] = []
    for key, path in files.items():
        try:
            table = tables[f"task.data.{key}={path}"] = {}
            if path is not None:
                read[key] = _read_columns(path, settings, read.get("train"))
                table.update(_encode(read[key], read.get("train", read[key])))
        except InputError as error:
            violations += [f"task.data.{key}: {fault}" for fault in error.violations]
    if violations:
        raise InputError(*violations, *find_unusable(tables))
    first = read["train"]
    variables, target, sigma = first.variables, first.target, first.sigma
    if not variables:
        raise InputError(f"task.data.train: {files['train']} has no column other than the target")
    names = [variable.name for variable in variables]
    splits = make_splits(tables, names, target)
    if sigma is not None:
        errors = np.asarray(first.values[sigma], dtype=np.float64)
        weights = (errors.min() / errors) ** 2
        splits = splits._replace(train=splits.train._replace(weights=weights / weights.mean()))
    return Dataset(
        Variable(target, "", first.labels[target]),
        tuple(variables),
        splits,
        notes=tuple(filter(None, (one.note for one in read.values()))),
        keys={name: name for name in (*names, *first.labels)} | {label: name for name, label in first.labels.items()},
        sigma=None if sigma is None else Variable(sigma, "", first.labels[sigma]),
    )


def _encode(table: _Columns, first: _Columns) -> dict[str, FloatArray]:
    """Return the ``(n,)`` values in a file of each variable of the training data, and of the target.

    Raises:
        InputError: The file has a text that has no variable.
    """
    encoded: dict[str, FloatArray] = {}
    variables = first.variables
    for one in (*variables, Variable(first.target, "")):
        name, text = one.category or (one.name, None)
        values = table.values[name]
        encoded[one.name] = np.asarray(values if text is None else values == text, dtype=np.float64)
    known = {one.category for one in variables}
    texts = {name: values.tolist() for name, values in table.values.items() if values.dtype != np.float64}
    faults = [
        f"the column {table.labels[name]!r} has the value {min(unknown)!r}, which task.data.train does not have"
        for name, own in texts.items()
        if (unknown := {text for text in own if (name, text) not in known})
    ]
    if faults:
        raise InputError(*faults)
    return encoded


def _read_columns(path: Path, settings: DataSettings, first: _Columns | None) -> _Columns:
    """Return the columns of a file that are used: all that are not left out, or those of the first file.

    Raises:
        InputError: The file cannot be read, or a column is absent or wrong.
    """
    try:
        table, delimiter = _read_table(path)
        written = [as_identifier(name) for name in table.column_names]  # Arrow decodes them only here
    except (OSError, UnicodeError, pa.ArrowException) as error:
        why = reason(error) if isinstance(error, OSError) else " ".join(str(error).split())[:200]
        raise InputError(f"cannot read {path} ({why}); check the path and that it is a CSV file") from None
    if len({*written}) < len(written):
        pairs = zip(table.column_names, written, strict=True)
        repeated = [own.strip() for own, name in pairs if written.count(name) > 1]
        same = "" if len({*repeated}) < len(repeated) else ", which are the same identifier in Python"
        shown = ", ".join(map(repr, dict.fromkeys(repeated)))[:200]
        raise InputError(f"{path} has several columns named {shown}{same}; rename all but one")
    names = name_columns(written, {} if first is None else first.labels)
    labels = dict(zip(names, written, strict=True))
    if first is None:
        target, sigma, used = _pick_columns(path, settings, labels)
    else:
        target, sigma, used = first.target, None, [name for name in first.values if name != first.sigma]
    if missing := ", ".join(name for name in used if name not in labels):
        what = f"{path} is missing the columns {missing}, which task.data.train has"
        raise InputError(f"{what}; {_list_columns(written)}")
    columns: dict[str, Column] = {}
    faults = []
    for name in used:
        cells = table.column(names.index(name))
        if first is not None and first.values[name].dtype != np.float64:
            columns[name] = np.array(_read_texts(cells))
            continue
        has_role = name in (target, sigma)
        columns[name], wrong = _read_column(cells, delimiter, may_be_text=first is None and not has_role)
        if name == sigma and not wrong:
            is_wrong = np.asarray(columns[name], dtype=np.float64) <= 0
            wrong = [(row, "must be above 0, as task.data.sigma") for row in (np.flatnonzero(is_wrong) + 1).tolist()]
        if wrong:
            other = "" if has_role else f", or leave the column out with task.data.ignore=[{name}]"
            faults.append(f"{path}: {_describe(labels[name], wrong)}; correct it{other}")
    if faults:
        raise InputError(*faults)
    columns, note = _drop_missing(path, delimiter, columns, settings.missing)
    return _Columns(labels, columns, target, sigma, note)


def _pick_columns(path: Path, settings: DataSettings, labels: Mapping[str, str]) -> tuple[str, str | None, list[str]]:
    """Return the names of the target, of the column of its standard errors, and of all columns that are used."""
    written = list(labels.values())
    keys = {name: name for name in labels} | {label: name for name, label in labels.items()}

    def find(key: str, name: str) -> str:
        if as_identifier(name) not in keys:
            raise InputError(f"task.data.{key}: {path} has no column {name!r}; {nearest(name, written)}")
        return keys[as_identifier(name)]

    target = keys.get(as_identifier(str(settings.target)))
    if target is None:
        raise InputError(f"task.data.target={settings.target} is not a column of {path}; {_list_columns(written)}")
    ignored = [find("ignore", name) for name in settings.ignore or ()]
    sigma = None if settings.sigma is None else find("sigma", settings.sigma)
    if sigma == target:
        raise InputError(f"task.data.sigma names the target, {target}; name the column of its standard errors")
    for role, name in (("target", target), ("sigma", sigma)):
        if name in ignored:
            raise InputError(f"task.data.ignore names the column of task.data.{role}, {name}; leave it out there")
    return target, sigma, [name for name in labels if name not in ignored]


def _list_columns(written: Sequence[str]) -> str:
    """Return what columns a file has, for a message that one is absent."""
    hint = "" if len(written) > 1 else "; columns must be separated by commas, semicolons or tabs"
    return f"its columns are {', '.join(written)[:200]}{hint}"


def _read_column(column: Any, delimiter: str, *, may_be_text: bool) -> tuple[Column, list[tuple[int, str]]]:
    """Return the ``(n,)`` numbers of a column, NaN where there is none, or its texts; and the faults of its rows.

    Each fault comes with the number of its row, counted from 1.
    """
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        cells = _read_texts(column)
        numbers, wrong = _read_numbers(cells, delimiter)
        filled = [cell for cell in cells if cell]
        are_texts = len(wrong) == len(filled) and all(any(map(str.isalpha, cell)) for cell in filled)
        if wrong and may_be_text and are_texts and len({*filled}) <= min(MAX_CATEGORIES, len(filled) // 2):
            return np.array(cells), []
    else:
        numbers, wrong = np.asarray(column.to_numpy(), dtype=np.float64), []
    is_infinite = np.isinf(numbers)
    return numbers, wrong or [(row, "must be a finite number") for row in (np.flatnonzero(is_infinite) + 1).tolist()]


def _read_texts(column: Any) -> list[str]:
    """Return the cells of a column as texts without white space around them; empty where a value is missing."""
    texts = [cell.strip() for cell in column.cast(pa.string()).fill_null("").to_pylist()]
    return ["" if text in MISSING else text for text in texts]


def _drop_missing(path: Path, delimiter: str, values: dict[str, Column], missing: str) -> tuple[dict[str, Column], str]:
    """Return the columns without the rows that lack a value, and a note if there are any.

    Raises:
        InputError: There are such rows, and the settings do not say to drop them.
    """
    lacking = {name: np.isnan(one) if one.dtype == np.float64 else one == "" for name, one in values.items()}
    is_lacking = np.any([*lacking.values()], axis=0)
    if not is_lacking.any():
        return values, ""
    rows = np.flatnonzero(is_lacking)
    lines = _find_lines(path, delimiter)
    shown = ", ".join(str(lines[1 + row]) for row in rows[:MAX_SHOWN]) + (", …" if len(rows) > MAX_SHOWN else "")
    names = ", ".join(name for name, one in lacking.items() if one.any())[:200]
    where = f"{'line' if len(rows) == 1 else 'lines'} {shown}, in {names}"
    if missing != DROP:
        what = f"{path} has {count_of(len(rows), 'row')} with a missing value ({where})"
        raise InputError(f"{what}; complete them, or leave them out with task.data.missing={DROP}")
    note = f"{path}: {len(rows):,} of {len(is_lacking):,} rows are left out, since a value is missing ({where})"
    return {name: one[~is_lacking] for name, one in values.items()}, note


def _find_lines(path: Path, delimiter: str) -> list[int]:
    """Return the number of the first line of each row that is not blank, the header included."""
    with pa.input_stream(path) as stream:
        content = stream.read()
    reader = reader_of(io.StringIO(content.decode(find_encoding(content)), newline=""), delimiter=delimiter)
    ends = [(0, False), *((reader.line_num, bool(cells)) for cells in reader)]
    return [before + 1 for (before, _), (_, is_row) in pairwise(ends) if is_row]


def read_columns(path: Path, table: Table, rows: Sequence[Sequence[str]], result: Result) -> dict[str, Column]:
    """Return the ``(n,)`` values of those columns of a table that a result's variables are made of, by name.

    Args:
        path: The file with the table, for error messages.
        table: The table, of which only the header and the delimiter are used.
        rows: The cells of its n rows.
        result: What a run has found.

    Raises:
        InputError: A row has too few or too many cells, or a cell holds no number.
    """
    n_cells, texts = len(table.names), {column for column, _ in result.categories.values()}
    for row, cells in enumerate(rows, 1):
        if len(cells) != n_cells:
            raise InputError(f"{path}: row {row} has {count_of(len(cells), 'cell')}, expected {n_cells}; correct it")
    columns: dict[str, Column] = {}
    faults = []
    for place, name in enumerate(name_columns(table.names, result.labels)):
        cells = ["" if (cell := row[place].strip()) in MISSING else cell for row in rows]
        if name in texts:
            columns[name] = np.array(cells)
        elif name in result.variables:
            columns[name], wrong = _read_numbers(cells, table.delimiter)
            faults += [f"{path}: {_describe(name, wrong)}; correct or remove it"] if wrong else []
    if faults:
        raise InputError(*faults)
    return columns


def _describe(name: str, wrong: Sequence[tuple[int, str]]) -> str:
    (row, fault), *others = wrong
    more = f", like {count_of(len(others), 'other row')}" if others else ""
    return f"row {row} of the column {name!r} {fault}{more}"


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
    """Return the ``(n,)`` numbers in cells, and the row, counted from 1, and the fault of each that holds no number.

    An empty cell is NaN.
    """
    mark = find_decimal_mark(cells, delimiter)
    numbers, faults = np.full(len(cells), np.nan), []
    for row, cell in enumerate(cells):
        try:
            numbers[row] = read_number(cell or "nan", mark)
        except ValueError as error:
            faults.append((row + 1, str(error)))
    return numbers, faults
