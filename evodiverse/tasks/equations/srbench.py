"""The problems of LLM-SRBench (Shojaee et al. 2025), from a user's copy or downloaded once from the Hugging Face hub.

Tables describe the columns, and an HDF5 file holds the numbers, the target first. All of these files are untrusted
input. The law in a table is not read, since it is text whose constants are often missing.
"""

import importlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from pyarrow import parquet

from evodiverse.errors import DataError, InputError, describe
from evodiverse.kit.documented import nearest
from evodiverse.kit.environment import OFFLINE_VARIABLE, cache_folder, is_offline
from evodiverse.kit.inputs import expanded, open_input
from evodiverse.tasks.equations.columns import make_splits, make_usable
from evodiverse.tasks.equations.problems import FloatArray, Splits, Variable
from evodiverse.tasks.equations.settings import GROUPS

REPOSITORY: Final = "nnheui/llm-srbench"
HDF5: Final = "lsr_bench_data.hdf5"
_PAGE: Final = f"https://huggingface.co/datasets/{REPOSITORY}"
_COPY: Final = f"copy {HDF5} and the folder data from {_PAGE} into a folder and set task.data.root to that folder"
_LOG: Final = logging.getLogger("evodiverse.tasks.equations")
_SYMBOLS: Final = ("symbols", "symbol_descs", "symbol_properties")
_SPLITS: Final = (("train_data", "train"), ("id_test_data", "test"), ("ood_test_data", "ood_test"))
"""The two names of each split in the benchmark: first in its synthetic problems, then in the transformed ones."""
_DATA_BYTES: Final = 4_000_000_000


def read_problem(problem: str, root: str | None) -> tuple[tuple[Variable, ...], Splits]:
    """Return the columns of a problem, the target first, and its data.

    A name that cannot be a variable is replaced by a similar name that can, and the original name is appended to the
    variable's meaning. If there are no data out of domain, that split has no rows.

    Args:
        problem: The science and the name of the problem, such as physics/PO0.
        root: The user's folder with a copy of the benchmark, or None for the folder in the cache.

    Raises:
        InputError: The problem is unknown, a library is missing, or `make_splits` refuses the numbers.
        DataError: A file is missing and cannot be fetched, or is not as expected.
    """
    science, _, name = problem.partition("/")
    numbers, tables = find_files(science, root)
    rows: dict[str, Mapping[str, Any]] = {}
    for path in tables:
        with _reading(path):  # ParquetFile, since read_table would add columns for the names of folders
            rows |= {row["name"]: row for row in parquet.ParquetFile(path).read(["name", *_SYMBOLS]).to_pylist()}
    if name not in rows:
        raise InputError(f"task.problem=srbench/{problem} is unknown; {nearest(name, list(rows))}")
    with _reading(tables[0]):
        names, meanings, properties = (rows[name][key] for key in _SYMBOLS)
        variables = [Variable(own, meaning.strip()) for own, meaning in zip(names, meanings, strict=True)]
        target = variables.pop(properties.index("O"))
    with _reading(numbers):
        splits = _read_splits(numbers, f"{GROUPS[science]}/{name}", [one.name for one in (target, *variables)])
    usable = make_usable([variable.name for variable in variables])
    renamed = (
        one if own == one.name else Variable(own, f"{one.meaning} (in the data: {one.name})".strip())
        for own, one in zip(usable, variables, strict=True)
    )
    return (target, *renamed), splits


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
    fetched = [_fetch(name, folder) for name in missing]
    return folder / HDF5, tables or fetched[:1]


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


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise an error that names the file if it cannot be opened, or if what is in it is not as expected."""
    try:
        open_input(path).close()
        yield
    except (OSError, LookupError, AttributeError, TypeError, ValueError, RuntimeError, MemoryError) as error:
        raise DataError(f"cannot read {path} ({describe(error)}); remove the file and fetch it again") from error


def _read_splits(path: Path, group: str, names: Sequence[str]) -> Splits:
    """Return the splits of a problem, given the names of its columns, the target first."""
    h5py = _load("h5py")
    tables: dict[str, dict[str, FloatArray]] = {}
    with h5py.File(path, "r", locking=False) as file:
        problem = file[group]
        for titles in _SPLITS:
            title = next((title for title in titles if title in problem), titles[0])
            table = tables[f"{path}: {group}/{title}"] = {}
            if title not in problem and titles is _SPLITS[-1]:  # the only one that may be missing
                continue
            data = problem[title]
            if data.shape[1:] != (len(names),) or data.nbytes > _DATA_BYTES:
                expected = f"the columns {', '.join(names)} in at most {_DATA_BYTES:,} bytes"
                raise ValueError(f"{group}/{title} has the shape {data.shape}, expected {expected}")
            with np.errstate(over="ignore"):
                values = np.asarray(data[()], dtype=np.float64)
            table.update(zip(names, np.ascontiguousarray(values.T), strict=True))
    return make_splits(tables, names[1:], names[0])
