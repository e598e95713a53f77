"""Files that hold trained models: plain arrays (``.npz``), and pickles, read without running any code that they name.

Unpickling calls any function that a file names, so a pickle from an untrusted source is an untrusted program. Here
every name is bound to a stand-in that only records its arguments, and nothing is imported. Not even numpy's functions
are called during unpickling: ``dtype.__setstate__`` trusts offsets and flags, with which a file could make an array
reach outside its buffer. The few arrays that are needed are built afterwards from the recorded bytes.

This also makes reading independent of the scikit-learn version that wrote the file (tested with 0.21 to 1.9).
"""

import hashlib
import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError, describe
from evodiverse.kit.files import replace_file


class ArrayModel(ABC):
    """A trained model that consists of plain arrays, and is stored as a file of them (``.npz``).

    A subclass is a dataclass whose first fields are the arrays. Its constructor raises ValueError if they are invalid.

    Attributes:
        what: What the arrays represent, such as "forest", for error messages.
        types: The type of each array by name, in the order in which arrays are hashed.
        pickled: The name of scikit-learn's class for such a model.
        remedy: What to do about a file that cannot be used, for error messages.
    """

    what: ClassVar[str]
    types: ClassVar[Mapping[str, str]]
    pickled: ClassVar[str]
    remedy: ClassVar[str]

    @classmethod
    @abstractmethod
    def from_record(cls, record: "Record") -> Self:
        """Convert what a pickle holds; any exception means that it is no such model."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a model of this class; see `load_one_of`."""
        return load_one_of((cls,), path)

    def save_npz(self, path: Path) -> None:
        """Write the arrays uncompressed, so that they load fast.

        Other processes never see an incomplete file. The same arrays always give the same bytes.
        """
        arrays = {name: getattr(self, name) for name in self.types}
        replace_file(path, lambda file: np.savez(file, **arrays))

    def arrays_sha256(self) -> str:
        """Return the SHA-256 of the names, types, lengths and bytes of the arrays."""
        digest = hashlib.sha256()
        for name, dtype in self.types.items():
            array: NDArray[Any] = np.ascontiguousarray(getattr(self, name), dtype=dtype)
            digest.update(f"{name} {dtype} {len(array)}\n".encode())
            digest.update(array.data)
        return digest.hexdigest()

    def check_arrays(self, **shapes: tuple[int, ...]) -> None:
        """Check the type and the shape of each array, and make it read-only.

        Raises:
            ValueError: An array has another type or shape, or holds a number that is not finite.
        """
        for name, dtype in self.types.items():
            array = getattr(self, name)
            if array.shape != shapes[name] or array.dtype != np.dtype(dtype) or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite {dtype} of shape {shapes[name]}")
            array.flags.writeable = False


_Model = TypeVar("_Model", bound=ArrayModel)


def load_one_of(kinds: Sequence[type[_Model]], path: Path) -> _Model:
    """Read a model that `ArrayModel.save_npz` wrote, or that scikit-learn pickled, whatever the name of the file.

    Args:
        kinds: The classes that the model may have. A file that holds none of them is read as the first.
        path: The file.

    Raises:
        DataError: The file is missing, is damaged, or does not hold such a model.
    """
    kind = kinds[0]
    try:
        content = path.read_bytes()
        if not content.startswith(b"PK\x03\x04"):  # of an .npz
            record = _InertUnpickler(io.BytesIO(content)).load()
            kind = next((each for each in kinds if each.pickled == type(record).__name__), kind)
            return kind.from_record(record)
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            kind = next((each for each in kinds if {*each.types} <= {*archive.files}), kind)
            return kind(**{name: archive[name] for name in kind.types})
    except OSError as error:
        raise DataError(f"cannot read the {kind.what} {path} ({error.strerror or error}); check the path") from error
    except Exception as error:  # pickle, zipfile, zlib, numpy and its header parser raise various exceptions
        raise DataError(f"{path} does not hold a valid {kind.what} ({describe(error)}); {kind.remedy}") from error


class Record:
    """A stand-in for what a pickle names, which records its arguments and its state, and does nothing else.

    Each name gets a class of its own with this name.
    """

    args: tuple[Any, ...]
    state: Any = None

    def __new__(cls, *args: Any) -> Self:
        """Record the arguments."""
        record = super().__new__(cls)
        record.args = args
        return record

    def __setstate__(self, state: Any) -> None:
        """Record the state."""
        self.state = state


class _InertUnpickler(pickle.Unpickler):
    """An unpickler that replaces all classes and functions with stand-ins, and imports none."""

    def find_class(self, module_name: str, global_name: str) -> type[Record]:  # noqa: ARG002
        """Return the stand-in for a class or function that the pickle names."""
        return type(global_name, (Record,), {})


def state_of(record: Any, kind: str) -> dict[str, Any]:
    """Return the attributes that a pickle gives to an object.

    Raises:
        ValueError: The object is of another kind than the class called ``kind``.
    """
    if type(record).__name__ != kind or not isinstance(record.state, dict):
        raise ValueError(f"expected {kind}, got {type(record).__name__}")
    return record.state


def build_array(record: Any) -> NDArray[Any]:
    """Build an array from the stand-in that recorded its bytes, type and shape during unpickling.

    ``np.frombuffer`` refuses types that hold references to objects, and ``reshape`` bytes that do not fill the shape.

    Raises:
        ValueError: The stand-in is not an array of plain numbers, or its bytes do not fill its shape.
    """
    if type(record).__name__ == "_reconstruct":  # pickle protocols 3 and 4
        _version, shape, dtype, is_fortran, content = record.state
    elif type(record).__name__ == "_frombuffer":  # pickle protocol 5
        content, dtype, shape, order = record.args
        is_fortran = order == "F"
    else:
        raise ValueError(f"expected an array, got {type(record).__name__}")
    return np.frombuffer(content, _build_dtype(dtype)).reshape(shape, order="F" if is_fortran else "C")


def find_kind(record: Any) -> str:
    """Return numpy's letter for the kind of an array's values, such as ``i``, from the stand-in of the array."""
    dtype = record.args[1] if type(record).__name__ == "_frombuffer" else record.state[2]
    return str(dtype.args[0][0])


def _build_dtype(record: Any) -> np.dtype[Any]:
    """Build the dtype that a pickle describes; the constructor of ``np.dtype`` checks what comes from the file."""
    _version, order, _subtype, names, fields, itemsize, *_rest = record.state
    if names is None:
        plain: np.dtype[Any] = np.dtype(record.args[0])
        return plain.newbyteorder(order)
    formats, offsets = zip(*(fields[name][:2] for name in names), strict=True)
    kinds = [_build_dtype(kind) for kind in formats]
    return np.dtype({"names": list(names), "formats": kinds, "offsets": list(offsets), "itemsize": itemsize})
