"""Files that hold classifiers: plain arrays (``.npz``), and pickles, read without running any code that they name.

Unpickling calls any function that a file names, so a pickle from an untrusted source is an untrusted program. Here the
names that a classifier needs are bound to stand-ins that only record their arguments, and every other name is refused.
Not even numpy's functions are called during unpickling: ``dtype.__setstate__`` trusts offsets and flags, with which a
file could make an array reach outside its buffer. The few arrays that are needed are built afterwards from the recorded
bytes.

This also makes reading independent of the scikit-learn version that wrote the file (tested with 0.21 to 1.9).
"""

import hashlib
import io
import math
import pickle
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError, describe
from evodiverse.kit.files import replace_file


class Classifier(ABC):
    """A classifier that consists of plain arrays, and is stored as a file of them (``.npz``).

    A subclass is a dataclass whose first fields are the arrays. Its constructor raises ValueError if they are invalid.

    Attributes:
        what: What the arrays represent, such as "forest", for error messages.
        types: The type of each array by name, in the order in which arrays are hashed.
    """

    __slots__ = ()
    what: ClassVar[str]
    types: ClassVar[Mapping[str, str]]

    @classmethod
    @abstractmethod
    def from_pickle(cls, path: Path) -> Self:
        """Read a classifier that scikit-learn pickled.

        Raises:
            DataError: The file cannot be used.
        """

    @classmethod
    def load_npz(cls, path: Path) -> Self:
        """Read a classifier that `save_npz` wrote; nothing is unpickled.

        Raises:
            DataError: The file is missing, is damaged, or does not hold such a classifier.
        """
        try:
            with path.open("rb") as file, zipfile.ZipFile(file):  # np.load would accept other formats, too
                file.seek(0)
                with np.load(file, allow_pickle=False) as archive:
                    return cls(**{name: archive[name] for name in cls.types})
        except OSError as error:
            raise DataError(f"cannot read the {cls.what} {path} ({error.strerror or error}); check the path") from error
        except Exception as error:  # zipfile, zlib, numpy and its header parser raise various exceptions
            raise DataError(
                f"{path} does not hold a valid {cls.what} ({describe(error)}); write it again with "
                f"{cls.__name__}.save_npz"
            ) from error

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


_NUMBER_CODES: Final = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
Read = TypeVar("Read")


class Record:
    """A stand-in that records the arguments and the state that a pickle gives to an object, and does nothing else."""

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> Self:
        """Record the arguments."""
        record = super().__new__(cls)
        record.args = args
        record.state = None
        return record

    def __setstate__(self, state: Any) -> None:
        """Record the state."""
        self.state = state


class _Dtype(Record):
    """Takes the place of ``numpy.dtype`` while a pickle is read, and only records what the pickle passes to it.

    In this way, the pickle cannot make numpy run any code.
    """


class _StatefulArray(Record):
    """The stand-in for an array that gets its shape, type and bytes as state (pickle protocols 3 and 4)."""


class _BufferArray(Record):
    """The stand-in for an array that gets its bytes, type and shape as arguments (pickle protocol 5)."""


_NUMPY: Final[Mapping[tuple[str, str], type[Record]]] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): Record,
    ("numpy.core.multiarray", "_reconstruct"): _StatefulArray,
    ("numpy._core.multiarray", "_reconstruct"): _StatefulArray,
    ("numpy.core.multiarray", "scalar"): Record,
    ("numpy._core.multiarray", "scalar"): Record,
    ("numpy.core.numeric", "_frombuffer"): _BufferArray,
    ("numpy._core.numeric", "_frombuffer"): _BufferArray,
}

# What the unpickler itself raises on a damaged or hostile file; no code that the file chose ever runs.
_UNPICKLING_ERRORS = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
)


class _InertUnpickler(pickle.Unpickler):
    """An unpickler that replaces admitted classes and functions with stand-ins, and refuses all others."""

    def __init__(self, content: bytes, admitted: Mapping[tuple[str, str], type[Record]], refusal: str) -> None:
        super().__init__(io.BytesIO(content))
        self._admitted = {**_NUMPY, **admitted}
        self._refusal = refusal

    def find_class(self, module_name: str, global_name: str) -> type[Record]:
        """Return the stand-in for a global (a class or function that the pickle names) without importing anything.

        Raises:
            DataError: The global is not admitted.
        """
        stand_in = self._admitted.get((module_name, global_name))
        if stand_in is None:
            raise DataError(self._refusal.format(f"{f'{module_name}.{global_name}'[:200]!r}"))
        return stand_in


