"""The files of LLM-SRBench (Shojaee et al. 2025), from a user's copy or downloaded once from the Hugging Face hub."""

import importlib
import logging
import os
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from evodiverse.cache_folder import cache_folder
from evodiverse.errors import DataError, InputError, describe
from evodiverse.kit.inputs import expanded
from evodiverse.kit.offline import OFFLINE_VARIABLE, is_offline

GROUPS: Final = {
    "physics": "lsr_synth/phys_osc",
    "biology": "lsr_synth/bio_pop_growth",
    "chemistry": "lsr_synth/chem_react",
    "materials": "lsr_synth/matsci",
    "transform": "lsr_transform",
}
"""The HDF5 group of each science in the benchmark; transform holds laws of physics, solved for another variable."""

REPOSITORY: Final = "nnheui/llm-srbench"
HDF5: Final = "lsr_bench_data.hdf5"
_PAGE: Final = f"https://huggingface.co/datasets/{REPOSITORY}"
_COPY: Final = f"copy {HDF5} and the folder data from {_PAGE} into a folder and set task.data.root to that folder"
_LOG: Final = logging.getLogger("evodiverse.tasks.equations")


class Files(NamedTuple):
    """The files that a problem is read from.

    Attributes:
        numbers: The HDF5 file with the numbers of all problems.
        tables: The tables that describe the problems of one science.
    """

    numbers: Path
    tables: tuple[Path, ...]


def find_files(science: str, root: str | None) -> Files:
    """Return the files with the problems of a science. Missing files are fetched, unless the user named a folder.

    Args:
        science: A key of `GROUPS`.
        root: The user's folder with a copy of the benchmark, or None for the folder in the cache.

    Raises:
        InputError: A library is missing.
        DataError: A file is missing and cannot be fetched; the message says where to put it.
    """
    load("h5py")  # fails before anything is fetched
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
    return Files(folder / HDF5, tuple(tables))


def load(library: str) -> ModuleType:
    """Import a library that only the problems of LLM-SRBench need.

    Raises:
        InputError: The library is not installed.
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise InputError(f"task.problem=srbench/… needs {library}; run pip install 'evodiverse[srbench]'") from error


def _fetch(name: str, folder: Path) -> Path:
    """Use the hub's client, and with it the user's login, to download a file into a folder; return the file's path."""
    what = f"cannot fetch {name} of LLM-SRBench into {folder}"
    if is_offline():
        raise DataError(f"{what}: {OFFLINE_VARIABLE} is set; run with {OFFLINE_VARIABLE}=0, or {_COPY}")
    load("huggingface_hub")
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
