"""The data behind a problem: a builtin law's, made once and kept, or a user's own."""

import hashlib
import inspect
import logging
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Final

import numpy as np

from evodiverse.cache_folder import cache_folder
from evodiverse.errors import InputError, describe, reason
from evodiverse.kit.files import replace_file
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.equations import problems
from evodiverse.tasks.equations.csv_data import read_splits
from evodiverse.tasks.equations.problems import (
    PROBLEMS,
    Problem,
    Rows,
    Splits,
    Variable,
    biology,
    chemistry,
    materials,
    physics,
    problem,
    sampling,
)
from evodiverse.tasks.equations.settings import BUILTIN, DataSettings, EquationSettings

_LOG = logging.getLogger("evodiverse.tasks.equations")
_SOURCES: Final[tuple[ModuleType, ...]] = (problems, biology, chemistry, materials, physics, problem, sampling)


@dataclass(frozen=True, slots=True)
class Dataset:
    """What an equation is to explain.

    Attributes:
        target: The column to be explained.
        variables: The others, in the order of an equation's arguments.
        splits: What is fitted, and what is held out.
        problem: The law behind it, None where nobody knows.
    """

    target: Variable
    variables: tuple[Variable, ...]
    splits: Splits
    problem: Problem | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def positive(self) -> frozenset[str]:
        """Names of the variables that are never negative in what is fitted."""
        lowest = self.splits.train.inputs.min(axis=0)
        return frozenset(name for name, value in zip(self.names, lowest, strict=True) if value >= 0)


def read_dataset(settings: EquationSettings) -> Dataset:
    """Return the data of a problem.

    Raises:
        InputError: A user's file cannot be used; names all that is wrong.
    """
    if settings.source == BUILTIN:
        found = PROBLEMS[settings.name]
        return Dataset(found.target, found.variables, builtin_splits(found), found)
    data = settings.data
    train, test_id, test_ood = _files(data)
    if train is None or data.target is None:
        raise TypeError("task.data.train and task.data.target must have values")
    names, splits = read_splits(train, test_id, test_ood, data.target)
    unknown = sorted(set(data.descriptions) - {*names, data.target})
    if unknown:
        raise InputError(f"task.data.descriptions names {', '.join(unknown)}, which are no columns of {train}")
    described = [Variable(name, data.descriptions.get(name, "")) for name in [data.target, *names]]
    return Dataset(described[0], tuple(described[1:]), splits, None)


def find_sources(settings: EquationSettings) -> dict[str, str | Path]:
    """Return a user's own files by their role, of a builtin problem the SHA-256 of its data."""
    if settings.source == BUILTIN:
        arrays = [array for rows in builtin_splits(PROBLEMS[settings.name]) for array in rows]
        return {"data": hashlib.sha256(b"".join(map(np.ndarray.tobytes, arrays))).hexdigest()}
    files = zip(("train", "test_id", "test_ood"), _files(settings.data), strict=True)
    return {role: path for role, path in files if path is not None}


def _files(data: DataSettings) -> list[Path | None]:
    return [None if path is None else expanded(path) for path in (data.train, data.test_id, data.test_ood)]


@lru_cache(maxsize=4)
def builtin_splits(builtin: Problem) -> Splits:
    """Return a builtin problem's data, out of the cache folder where they are there, else made and kept there."""
    path = cache_folder() / "equations" / f"{builtin.name}-{_version()}.npz"
    try:
        if path.exists():
            return _read(path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        _LOG.warning("the data of %s cannot be read (%s); they are made afresh", builtin.name, describe(error))
    splits = builtin.sample(builtin)
    try:
        _write(path, splits)
    except OSError as error:
        _LOG.warning("the data of %s cannot be kept (%s); the next run makes them again", builtin.name, reason(error))
    return splits


@lru_cache(maxsize=1)
def _version() -> str:
    """Return what tells data of this code from those of any other."""
    return hashlib.sha256("".join(map(inspect.getsource, _SOURCES)).encode()).hexdigest()[:12]


def _read(path: Path) -> Splits:
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        return Splits(*(Rows(file[f"inputs{at}"], file[f"target{at}"]) for at in range(3)))


def _write(path: Path, splits: Splits) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {f"{name}{at}": array for at, rows in enumerate(splits) for name, array in rows._asdict().items()}
    replace_file(path, lambda file: np.savez(file, **arrays))
