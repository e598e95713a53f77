"""Read the trees out of a pickled scikit-learn forest without running anything the pickle asks for.

Unpickling calls whatever functions a file names, so a pickle from elsewhere is a program from elsewhere. Here the
names that a forest needs are bound to stand-ins which only remember what they were given, and every other name is
refused. Not even numpy's own functions are called by the pickle: its ``dtype.__setstate__`` trusts offsets and flags,
with which a file can reach outside its buffer. The few arrays that matter are built afterwards, from the remembered
bytes.

That also makes the reading independent of the scikit-learn version that wrote the file (checked: 0.21 to 1.9).
"""

import io
import math
import pickle
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError, describe

NO_CHILD = -1
_NUMBER_CODES = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
_REMEDY = "give a RandomForestClassifier saved with pickle.dump(forest, file, protocol=4)"


class TreeArrays(NamedTuple):
    """One tree as scikit-learn stores it, one entry per node, the root first.

    Attributes:
        left: Child for a feature at or below the threshold, `NO_CHILD` in a leaf.
        right: Child for a feature above the threshold, `NO_CHILD` in a leaf.
        feature: Tested column, meaningless in a leaf.
        threshold: Meaningless in a leaf.
        class_weights: ``(n, 2)``; weight of the two classes among the node's training samples, as counts or fractions.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    class_weights: NDArray[np.float64]


class _Record:
    """Remembers the arguments and the state that a pickle gives to an object, and does nothing with them."""

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> Self:
        record = super().__new__(cls)
        record.args = args
        record.state = None
        return record

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Forest(_Record):
    """Stands for RandomForestClassifier."""


class _Estimator(_Record):
    """Stands for DecisionTreeClassifier."""


class _Tree(_Record):
    """Stands for scikit-learn's Tree; its first argument is the number of features."""


class _Dtype(_Record):
    """Stands for numpy.dtype."""


class _StatefulArray(_Record):
    """Stands for an array that gets shape, type and bytes as its state (pickle protocols 3 and 4)."""


class _BufferArray(_Record):
    """Stands for an array that gets bytes, type and shape as its arguments (pickle protocol 5)."""


_ADMITTED: dict[tuple[str, str], type[_Record]] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Record,
    ("numpy.core.multiarray", "_reconstruct"): _StatefulArray,
    ("numpy._core.multiarray", "_reconstruct"): _StatefulArray,
    ("numpy.core.multiarray", "scalar"): _Record,
    ("numpy._core.multiarray", "scalar"): _Record,
    ("numpy.core.numeric", "_frombuffer"): _BufferArray,
    ("numpy._core.numeric", "_frombuffer"): _BufferArray,
    ("sklearn.ensemble.forest", "RandomForestClassifier"): _Forest,
    ("sklearn.ensemble._forest", "RandomForestClassifier"): _Forest,
    ("sklearn.tree.tree", "DecisionTreeClassifier"): _Estimator,
    ("sklearn.tree._classes", "DecisionTreeClassifier"): _Estimator,
    ("sklearn.tree._tree", "Tree"): _Tree,
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
    """Binds the names a forest needs to stand-ins and refuses all others."""

    def __init__(self, content: bytes, path: Path) -> None:
        super().__init__(io.BytesIO(content))
        self._path = path

    def find_class(self, module_name: str, global_name: str) -> type[_Record]:
        """Return the stand-in for a global; nothing is imported.

        Raises:
            DataError: A forest does not need this global.
        """
        stand_in = _ADMITTED.get((module_name, global_name))
        if stand_in is None:
            raise DataError(
                f"{self._path} is refused: a forest needs no global {f'{module_name}.{global_name}'[:200]!r}; {_REMEDY}"
            )
        return stand_in


