"""Classifiers as files of plain arrays (``.npz``), which are read without unpickling anything."""

import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError
from evodiverse.kit.files import replace_file

Arrays = dict[str, NDArray[Any]]


def load_arrays(path: Path, names: Iterable[str], what: str) -> Arrays:
    """Return the arrays of a file by their names.

    Args:
        path: The file.
        names: Of the arrays.
        what: What they make up, as errors call it.

    Raises:
        DataError: The file cannot be read.
        Exception: It is damaged; zipfile, zlib, numpy and the parser of its headers raise whatever they meet.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file):  # np.load would take other formats as well
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in names}
    except OSError as error:
        raise DataError(f"cannot read the {what} {path} ({error.strerror or error}); check the path") from error


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as they are, uncompressed, so that they load fast.

    Other processes see all of the file or nothing; the same arrays give the same bytes.
    """
    replace_file(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def hash_arrays(arrays: Mapping[str, NDArray[Any]], types: Mapping[str, str]) -> str:
    """Return the SHA-256 over names, types, lengths and bytes of arrays, whatever file they came from."""
    digest = hashlib.sha256()
    for name, dtype in types.items():
        array: NDArray[Any] = np.ascontiguousarray(arrays[name], dtype=dtype)
        digest.update(f"{name} {dtype} {len(array)}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()
