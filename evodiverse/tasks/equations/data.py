"""The data of a problem: generated from a built-in law, or read from LLM-SRBench or a user's files."""

import hashlib
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.equations.columns import as_identifier
from evodiverse.tasks.equations.csv_data import read_own_data
from evodiverse.tasks.equations.front import EXACT
from evodiverse.tasks.equations.problems import PROBLEMS, Dataset, FloatArray, Problem, Rows, Splits, Variable
from evodiverse.tasks.equations.settings import BUILTIN, CSV, SRBENCH, DataSettings, EquationSettings
from evodiverse.tasks.equations.srbench import read_problem

_LOG = logging.getLogger("evodiverse.tasks.equations")
FEWEST_ROWS: Final = 20
"""If there are fewer different training rows than this, none are held back."""
FEW_ROWS: Final = 50
"""If there are fewer training rows than this, a warning says that the choice of an equation rests on few of them."""
WILD: Final = 100.0
"""See `find_wild`."""


def read_dataset(settings: EquationSettings) -> Dataset:
    """Return the data of a problem, with neutral column names if ``task.prompts.anonymize`` is true.

    Raises:
        InputError: A user's file or LLM-SRBench cannot be used, or ``task.data.descriptions`` names a missing column.
    """
    dataset = _read_named(settings)
    return anonymize(dataset) if settings.prompts.anonymize else dataset


def _read_named(settings: EquationSettings) -> Dataset:
    if settings.source == BUILTIN:
        law = PROBLEMS[settings.name]
        return Dataset(law.target, law.variables, builtin_splits(law), law)
    if settings.source == SRBENCH:
        (explained, *variables), splits = read_problem(settings.name, settings.data.root)
        return Dataset(explained, tuple(variables), splits)
    data = settings.data
    own = read_own_data(_list_files(data), data)
    unknown = ", ".join(sorted(name for name in data.descriptions if as_identifier(name) not in own.keys))
    if unknown:
        raise InputError(f"task.data.descriptions describes columns that {data.train} does not have: {unknown}")
    meanings = {own.keys[as_identifier(name)]: text for name, text in data.descriptions.items()}
    units = {own.keys.get(as_identifier(name), name): f"in {unit}" for name, unit in (data.units or {}).items()}
    target, *variables = (
        one._replace(meaning=", ".join(filter(None, (meanings.get(one.name), units.get(one.name)))))
        for one in (own.target, *own.variables)
    )
    return replace(own, target=target, variables=tuple(variables))


def anonymize(dataset: Dataset) -> Dataset:
    """Return the data with the target renamed y and the variables x0, x1 and so on, all without descriptions."""
    names = {variable.name: f"x{at}" for at, variable in enumerate(dataset.variables)}
    target, variables = Variable("y", ""), tuple(Variable(name, "") for name in names.values())
    law = dataset.problem
    if law is not None:
        renamed = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), law.law)
        law = replace(law, target=target, variables=variables, law=renamed)
    hidden = {**names, dataset.target.name: target.name}
    known = dataset.keys or {name: name for name in hidden}
    keys = {key: hidden.get(name, name) for key, name in known.items()}
    return replace(dataset, target=target, variables=variables, problem=law, keys=keys)


def hold_back(rows: Rows, share: float) -> tuple[Rows, Rows]:
    """Return the rows to fit, in their original order, and the rows that no fit sees.

    Equal rows stay together. Without them, the choice depends only on the number of rows and the share. If there are
    fewer than `FEWEST_ROWS` different rows, all are fitted.

    Args:
        rows: The training data.
        share: The share of the rows to hold back, 0 to 1.
    """
    if not share:
        return rows, rows.select(np.zeros(len(rows.target), np.bool_))
    _, first, group = np.unique(np.column_stack(rows[:2]), axis=0, return_index=True, return_inverse=True)
    n = len(first)
    n_held = round(share * n) if n >= FEWEST_ROWS else 0
    is_held = np.isin(group, np.argsort(first)[np.random.default_rng(0).permutation(n)[:n_held]])
    return rows.select(~is_held), rows.select(is_held)


def find_wild(target: FloatArray) -> NDArray[np.bool_]:
    """Return for each value of a target whether it lies so far outside of nearly all others that it may be an error.

    Its distance from the median is more than `WILD` times the range that holds nine tenths of the values. Of fewer than
    `FEWEST_ROWS` values, none can be told from the others.
    """
    if len(target) < FEWEST_ROWS:
        return np.zeros(len(target), np.bool_)
    low = np.quantile(target, 0.05, method="higher")
    high = np.quantile(target, 0.95, method="lower")
    return np.asarray((high > low) & (np.abs(target - np.median(target)) > WILD * (high - low)))


def warn_of_rows(rows: Rows, share: float, notes: Sequence[str] = ()) -> None:
    """Log notes, a warning if target values are wild, and one if the choice of the final equation rests on few rows.

    Args:
        rows: The training data.
        share: The share of the rows to hold back.
        notes: What was left out of the data, one line each.
    """
    for note in notes:
        _LOG.warning("%s", note)
    wild = np.flatnonzero(find_wild(rows.target))
    if len(wild):
        _LOG.warning(
            "training row %d, without the header, has the target %g, far outside of the others (%s): a fit follows "
            "such a row before all others; if it is an error, correct or remove it",
            *(wild[0] + 1, rows.target[wild[0]]),
            "the only such row" if len(wild) == 1 else f"{len(wild)} rows do",
        )
    n, n_held = len(rows.target), len(hold_back(rows, share)[1].target)
    if n < FEW_ROWS:
        how = f"{n_held} rows that are held back" if n_held else "its error, its length and its number of parameters"
        _LOG.warning("only %d training rows: the final equation is chosen by %s, so test it on others", n, how)


def measure_rounding(rows: Rows) -> float:
    """Return the error that the rounding of the data to floats makes, in units of the target's variance.

    It matters only for columns such as dates in milliseconds, whose size is far larger than their spread. For all
    others it is 0.
    """
    columns = np.column_stack(rows[:2])
    sizes = np.abs(columns).max(axis=0)
    spreads = np.std(columns, axis=0)
    rounded = (np.finfo(float).eps * sizes / np.where(spreads > 0, spreads, np.inf)) ** 2
    return float(rounded.max()) if rounded.max() > EXACT else 0.0


def find_sources(settings: EquationSettings) -> dict[str, str | Path]:
    """Return paths or hashes of the data that the results depend on.

    Each key is the role of the data, such as ``train``. The value is the path of a user's file, or the SHA-256 of any
    other data.
    """
    initial = settings.initial.path
    sources: dict[str, str | Path] = {} if initial is None else {"initial": expanded(initial)}
    if settings.source == CSV:
        return sources | {role: path for role, path in _list_files(settings.data).items() if path is not None}
    dataset = _read_named(settings)
    arrays = [array for rows in dataset.splits for array in rows[:2]]
    sources["data"] = hashlib.sha256(b"".join(map(np.ndarray.tobytes, arrays))).hexdigest()
    if settings.source == SRBENCH:
        sources["names"] = hashlib.sha256("\n".join((dataset.target.name, *dataset.names)).encode()).hexdigest()
    return sources


def _list_files(data: DataSettings) -> dict[str, Path | None]:
    """Return the user's file for each split, or None for a split without a file."""
    files = {"train": data.train, "test_id": data.test_id, "test_ood": data.test_ood}
    return {split: None if path is None else expanded(path) for split, path in files.items()}


@cache
def builtin_splits(builtin: Problem) -> Splits:
    """Return the data of a built-in problem."""
    return builtin.sample()