def read_trees(path: Path, n_features: int) -> list[TreeArrays]:
    """Read the trees of a pickled random forest with two classes and one output.

    Args:
        path: A file written by ``pickle.dump``, protocol 3 or later.
        n_features: Number of columns that every tree must have been trained on.

    Raises:
        DataError: The file is missing, is no pickle, names a global that no forest needs, or holds something else than
            such a forest.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the forest {path} ({error.strerror}); check the path") from error
    try:
        forest = _InertUnpickler(content, path).load()
    except _UNPICKLING_ERRORS as error:
        raise DataError(f"{path} is not a readable pickle ({describe(error)}); {_REMEDY}") from error
    try:
        estimators = _state(forest, _Forest)["estimators_"]
        if not isinstance(estimators, list):
            _refuse(f"expected a list of trees, got {type(estimators).__name__}")
        return [_tree_arrays(_state(estimator, _Estimator)["tree_"], n_features) for estimator in estimators]
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path} holds no usable forest ({describe(error)}); {_REMEDY}") from error


def _refuse(reason: str) -> NoReturn:
    raise ValueError(reason)


def _state(record: Any, kind: type[_Record]) -> dict[str, Any]:
    """Return the attributes of a recorded object of the expected kind."""
    if not isinstance(record, kind) or not isinstance(record.state, dict):
        _refuse(f"expected {kind.__name__.strip('_')}, got {type(record).__name__.strip('_')}")
    return record.state


def _tree_arrays(tree: Any, n_features: int) -> TreeArrays:
    """Build one tree's arrays from its record."""
    state = _state(tree, _Tree)
    if tree.args[0] != n_features:  # its text is not quoted: a small pickle can hold an endless one
        _refuse(f"expected trees over {n_features} features, got another number")
    nodes = _array(state["nodes"])
    weights = _array(state["values"])
    if nodes.ndim != 1 or weights.shape != (len(nodes), 1, 2):
        _refuse(f"expected two classes and one output, got values of shape {weights.shape} for {nodes.shape} nodes")
    return TreeArrays(
        left=nodes["left_child"].astype(np.int64),
        right=nodes["right_child"].astype(np.int64),
        feature=nodes["feature"].astype(np.int64),
        threshold=nodes["threshold"].astype(np.float64),
        class_weights=weights[:, 0, :].astype(np.float64),
    )


def _array(record: Any) -> NDArray[Any]:
    """Build an array from what its stand-in remembers; numpy checks that the bytes fill the shape."""
    if isinstance(record, _StatefulArray):
        _version, shape, dtype, is_fortran, content = record.state
    elif isinstance(record, _BufferArray):
        content, dtype, shape, order = record.args
        is_fortran = order == "F"
    else:
        _refuse(f"expected an array, got {type(record).__name__}")
    if not isinstance(content, bytes | bytearray):
        _refuse(f"expected the bytes of an array, got {type(content).__name__}")
    shape = tuple(int(length) for length in shape)
    built = _dtype(dtype)
    if min(shape, default=0) < 0 or math.prod(shape) * built.itemsize != len(content):
        _refuse(f"expected {shape} items of {built.itemsize} bytes, got {len(content)} bytes")
    return np.frombuffer(content, built).reshape(shape, order="F" if is_fortran else "C")


def _dtype(record: Any) -> np.dtype[Any]:
    """Build a plain or structured number type from what its stand-in remembers; the constructor checks the offsets."""
    if not isinstance(record, _Dtype):
        _refuse(f"expected a dtype, got {type(record).__name__}")
    _version, order, _subtype, names, columns, itemsize, *_rest = record.state
    if names is None:
        return _number_dtype(record.args[0], order)
    formats = [_number_dtype(columns[name][0].args[0], columns[name][0].state[1]) for name in names]
    offsets = [int(columns[name][1]) for name in names]
    return np.dtype({"names": list(names), "formats": formats, "offsets": offsets, "itemsize": itemsize})


def _number_dtype(code: Any, order: Any) -> np.dtype[Any]:
    """Return an integer or float type, never one that holds references."""
    if code not in _NUMBER_CODES or order not in {"<", ">", "|"}:
        _refuse("expected integers or floats")
    return np.dtype(f"{order}{code}")
