"""The problems of LLM-SRBench: tables describe the columns, and an HDF5 file holds the numbers, the target first.

All of these files are untrusted input. The law in a table is not read, since it is text whose constants are often
missing.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from evodiverse.errors import DataError, InputError, describe
from evodiverse.kit.documented import nearest
from evodiverse.kit.inputs import DATA_BYTES, TEXT_BYTES, open_input
from evodiverse.tasks.equations.columns import find_few_rows, find_not_finite, find_wrong_target, make_usable
from evodiverse.tasks.equations.problems import FloatArray, Rows, Splits, Variable
from evodiverse.tasks.equations.srbench_files import GROUPS, find_files, load

_SYMBOLS: Final = ("symbols", "symbol_descs", "symbol_properties")
_SPLITS: Final = (("train_data", "train"), ("id_test_data", "test"), ("ood_test_data", "ood_test"))
"""The two names of each split in the benchmark: first in its synthetic problems, then in the transformed ones."""
_REQUIRED: Final = _SPLITS[:2]
_OUTPUT: Final = "O"


class _Part(NamedTuple):
    """A split as read from the file.

    Attributes:
        where: The name of the split in messages.
        numbers: ``(n, columns)`` numbers, the target first; None if the file does not have the split.
    """

    where: str
    numbers: FloatArray | None


def read_problem(problem: str, root: str | None) -> tuple[tuple[Variable, ...], Splits]:
    """Return the columns of a problem, the target first, and its data.

    A name that cannot be a variable is replaced by a similar name that can, and the original name is appended to the
    variable's meaning. If there are no data out of domain, that split has no rows.

    Args:
        problem: The science and the name of the problem, such as physics/PO0.
        root: The user's folder with a copy of the benchmark, or None for the folder in the cache.

    Raises:
        InputError: The problem is unknown, or a library is missing.
        DataError: A file is missing and cannot be fetched, or its content cannot be used.
    """
    science, _, name = problem.partition("/")
    files = find_files(science, root)
    return _read(problem, GROUPS[science], name, *files, tuple(map(_stamp, (files.numbers, *files.tables))))


def _stamp(path: Path) -> tuple[int, int]:
    """Return the modification time and the size of a file, which change with its content."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _read(
    problem: str,
    group: str,
    name: str,
    numbers: Path,
    tables: tuple[Path, ...],
    stamps: tuple[tuple[int, int], ...],  # noqa: ARG001 (part of the cache key, so that changed files are read again)
) -> tuple[tuple[Variable, ...], Splits]:
    rows = [row for table in tables for row in _read_table(table)]
    found = [row for row in rows if row["name"] == name]
    if not found:
        known = [str(row["name"]) for row in rows]
        raise InputError(f"task.problem=srbench/{problem} is unknown; {nearest(name, known)}")
    if len(found) > 1:
        raise DataError(f"{tables[0].parent} has two rows for {name}; remove one")
    columns = _read_columns(found[0], f"{tables[0]}: the row {name}")
    parts = _read_numbers(numbers, group, name)
    _check([column.name for column in columns], parts)
    target, *variables = columns
    usable = make_usable([variable.name for variable in variables])
    variables = [_rename(variable, new) for variable, new in zip(variables, usable, strict=True)]
    return (target, *variables), Splits(*(_rows(part.numbers, len(columns)) for part in parts))


def _read_table(path: Path) -> list[dict[str, Any]]:
    try:
        open_input(path, TEXT_BYTES).close()
        file = parquet.ParquetFile(path)  # read_table would add columns for the names of folders
        missing = ", ".join(name for name in ("name", *_SYMBOLS) if name not in file.schema_arrow.names)
        rows: list[dict[str, Any]] = [] if missing else file.read(columns=["name", *_SYMBOLS]).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"cannot read {path} ({describe(error)}); remove the file and fetch it again") from error
    if missing:
        raise DataError(f"{path} is missing the columns {missing}; expected a table of LLM-SRBench")
    return rows