def read_pickle(
    path: Path,
    what: str,
    admitted: Mapping[tuple[str, str], type[Record]],
    convert: Callable[[Any], Read],
    remedy: str,
) -> Read:
    """Read a pickle and return its content, converted from stand-ins to arrays.

    Args:
        path: A file written by ``pickle.dump``, protocol 3 or later.
        what: What the file should hold, such as "forest", for error messages.
        admitted: Stand-ins for the globals (classes and functions) that the file may name, by module and name. Those
            of numpy's arrays are always admitted.
        convert: A function that converts the top-level stand-in to the return value. If it raises an exception because
            the content has another structure, `read_pickle` raises a `DataError`.
        remedy: What to do about a file that cannot be used, for error messages.

    Raises:
        DataError: The file is missing, is not a pickle, names a global that is not admitted, or holds something other
            than ``what``.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the {what} {path} ({error.strerror}); check the path") from error
    refusal = f"{_braced(path)} is refused, as it names the global {{}}, which a {what} does not need; {remedy}"
    try:
        record = _InertUnpickler(content, admitted, refusal).load()
    except _UNPICKLING_ERRORS as error:
        raise DataError(f"{path} is not a readable pickle ({describe(error)}); {remedy}") from error
    try:
        return convert(record)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path} does not hold a valid {what} ({describe(error)}); {remedy}") from error


def _braced(path: Path) -> str:
    """Return a path with its braces escaped for ``str.format``."""
    return str(path).replace("{", "{{").replace("}", "}}")


def refuse(reason: str) -> NoReturn:
    """Raise ValueError with this reason; `read_pickle` turns it into a message about the file.

    Raises:
        ValueError: Always.
    """
    raise ValueError(reason)


def state_of(record: Any, kind: type[Record]) -> dict[str, Any]:
    """Return the attributes that a pickle gives to an object.

    When a pickle is read, a stand-in takes the place of each object and records its attributes. ``record`` is such a
    stand-in and must be an instance of ``kind``.

    Raises:
        ValueError: The object is of another kind.
    """
    if not isinstance(record, kind) or not isinstance(record.state, dict):
        refuse(f"expected {kind.__name__.strip('_')}, got {type(record).__name__.strip('_')}")
    return record.state


def build_array(record: Any) -> NDArray[Any]:
    """Build an array from the stand-in that recorded its bytes, type and shape during unpickling.

    Raises:
        ValueError: The stand-in is not an array of plain numbers, or its bytes do not fill its shape.
    """
    if isinstance(record, _StatefulArray):
        _version, shape, dtype, is_fortran, content = record.state
    elif isinstance(record, _BufferArray):
        content, dtype, shape, order = record.args
        is_fortran = order == "F"
    else:
        refuse(f"expected an array, got {type(record).__name__}")
    if not isinstance(content, bytes | bytearray):
        refuse(f"expected the bytes of an array, got {type(content).__name__}")
    shape = tuple(int(length) for length in shape)
    built = _dtype(dtype)
    if min(shape, default=0) < 0 or math.prod(shape) * built.itemsize != len(content):
        refuse(f"expected {shape} items of {built.itemsize} bytes, got {len(content)} bytes")
    return np.frombuffer(content, built).reshape(shape, order="F" if is_fortran else "C")


def _dtype(record: Any) -> np.dtype[Any]:
    """Build the dtype that a pickle describes: an integer or float type, or a structured type of these.

    ``record`` holds the description: the `_Dtype` that took the place of ``numpy.dtype`` while the pickle was read.

    The offsets of a structured type come from the file. The constructor of ``np.dtype`` checks them.
    """
    if not isinstance(record, _Dtype):
        refuse(f"expected a dtype, got {type(record).__name__}")
    _version, order, _subtype, names, columns, itemsize, *_rest = record.state
    if names is None:
        return _number_dtype(record.args[0], order)
    formats = [_number_dtype(columns[name][0].args[0], columns[name][0].state[1]) for name in names]
    offsets = [int(columns[name][1]) for name in names]
    return np.dtype({"names": list(names), "formats": formats, "offsets": offsets, "itemsize": itemsize})


def _number_dtype(code: Any, order: Any) -> np.dtype[Any]:
    """Return an integer or float type; all others are refused, such as those that hold references to objects."""
    if code not in _NUMBER_CODES or order not in {"<", ">", "|"}:
        refuse("expected integers or floats")
    return np.dtype(f"{order}{code}")
