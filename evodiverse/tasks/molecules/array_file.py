"""Files of plain arrays (``.npz``) that hold classifiers; reading one unpickles nothing."""

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
        path: The ``.npz`` file.
        names: The names of the arrays to read.
        what: What the arrays represent, such as "forest", for error messages.

    Raises:
        DataError: The file cannot be read.
        Exception: The file is damaged or lacks an array. zipfile, zlib, numpy and its header parser raise various
            exceptions, which the caller must catch.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file):  # np.load would accept other formats, too
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in names}
    except OSError as error:
        raise DataError(f"cannot read the {what} {path} ({error.strerror or error}); check the path") from error


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays uncompressed, so that they load fast.

    Other processes never see an incomplete file. The same arrays always give the same bytes.
    """
    replace_file(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def hash_arrays(arrays: Mapping[str, NDArray[Any]], types: Mapping[str, str]) -> str:
    """Return the SHA-256 of the names, types, lengths and bytes of arrays.

    Args:
        arrays: The arrays by name.
        types: The type that each array is converted to before it is hashed, by the name of the array, in the order in
            which arrays are hashed.
    """
    digest = hashlib.sha256()
    for name, dtype in types.items():
        array: NDArray[Any] = np.ascontiguousarray(arrays[name], dtype=dtype)
        digest.update(f"{name} {dtype} {len(array)}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()
