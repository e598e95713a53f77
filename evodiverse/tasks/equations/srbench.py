"""The problems of LLM-SRBench (Shojaee et al. 2025), from a user's copy or downloaded once from the Hugging Face hub.

Tables describe the columns, and an HDF5 file holds the numbers, the target first. All of these files are untrusted
input. The law in a table is not read, since it is text whose constants are often missing.
"""

import importlib
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from evodiverse.cache_folder import cache_folder
from evodiverse.errors import DataError, InputError, describe
from evodiverse.kit.documented import nearest
from evodiverse.kit.inputs import DATA_BYTES, TEXT_BYTES, expanded, open_input
from evodiverse.kit.offline import OFFLINE_VARIABLE, is_offline
from evodiverse.tasks.equations.columns import find_few_rows, find_not_finite, find_wrong_target, make_usable
from evodiverse.tasks.equations.problems import FloatArray, Rows, Splits, Variable
from evodiverse.tasks.equations.settings import GROUPS

REPOSITORY: Final = "nnheui/llm-srbench"
HDF5: Final = "lsr_bench_data.hdf5"
_PAGE: Final = f"https://huggingface.co/datasets/{REPOSITORY}"
_COPY: Final = f"copy {HDF5} and the folder data from {_PAGE} into a folder and set task.data.root to that folder"
_LOG: Final = logging.getLogger("evodiverse.tasks.equations")
_SYMBOLS: Final = ("symbols", "symbol_descs", "symbol_properties")
_SPLITS: Final = (("train_data", "train"), ("id_test_data", "test"), ("ood_test_data", "ood_test"))
"""The two names of each split in the benchmark: first in its synthetic problems, then in the transformed ones."""
_REQUIRED: Final = _SPLITS[:2]
_OUTPUT: Final = "O"


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
    numbers, tables = find_files(science, root)
    rows = [row for table in tables for row in _read_table(table)]
    found = [row for row in rows if row["name"] == name]
    if not found:
        known = [str(row["name"]) for row in rows]
        raise InputError(f"task.problem=srbench/{problem} is unknown; {nearest(name, known)}")
    if len(found) > 1:
        raise DataError(f"{tables[0].parent} has two rows for {name}; remove one")
    target, *variables = _read_columns(found[0], f"{tables[0]}: the row {name}")
    splits = _read_splits(numbers, GROUPS[science], name, [target.name, *(variable.name for variable in variables)])
    usable = make_usable([variable.name for variable in variables])
    variables = [_rename(variable, new) for variable, new in zip(variables, usable, strict=True)]
    return (target, *variables), splits


def find_files(science: str, root: str | None) -> tuple[Path, list[Path]]:
    """Return the file with the numbers of all problems, and the tables that describe the problems of one science.

    Missing files are fetched, unless the user named a folder.

    Args:
        science: A key of `GROUPS`.
        root: The user's folder with a copy of the benchmark, or None for the folder in the cache.

    Raises:
        InputError: A library is missing.
        DataError: A file is missing and cannot be fetched; the message says where to put it.
    """
    _load("h5py")  # fails before anything is fetched
    table = GROUPS[science].replace("/", "_")
    folder = cache_folder() / "llm-srbench" if root is None else expanded(root)
    tables = sorted(folder.joinpath("data").glob(f"{table}-*.parquet"))
    needed = {f"data/{table}-00000-of-00001.parquet": bool(tables), HDF5: os.path.exists(folder / HDF5)}
    missing = [name for name, is_there in needed.items() if not is_there]
    if missing and root is not None:
        raise DataError(f"task.data.root: {folder} is missing {' and '.join(missing)}; {_COPY}")
    for name in missing:
        path = _fetch(name, folder)
        tables = tables if name == HDF5 else [path]
    return folder / HDF5, tables


