"""What columns of data must be like: their names, their numbers, and a target that varies."""

import keyword
import unicodedata
from collections.abc import Sequence
from typing import Final

import numpy as np

from evodiverse.tasks.equations.problems.problem import FloatArray
from evodiverse.tasks.equations.skeleton import NAME, PARAMS

MIN_ROWS: Final = 2
_TAKEN: Final = {PARAMS, NAME, "np", "__debug__"}
UNUSABLE: Final = f"cannot be a variable; rename it to a Python name that is none of {', '.join(sorted(_TAKEN))}"


def is_usable(name: str) -> bool:
    """Return whether a name can be that of a variable."""
    is_normal = unicodedata.normalize("NFKC", name) == name  # as Python compares names
    return name.isidentifier() and is_normal and not keyword.iskeyword(name) and name not in _TAKEN


def make_usable(names: Sequence[str]) -> list[str]:
    """Return names of variables, all different: each as it is if it can be one, else the nearest that can."""
    found: list[str] = []
    for name in names:
        found.append(name if is_usable(name) and name not in found else _nearest_free(name, {*names, *found}))
    return found


def _nearest_free(name: str, taken: set[str]) -> str:
    normal = unicodedata.normalize("NFKC", name)
    letters = "".join(letter if f"x{letter}".isidentifier() else "_" for letter in normal).strip("_")
    free = letters if letters.isidentifier() else f"x{letters}"
    while not is_usable(free) or free in taken:
        free += "_"
    return free


def find_few_rows(n_rows: int, where: str) -> list[str]:
    """Return that there are too few rows, nothing if there are enough; ``where`` is what the data are called."""
    return [] if n_rows >= MIN_ROWS else [f"{where} has {n_rows} rows, at least {MIN_ROWS} are needed"]


def find_not_finite(name: str, values: FloatArray, where: str) -> list[str]:
    """Return which row has no finite number, the first if there are several, nothing if all have one.

    Args:
        name: That of the column.
        values: ``(n,)``.
        where: What the data are called in messages.
    """
    rows = np.flatnonzero(~np.isfinite(values))
    return [f"the column {name!r} of {where} has no finite number in row {rows[0] + 1}"] if len(rows) else []


def find_wrong_target(name: str, values: FloatArray, where: str) -> list[str]:
    """Return why a target cannot be explained, nothing if it can.

    Args:
        name: That of its column.
        values: ``(n,)``, finite.
        where: What the data are called in messages.
    """
    if np.ptp(values) == 0:
        return [f"the target {name!r} is the same in all rows of {where}"]
    with np.errstate(over="ignore"):
        has_variance = 0 < np.var(values) < np.inf
    return [] if has_variance else [f"the target {name!r} is too small or too large for its variance; scale it"]
