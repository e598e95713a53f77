"""An evaluator of a user's own: a Python file that says how programs are called and what their results are worth."""

import hashlib
import importlib.util
import inspect
import json
import math
import textwrap
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from evodiverse.errors import ContractError, InputError, Interrupted, ServiceError, describe
from evodiverse.tasks.programs.evaluators import Scored
from evodiverse.vocabulary import Job, Limits, Reason, Rejection

_NUMBERS: Mapping[type, tuple[type, ...]] = {float: (int, float), int: (int,), str: (str,)}


class UserEvaluator:
    """Calls a program as a user's file says and has the file score the result.

    The file defines ``ENTRY_POINT``, the name of the function that a program must define, and ``score(result)``, which
    returns a finite number of at least 0, or a pair of it and a dictionary of the file's own columns, or raises
    ``ValueError`` with the reason for which a result is invalid. It may define ``ARGUMENTS``, a list of what the
    function is called with; ``drive(function, *arguments)``, which calls it instead, inside the sandbox, and imports
    there what it needs; ``COLUMNS``, a dictionary of names and types of its own columns of the log; and
    ``DESCRIPTION``, what a language model is told. Arguments and results are what JSON can say.

    Args:
        path: Of the file.
        limits: Of each run of a program.

    Raises:
        InputError: The file cannot be used.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        module = _load(path)
        self.entry_point: str = module.ENTRY_POINT
        self.columns: Mapping[str, type] = dict(getattr(module, "COLUMNS", {}))
        self.description: str = str(getattr(module, "DESCRIPTION", "")).strip()
        self._arguments = tuple(getattr(module, "ARGUMENTS", ()))
        drive = getattr(module, "drive", None)
        self._driver = None if drive is None else textwrap.dedent(inspect.getsource(drive))

    def job(self, source: str) -> Job:
        """Return the call of a program."""
        return Job(source, self.entry_point, self._arguments, None, self._limits, self._driver)

    def score(self, value: Any) -> Scored | Rejection:
        """Return what the file's ``score`` says of a result.

        Raises:
            ServiceError: It raised something else than ``ValueError``.
            ContractError: It returned something else than a score.
        """
        try:
            answer = _load(self._path).score(value)
        except ValueError as error:
            return Rejection(Reason.INVALID, describe(error).removeprefix("ValueError").removeprefix(": "))
        except Interrupted:
            raise
        except BaseException as error:  # noqa: BLE001 (a user's function may raise anything)
            line = traceback.extract_tb(error.__traceback__)[-1].lineno
            raise ServiceError(
                f"the evaluator raised {describe(error)} ({self._path}, line {line})"
            ) from None  # which may not be fit to be sent to another process
        score, details = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, {})
        return Scored(self._checked_score(score), self._checked_details(details))

    def _checked_score(self, score: object) -> float:
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise ContractError(f"the evaluator returned a {type(score).__name__}, expected a number ({self._path})")
        if not (math.isfinite(score) and score >= 0):
            raise ContractError(
                f"the evaluator scored {score}; a score must be finite and at least 0, which is what a failed program "
                f"scores ({self._path})"
            )
        return float(score)

    def _checked_details(self, details: object) -> Mapping[str, Any]:
        expected = {name: _NUMBERS[kind] for name, kind in self.columns.items()}
        fits = isinstance(details, dict) and all(
            isinstance(value, expected.get(name, ())) and not isinstance(value, bool) for name, value in details.items()
        )
        if not fits or not isinstance(details, dict):
            raise ContractError(f"the evaluator returned {details!r:.200}; COLUMNS names {dict(self.columns)}")
        return {name: self.columns[name](value) for name, value in details.items()}


def evaluator_sha256(path: Path) -> str:
    """Return the SHA-256 of a user's file.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"task.evaluator={path} cannot be read ({error.strerror}); check the path") from error


@cache
def _load(path: Path) -> ModuleType:
    """Return a user's file as a module, once a process."""
    evaluator_sha256(path)
    spec = importlib.util.spec_from_file_location(f"evaluator_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"task.evaluator={path} is no Python file; name one that ends in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Interrupted:
        raise
    except BaseException as error:  # whatever a user's module raises
        raise InputError(f"task.evaluator={path} cannot be imported ({describe(error)})") from error
    violations = _find_violations(module, path)
    if violations:
        raise InputError(*violations)
    return module


def _find_violations(module: ModuleType, path: Path) -> list[str]:
    entry_point, columns = getattr(module, "ENTRY_POINT", None), getattr(module, "COLUMNS", {})
    rules = [
        (
            isinstance(entry_point, str) and entry_point.isidentifier(),
            "must define ENTRY_POINT, the name of the function that a program defines",
        ),
        (callable(getattr(module, "score", None)), "must define score(result)"),
        (
            isinstance(columns, dict)
            and all(isinstance(name, str) and name.isidentifier() for name in columns)
            and all(kind in _NUMBERS for kind in columns.values()),
            "must give COLUMNS as names and their types, which are float, int or str",
        ),
        (_is_json_list(getattr(module, "ARGUMENTS", ())), "must give ARGUMENTS as a list of what JSON can say"),
    ]
    return [f"task.evaluator={path} {message}" for holds, message in rules if not holds]


def _is_json_list(arguments: object) -> bool:
    try:
        json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(arguments, list | tuple)