def _read_columns(row: Mapping[str, Any], where: str) -> list[Variable]:
    """Return the columns described by a row of a table, the target first."""
    lists = [row[key] for key in _SYMBOLS]
    if not all(isinstance(texts, list) and all(isinstance(text, str) for text in texts) for texts in lists):
        raise DataError(
            f"{where}: the columns {', '.join(_SYMBOLS)} must each hold a list of strings; "
            "remove the file and fetch it again"
        )
    if len({len(texts) for texts in lists}) > 1:
        raise DataError(
            f"{where}: the lists in {', '.join(_SYMBOLS)} have "
            f"{' and '.join(str(len(texts)) for texts in lists)} entries, expected the same number in each"
        )
    names, meanings, properties = lists
    if properties.count(_OUTPUT) != 1 or len(names) == 1:
        raise DataError(
            f"{where} must have one symbol with the property {_OUTPUT} and at least one other, got {properties}"
        )
    columns = list(map(Variable, names, meanings))
    return [columns.pop(properties.index(_OUTPUT)), *columns]


def _rename(variable: Variable, name: str) -> Variable:
    meaning = variable.meaning if name == variable.name else f"{variable.meaning} (in the data: {variable.name})"
    return Variable(name, meaning.strip())


def _read_numbers(path: Path, group: str, name: str) -> list[_Part]:
    """Return the splits of a problem."""
    h5py = load("h5py")
    try:
        open_input(path, DATA_BYTES).close()
        with h5py.File(path, "r", locking=False) as file:
            node: Any = file
            for step in (*group.split("/"), name):
                above, node = node, _find(node, step, h5py.Group)
                if node is None:
                    raise DataError(f"{path} has no group {group}/{name}; {nearest(step, list(above))}")
            return [_read_part(node, titles, f"{path}: {group}/{name}") for titles in _SPLITS]
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        raise DataError(
            f"cannot read {group}/{name} of {path} ({describe(error)}); remove the file and fetch it again"
        ) from error


def _find(group: Any, name: str, kind: type) -> Any:
    """Return a group's member with this name and kind; None if there is none, or only a soft or external link."""
    is_own = isinstance(group.get(name, getlink=True), load("h5py").HardLink)
    return group[name] if is_own and isinstance(group[name], kind) else None


def _read_part(group: Any, titles: Sequence[str], where: str) -> _Part:
    h5py = load("h5py")
    found = {title: _find(group, title, h5py.Dataset) for title in titles}
    title, data = next(((title, data) for title, data in found.items() if data is not None), (titles[0], None))
    where = f"{where}/{title}"
    if data is None and titles in _REQUIRED:
        raise DataError(f"{where} is missing, found only {', '.join(group)}; fetch {group.file.filename} again")
    if data is None:
        return _Part(where, None)
    if data.is_virtual or data.external:
        raise DataError(f"{where} refers to other files; fetch {group.file.filename} again")
    if data.ndim != 2 or data.dtype.kind not in "iuf" or data.nbytes > DATA_BYTES:
        raise DataError(
            f"{where} must be a two-dimensional table of numbers, but it has type {data.dtype} and shape {data.shape}; "
            f"fetch {group.file.filename} again"
        )
    with np.errstate(over="ignore"):
        return _Part(where, np.asarray(data[()], dtype=np.float64))


def _check(names: Sequence[str], parts: Sequence[_Part]) -> None:
    """Check that each split has the right number of columns, enough rows and only finite numbers.

    Also check that the training target varies.

    Raises:
        DataError: A check fails; the message names the violations.
    """
    violations = []
    for where, numbers in parts:
        if numbers is None:
            continue
        n_columns = numbers.shape[1]
        if n_columns != len(names):
            violations.append(f"{where} has {n_columns} columns, but its table names {len(names)}: {', '.join(names)}")
            continue
        violations += find_few_rows(len(numbers), where)
        for name, values in zip(names, numbers.T, strict=True):
            violations += find_not_finite(name, values, where)
    if violations:
        raise DataError(*violations)
    train = parts[0]
    if train.numbers is not None:
        violations = find_wrong_target(names[0], train.numbers[:, 0], train.where)
    if violations:
        raise DataError(*violations)


def _rows(numbers: FloatArray | None, n_columns: int) -> Rows:
    table = np.empty((0, n_columns)) if numbers is None else numbers
    return Rows(np.ascontiguousarray(table[:, 1:]), np.ascontiguousarray(table[:, 0]))
