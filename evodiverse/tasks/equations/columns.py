"""Checks of data columns: usable names, enough rows, finite numbers, and a target that varies."""

import keyword
import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from evodiverse.errors import InputError
from evodiverse.tasks.equations.problems import FloatArray, Rows, Splits
from evodiverse.tasks.equations.skeleton import NAME, PARAMS

MIN_ROWS: Final = 2
_UNIT: Final = re.compile(r"\s*\[[^\[\]]*\]$|\s+\([^()]*\)$")
_TAKEN: Final = {PARAMS, NAME, "np", "__debug__"}


def as_identifier(name: str) -> str:
    """Return a name in the form in which Python compares identifiers: it writes the ligature of f and i as ``fi``."""
    return unicodedata.normalize("NFKC", name.strip())


def is_usable(name: str) -> bool:
    """Return whether a column with this name can be a variable of an equation."""
    return name.isidentifier() and as_identifier(name) == name and not keyword.iskeyword(name) and name not in _TAKEN


def make_usable(names: Sequence[str]) -> list[str]:
    """Return distinct names of variables: each name unchanged if it is usable and not taken, otherwise altered."""
    usable: list[str] = []
    for name in names:
        usable.append(name if is_usable(name) and name not in usable else _nearest_free(name, {*names, *usable}))
    return usable


def name_columns(written: Sequence[str], labels: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return the name of each column as a variable: its name in a file, without a unit in brackets.

    Args:
        written: The names in the file.
        labels: How columns of earlier data are written, by their names as variables. A column written so has this name.
    """
    known = {as_identifier(label): name for name, label in labels.items()}
    plain = [as_identifier(name) for name in written]
    places = sorted(range(len(plain)), key=lambda at: plain[at] not in known)  # known names are taken first
    usable = make_usable([known.get(plain[at]) or _UNIT.sub("", plain[at]) or plain[at] for at in places])
    named = dict(zip(places, usable, strict=True))
    return [named[at] for at in range(len(plain))]


def _nearest_free(name: str, taken: set[str]) -> str:
    letters = "".join(letter if f"x{letter}".isidentifier() else "_" for letter in as_identifier(name)).strip("_")
    free = letters if letters.isidentifier() else f"x{letters}"
    while not is_usable(free) or free in taken:
        free += "_"
    return free


def make_splits(tables: Mapping[str, Mapping[str, FloatArray]], names: Sequence[str], target: str) -> Splits:
    """Return the splits of the data; an empty table is a split without rows.

    Args:
        tables: The ``(n,)`` values of each column, by name, for each split, by what messages call the split.
        names: The names of the variables.
        target: The name of the target's column.

    Raises:
        InputError: A split has too few rows, or a value that is not a finite number; or the variance of the training
            target is not a positive finite number.
    """
    faults = find_unusable(tables)
    where, train = next(iter(tables.items()))
    with np.errstate(over="ignore"):
        if not faults and np.ptp(train[target]) == 0:
            faults = [f"the target {target!r} is the same in all rows of {where}"]
        elif not faults and not 0 < np.var(train[target]) < np.inf:
            faults = [f"the target {target!r} is too small or too large to compute its variance in {where}; rescale it"]
    if faults:
        raise InputError(*faults)
    none = {name: np.empty(0) for name in (*names, target)}
    filled = [table or none for table in tables.values()]
    return Splits(*(Rows(np.stack([table[name] for name in names], axis=1), table[target]) for table in filled))


def find_unusable(tables: Mapping[str, Mapping[str, FloatArray]]) -> list[str]:
    """Return why `make_splits` would refuse tables, besides for a target that does not vary."""
    return [fault for where, table in tables.items() if table for fault in _find_unusable(table, where)]


def _find_unusable(columns: Mapping[str, FloatArray], where: str) -> list[str]:
    """Return what keeps data from being used: too few rows, or the first row of a column without a finite number."""
    n_rows = len(next(iter(columns.values())))
    if n_rows < MIN_ROWS:
        return [f"{where} has too few rows: expected at least {MIN_ROWS}, got {n_rows}"]
    return [
        f"the column {name!r} of {where} has no finite number in row {np.argmin(np.isfinite(values)) + 1}"
        for name, values in columns.items()
        if not np.isfinite(values).all()
    ]