def _load(library: str) -> ModuleType:
    """Import a library that only the problems of LLM-SRBench need."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise InputError(f"task.problem=srbench/… needs {library}; run pip install 'evodiverse[srbench]'") from error


def _fetch(name: str, folder: Path) -> Path:
    """Use the hub's client, and with it the user's login, to download a file into a folder; return the file's path."""
    what = f"cannot fetch {name} of LLM-SRBench into {folder}"
    if is_offline():
        raise DataError(f"{what}: {OFFLINE_VARIABLE} is set; run with {OFFLINE_VARIABLE}=0, or {_COPY}")
    _load("huggingface_hub")
    import httpx
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import RepositoryNotFoundError
    from huggingface_hub.utils.logging import set_verbosity_error

    set_verbosity_error()  # failures are raised as exceptions
    _LOG.info("fetching %s of LLM-SRBench (once) ...", name)
    try:
        return Path(hf_hub_download(REPOSITORY, name, repo_type="dataset", local_dir=folder))
    except RepositoryNotFoundError as error:  # the hub's answer to anyone without access
        advice = f"accept the conditions on {_PAGE}, log in with `hf auth login` or set HF_TOKEN, and run this again"
        raise DataError(f"{what}: the data are gated; {advice}; or {_COPY}") from error
    except (OSError, RuntimeError, httpx.HTTPError) as error:
        advice = "check that this machine can reach huggingface.co and write to that folder"
        raise DataError(f"{what} ({describe(error)}); {advice}, or {_COPY}") from error


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
        counts = " and ".join(str(len(texts)) for texts in lists)
        wrong = f"the lists in {', '.join(_SYMBOLS)} have {counts} entries, expected the same number in each"
        raise DataError(f"{where}: {wrong}")
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


def _read_splits(path: Path, group: str, name: str, names: Sequence[str]) -> Splits:
    """Return the splits of a problem, given the names of its columns, the target first."""
    h5py = _load("h5py")
    try:
        open_input(path, DATA_BYTES).close()
        with h5py.File(path, "r", locking=False) as file:
            node: Any = file
            for step in (*group.split("/"), name):
                above, node = node, node.get(step)
                if not isinstance(node, h5py.Group):
                    raise DataError(f"{path} has no group {group}/{name}; {nearest(step, list(above))}")
            parts = [_read_split(node, titles, f"{path}: {group}/{name}") for titles in _SPLITS]
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        raise DataError(
            f"cannot read {group}/{name} of {path} ({describe(error)}); remove the file and fetch it again"
        ) from error
    tables = {where: table for where, table in parts if table is not None}
    violations = [violation for where, table in tables.items() for violation in _find_unusable(table, where, names)]
    if not violations:
        train = next(iter(tables))
        violations = find_wrong_target(names[0], tables[train][:, 0], train)
    if violations:
        raise DataError(*violations)
    known = [np.empty((0, len(names))) if table is None else table for _, table in parts]
    return Splits(*(Rows(np.ascontiguousarray(table[:, 1:]), np.ascontiguousarray(table[:, 0])) for table in known))


def _read_split(group: Any, titles: Sequence[str], where: str) -> tuple[str, FloatArray | None]:
    """Return the name of a split for messages, and its ``(n, columns)`` numbers, the target first; None if absent."""
    h5py = _load("h5py")
    title = next((title for title in titles if isinstance(group.get(title), h5py.Dataset)), None)
    where = f"{where}/{title or titles[0]}"
    if title is None and titles in _REQUIRED:
        raise DataError(f"{where} is missing, found only {', '.join(group)}; fetch {group.file.filename} again")
    if title is None:
        return where, None
    data = group[title]
    if data.ndim != 2 or data.dtype.kind not in "iuf" or data.nbytes > DATA_BYTES:
        raise DataError(
            f"{where} must be a two-dimensional table of numbers, but it has type {data.dtype} and shape {data.shape}; "
            f"fetch {group.file.filename} again"
        )
    with np.errstate(over="ignore"):
        return where, np.asarray(data[()], dtype=np.float64)


def _find_unusable(table: FloatArray, where: str, names: Sequence[str]) -> list[str]:
    """Return a violation for a wrong number of columns, too few rows or a number that is not finite."""
    if table.shape[1] != len(names):
        return [f"{where} has {table.shape[1]} columns, but its table names {len(names)}: {', '.join(names)}"]
    columns = zip(names, table.T, strict=True)
    finite = [violation for name, values in columns for violation in find_not_finite(name, values, where)]
    return [*find_few_rows(len(table), where), *finite]
