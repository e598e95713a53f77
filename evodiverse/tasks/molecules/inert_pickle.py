"""Read what a pickle holds without running anything that it asks for.

Unpickling calls whatever functions a file names, so a pickle from elsewhere is a program from elsewhere. Here the
names that a classifier needs are bound to stand-ins which only remember what they were given, and every other name is
refused. Not even numpy's own functions are called by the pickle: its ``dtype.__setstate__`` trusts offsets and flags,
with which a file can reach outside its buffer. The few arrays that matter are built afterwards, from the remembered
bytes.

That also makes the reading independent of the scikit-learn version that wrote the file (checked: 0.21 to 1.9).
"""

import io
import math
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError, describe

_NUMBER_CODES: Final = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
Read = TypeVar("Read")


class Record:
    """Remembers the arguments and the state that a pickle gives to an object, and does nothing with them."""

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> Self:
        """Remember the arguments."""
        record = super().__new__(cls)
        record.args = args
        record.state = None
        return record

    def __setstate__(self, state: Any) -> None:
        """Remember the state."""
        self.state = state


class _Dtype(Record):
    """Stands for numpy.dtype."""


class _StatefulArray(Record):
    """Stands for an array that gets shape, type and bytes as its state (pickle protocols 3 and 4)."""


class _BufferArray(Record):
    """Stands for an array that gets bytes, type and shape as its arguments (pickle protocol 5)."""


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

# What the pickle machine raises on a damaged or hostile file; none of them comes from code the file chose.
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
    """Binds the names that are admitted to stand-ins and refuses all others."""

    def __init__(self, content: bytes, admitted: Mapping[tuple[str, str], type[Record]], refusal: str) -> None:
        super().__init__(io.BytesIO(content))
        self._admitted = {**_NUMPY, **admitted}
        self._refusal = refusal

    def find_class(self, module_name: str, global_name: str) -> type[Record]:
        """Return the stand-in for a global; nothing is imported.

        Raises:
            DataError: This global is not needed.
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
    """Return what a pickle holds, converted from records to arrays.

    Args:
        path: A file written by ``pickle.dump``, protocol 3 or later.
        what: What it should hold, as errors call it.
        admitted: The stand-ins for the globals that it may name, by module and name, beside those of numpy's arrays.
        convert: Makes of the record in the file what is returned; what it raises on a record of another shape
            becomes an error.
        remedy: What to do about a file that cannot be used.

    Raises:
        DataError: The file is missing, is no pickle, names another global, or holds something else.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the {what} {path} ({error.strerror}); check the path") from error
    refusal = f"{_braced(path)} is refused: a {what} needs no global {{}}; {remedy}"
    try:
        record = _InertUnpickler(content, admitted, refusal).load()
    except _UNPICKLING_ERRORS as error:
        raise DataError(f"{path} is not a readable pickle ({describe(error)}); {remedy}") from error
    try:
        return convert(record)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path} holds no usable {what} ({describe(error)}); {remedy}") from error


def _braced(path: Path) -> str:
    """Return a path as text that ``str.format`` leaves as it is."""
    return str(path).replace("{", "{{").replace("}", "}}")


def refuse(reason: str) -> NoReturn:
    """Say that a record is not what it should be.

    Raises:
        ValueError: Always.
    """
    raise ValueError(reason)


def state_of(record: Any, kind: type[Record]) -> dict[str, Any]:
    """Return the attributes of a recorded object of the expected kind.

    Raises:
        ValueError: It is of another kind.
    """
    if not isinstance(record, kind) or not isinstance(record.state, dict):
        refuse(f"expected {kind.__name__.strip('_')}, got {type(record).__name__.strip('_')}")
    return record.state


def build_array(record: Any) -> NDArray[Any]:
    """Build an array from what its stand-in remembers; numpy checks that the bytes fill the shape.

    Raises:
        ValueError: It is none of plain numbers.
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
    """Build a plain or structured number type from what its stand-in remembers; the constructor checks the offsets."""
    if not isinstance(record, _Dtype):
        refuse(f"expected a dtype, got {type(record).__name__}")
    _version, order, _subtype, names, columns, itemsize, *_rest = record.state
    if names is None:
        return _number_dtype(record.args[0], order)
    formats = [_number_dtype(columns[name][0].args[0], columns[name][0].state[1]) for name in names]
    offsets = [int(columns[name][1]) for name in names]
    return np.dtype({"names": list(names), "formats": formats, "offsets": offsets, "itemsize": itemsize})


def _number_dtype(code: Any, order: Any) -> np.dtype[Any]:
    """Return an integer or float type, never one that holds references."""
    if code not in _NUMBER_CODES or order not in {"<", ">", "|"}:
        refuse("expected integers or floats")
    return np.dtype(f"{order}{code}")
