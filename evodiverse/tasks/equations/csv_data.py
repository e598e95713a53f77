"""A user's own data: CSV files that have a header and a column for the target.

Files may be large, so Arrow parses them. How they are encoded and delimited is found as for all other tables.
"""

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from csv import reader as reader_of
from dataclasses import dataclass
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
from evodiverse.tasks.equations.columns import (
    as_identifier,
    find_unusable,
    find_wrong_target,
    make_splits,
    make_usable,
    name_columns,
)
from evodiverse.tasks.equations.problems import Dataset, FloatArray, Variable
from evodiverse.tasks.equations.settings import DROP, DataSettings
from evodiverse.text import count_of

MAX_CATEGORIES: Final = 20
"""The largest number of different texts in a column of categories; there must be at most one for two rows."""

MAX_SHOWN: Final = 5
_MISSING: Final = frozenset(csv.ConvertOptions().null_values)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The usable rows of a file.

    Attributes:
        labels: The name of each column as it is written, by its name as a variable.
        columns: The ``(n,)`` numbers or texts of each column.
        note: What was left out; empty if nothing was.
    """

    labels: Mapping[str, str]
    columns: Mapping[str, FloatArray | NDArray[np.str_]]
    note: str

    @property
    def keys(self) -> dict[str, str]:
        """The name of each column as a variable, by this name and by the name as it is written."""
        return {**{name: name for name in self.labels}, **{label: name for name, label in self.labels.items()}}


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
    violations: list[str] = []
    for key, path in files.items():
        if path is not None:
            try:
                read[key] = _read_columns(path, settings, read.get("train"))
            except InputError as error:
                violations += [f"task.data.{key}: {fault}" for fault in error.violations]
    if violations:
        raise InputError(*violations)
    train, first = files["train"], read["train"]
    target = first.keys[as_identifier(str(settings.target))]
    sigma = None if settings.sigma is None else first.keys[as_identifier(settings.sigma)]
    variables = dict(_list_variables(first, (target, sigma)))
    tables: dict[str, dict[str, FloatArray]] = {}
    for key, one in read.items():
        tables[key], faults = _encode(one, variables, target)
        faults = faults or find_unusable(tables[key], str(files[key]))
        violations += [f"task.data.{key}: {fault}" for fault in faults]
    if not violations:
        faults = find_wrong_target(target, tables["train"][target], str(train))
        faults += [] if variables else [f"{train} has no column other than the target"]
        violations += [f"task.data.train: {fault}" for fault in faults]
    if violations:
        raise InputError(*violations)
    names = list(variables)
    splits = make_splits([tables.get(key, {}) for key in files], names, target)
    if sigma is not None:
        splits = splits._replace(train=splits.train._replace(weights=_weigh(first.columns[sigma])))
    return Dataset(
        Variable(target, "", first.labels[target]),
        tuple(variable for variable, _, _ in variables.values()),
        splits,
        notes=tuple(filter(None, (one.note for one in read.values()))),
        keys={**{name: name for name in names}, **first.keys},
        sigma=None if sigma is None else Variable(sigma, "", first.labels[sigma]),
    )


def _list_variables(
    table: _Columns, others: Sequence[str | None]
) -> Iterator[tuple[str, tuple[Variable, str, str | None]]]:
    """Yield each variable by its name, with its column and, if it is 1 for a text of this column, this text.

    The columns ``others`` are none.
    """
    taken = [*table.columns]
    for name, values in table.columns.items():
        if name in others:
            continue
        if values.dtype == np.float64:
            yield name, (Variable(name, "", table.labels[name]), name, None)
        else:
            for text in map(str, np.unique(values)):
                own = make_usable([*taken, as_identifier(f"{name}_{text}")])[-1]
                taken.append(own)
                label = f"1 if {table.labels[name]} is {text}, else 0"
                yield own, (Variable(own, "", label, (name, text)), name, text)


def _weigh(sigma: Any) -> FloatArray:
    """Return ``(n,)`` weights of the mean 1 from standard errors."""
    weights = (sigma.min() / sigma) ** 2
    return np.asarray(weights / weights.mean())


def _encode(
    table: _Columns, variables: Mapping[str, tuple[Variable, str, str | None]], target: str
) -> tuple[dict[str, FloatArray], list[str]]:
    """Return the ``(n,)`` values of each variable and of the target in a file, and its texts that have no variable."""
    encoded: dict[str, FloatArray] = {target: np.asarray(table.columns[target], dtype=np.float64)}
    known: dict[str, list[str]] = {}
    for own, (_, name, text) in variables.items():
        values = table.columns[name]
        encoded[own] = np.asarray(values if text is None else values == text, dtype=np.float64)
        known.setdefault(name, []).extend(() if text is None else (text,))
    unknown = [(name, set(map(str, table.columns[name])) - set(texts)) for name, texts in known.items() if texts]
    faults = [
        f"the column {table.labels[name]!r} has the value {min(texts)!r}, which task.data.train does not have"
        for name, texts in unknown
        if texts
    ]
    return encoded, faults


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
        repeated = [
            own.strip() for own, name in zip(table.column_names, written, strict=True) if written.count(name) > 1
        ]
        same = "" if len({*repeated}) < len(repeated) else ", which are the same identifier in Python"
        shown = ", ".join(map(repr, dict.fromkeys(repeated)))[:200]
        raise InputError(f"{path} has several columns named {shown}{same}; rename all but one")
    names = name_columns(written, {} if first is None else first.labels)
    keys = {**{name: name for name in names}, **dict(zip(written, names, strict=True))}
    target = keys.get(as_identifier(str(settings.target)))
    if target is None:
        hint = "" if len(names) > 1 else "; columns must be separated by commas, semicolons or tabs"
        known = ", ".join(written)[:200]
        raise InputError(f"task.data.target={settings.target} is not a column of {path}; its columns are {known}{hint}")
    unknown = [name for name in settings.ignore or () if as_identifier(name) not in keys] if first is None else []
    if unknown:
        raise InputError(f"task.data.ignore: {path} has no column {unknown[0]!r}; {nearest(unknown[0], written)}")
    ignored = {keys.get(as_identifier(name), "") for name in settings.ignore or ()}
    roles = keys if first is None else first.keys
    sigma = None if settings.sigma is None else roles.get(as_identifier(settings.sigma), "")
    if settings.sigma is not None and not sigma and first is None:
        raise InputError(
            f"task.data.sigma: {path} has no column {settings.sigma!r}; {nearest(settings.sigma, written)}"
        )
    for role, name in (("target", target), ("sigma", sigma)):
        if name and name in ignored:
            raise InputError(f"task.data.ignore names the column of task.data.{role}, {name}; leave it out there")
    ignored |= set() if first is None else {sigma or ""}
    used = [name for name in (names if first is None else first.columns) if name not in ignored]
    if missing := ", ".join(name for name in used if name not in names):
        raise InputError(f"{path} is missing the columns {missing}, which task.data.train has")
    columns: dict[str, FloatArray | NDArray[np.str_]] = {}
    faults = []
    for name in used:
        at = names.index(name)
        if first is not None and first.columns[name].dtype != np.float64:
            columns[name] = np.array(_read_texts(table.columns[at]))
            continue
        may_be_text = first is None and name not in (target, sigma)
        columns[name], fault = _read_column(written[at], table.columns[at], delimiter, may_be_text=may_be_text)
        if not fault and columns[name].dtype == np.float64:
            fault = _find_fault(columns[name], written[at], is_sigma=name == sigma)
        if fault:
            other = "" if name in (target, sigma) else f", or leave the column out with task.data.ignore=[{name}]"
            faults.append(f"{path}: {fault}; correct it{other}")
    if faults:
        raise InputError(*faults)
    columns, note = _drop_missing(path, delimiter, columns, settings)
    return _Columns(dict(zip(names, written, strict=True)), columns, note)


def _read_column(
    name: str, column: Any, delimiter: str, *, may_be_text: bool
) -> tuple[FloatArray | NDArray[np.str_], str]:
    """Return the ``(n,)`` numbers of a column, NaN where there is none, or its texts; and what is wrong with it."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy(), dtype=np.float64), ""
    cells = _read_texts(column)
    numbers, wrong = _read_numbers(cells, delimiter)
    if not wrong:
        return numbers, ""
    filled = [cell for cell in cells if cell]
    n_texts = len({*filled})
    are_texts = len(wrong) == len(filled) and all(any(map(str.isalpha, cell)) for cell in filled)
    if may_be_text and are_texts and n_texts <= min(MAX_CATEGORIES, len(filled) // 2):
        return np.array(cells), ""
    return numbers, _describe(name, wrong)


def _find_fault(values: Any, name: str, *, is_sigma: bool) -> str:
    """Return which of the ``(n,)`` values of a column is infinite, or no standard error; empty if none is."""
    for wrong, fault in (
        (np.isinf(values), "must be a finite number"),
        (is_sigma & (values <= 0), "must be above 0, as task.data.sigma"),
    ):
        if wrong.any():
            return f"row {np.argmax(wrong) + 1} of the column {name!r} {fault}"
    return ""


def _read_texts(column: Any) -> list[str]:
    """Return the cells of a column as texts without white space around them; empty where a value is missing."""
    texts = [cell.strip() for cell in column.cast(pa.string()).fill_null("").to_pylist()]
    return ["" if text in _MISSING else text for text in texts]


def _drop_missing(
    path: Path, delimiter: str, columns: Mapping[str, FloatArray | NDArray[np.str_]], settings: DataSettings
) -> tuple[dict[str, FloatArray | NDArray[np.str_]], str]:
    """Return the columns without the rows that lack a value, and a note if there are any.

    Raises:
        InputError: There are such rows, and the settings do not say to drop them.
    """
    lacking = {name: np.isnan(one) if one.dtype == np.float64 else one == "" for name, one in columns.items()}
    is_lacking = np.any([*lacking.values()], axis=0)
    if not is_lacking.any():
        return dict(columns), ""
    rows = np.flatnonzero(is_lacking)
    lines = _find_lines(path, delimiter)
    shown = ", ".join(str(lines[1 + row]) for row in rows[:MAX_SHOWN]) + (", …" if len(rows) > MAX_SHOWN else "")
    names = ", ".join(name for name, one in lacking.items() if one.any())[:200]
    where = f"{'line' if len(rows) == 1 else 'lines'} {shown}, in {names}"
    if settings.missing != DROP:
        what = f"{path} has {count_of(len(rows), 'row')} with a missing value ({where})"
        raise InputError(f"{what}; complete them, or leave them out with task.data.missing={DROP}")
    note = f"{path}: {len(rows):,} of {len(is_lacking):,} rows are left out, since a value is missing ({where})"
    return {name: one[~is_lacking] for name, one in columns.items()}, note


def _find_lines(path: Path, delimiter: str) -> list[int]:
    """Return the number of the first line of each row that is not blank, the header included."""
    with pa.input_stream(path) as stream:
        content = stream.read()
    reader = reader_of(io.StringIO(content.decode(find_encoding(content)), newline=""), delimiter=delimiter)
    lines, line = [], 1
    for cells in reader:
        lines += [line] if cells else []
        line = reader.line_num + 1
    return lines


def read_columns(
    path: Path,
    table: Table,
    rows: Sequence[Sequence[str]],
    names: Collection[str],
    texts: Collection[str],
    labels: Mapping[str, str],
) -> dict[str, FloatArray | NDArray[np.str_]]:
    """Return the ``(n,)`` values of those columns of a table that have one of some names, by name.

    Args:
        path: The file with the table, for error messages.
        table: The table, of which only the header and the delimiter are used.
        rows: The cells of its n rows.
        names: The names of the columns of numbers, as `name_columns` returns them.
        texts: The names of the columns of texts.
        labels: As in `name_columns`.

    Raises:
        InputError: A row has too few or too many cells, or a cell holds no number.
    """
    uneven = [row for row, cells in enumerate(rows, 1) if len(cells) != len(table.names)]
    if uneven:
        n = len(rows[uneven[0] - 1])
        raise InputError(f"{path}: row {uneven[0]} has {count_of(n, 'cell')}, expected {len(table.names)}; correct it")
    columns: dict[str, FloatArray | NDArray[np.str_]] = {}
    faults = []
    for place, name in enumerate(name_columns(table.names, labels)):
        cells = [row[place].strip() for row in rows]
        if name in texts:
            columns[name] = np.array(cells)
        elif name in names:
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
        if not cell:
            continue
        try:
            numbers[row] = read_number(cell, mark)
        except ValueError as error:
            faults.append((row + 1, str(error)))
    return numbers, faults
