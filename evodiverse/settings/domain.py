"""The import of a task's domain and of rules, which may be a user's own, and checks of all that their functions return.

The keys of `KINDS` name a rule of a user's own by its module, such as ``my_rules.crowding``.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np
from omegaconf import OmegaConf

from evodiverse.errors import InputError, describe
from evodiverse.kit.hints import first_line
from evodiverse.kit.own_code import broken, call, find_imports, folder_of, locate, place_in, raised_by, show
from evodiverse.kit.typed import merge_typed
from evodiverse.ports import Domain, Operator, Prompts, Task, Versioned
from evodiverse.runlog.record import CODE
from evodiverse.search.exchange import Event, Exchanged, Pools, exchange_rules
from evodiverse.search.rules import Rules
from evodiverse.search.sampling import FloatArray
from evodiverse.search.settings import Method
from evodiverse.search.survivors import Contenders, survivor_rules
from evodiverse.search.weights import weights

Function = Callable[..., Any]

# EvoDiverse's own keys of `task`. All others belong to the domain.
TASK_KEYS: Final = ("name", "domain", "defaults", "pareto")
OURS: Final = "evodiverse"
METRICS: Final = "metrics.py"
COLUMN_TYPES: Final = (float, int, bool, str)


def import_domain(name: object) -> Domain:
    """Import the module ``domain`` of a domain's package, and return the members of the module that a run needs.

    The package may be in the current folder. The returned functions raise a `ServiceError` for an exception in a user's
    code, and a `ContractError` for a return value that the interface (`evodiverse.ports.Domain`) does not allow.
    Functions for tables and reports are left out.

    Args:
        name: The value of ``task.domain``, the dotted name of a package.

    Raises:
        InputError: The module does not exist, cannot be imported, or lacks parts of the interface, or its ``settings``
            or ``libraries`` cannot be used; the message says which.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module: Domain = importlib.import_module(f"{name}.domain")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module may raise anything
        place = place_in(error, Path.cwd())
        where = f", {place}" if place else ""
        raise InputError(
            f"task.domain={name} cannot be imported ({describe(error)}{where}); name a package that has a module domain"
        ) from error
    missing = _find_missing(module, Domain)
    if missing:
        raise InputError(f"task.domain={name}: the module lacks {missing}; see Domain in evodiverse.ports")
    problem = _find_unfit(module.settings)
    if problem:
        raise InputError(f"task.domain={name}: the settings {problem}")
    if isinstance(module, Versioned) and not _are_texts(module.libraries):
        raise InputError(f"task.domain={name}: libraries must be a list of names, got {show(module.libraries)}")
    return _checked(module)


def read_settings(domain: Domain, task: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Return the domain's settings as an object of its own class, and a list of problems with them; see `merge_typed`.

    Raises:
        ServiceError: The class raised an exception.
    """
    values = {key: task[key] for key in task if key not in TASK_KEYS}
    try:
        return merge_typed(domain.settings, values, "task.")
    except Exception as error:
        if place_in(error) is None:
            raise
        raise raised_by(domain.settings, error) from error


def code_files(name: str) -> dict[str, Path]:
    """Return the code files of a user's own domain. If they change, only a failed run can still be resumed.

    The keys are the roles of the files in ``run.json``: ``code/`` followed by the path in the domain's folder. The
    result is empty for EvoDiverse's own domains, whose code is part of EvoDiverse's own. ``metrics.py`` is left out
    because it only measures runs and cannot change them. Files elsewhere that the domain imports count too.
    """
    if name.partition(".")[0] == OURS:
        return {}
    folder = folder_of(sys.modules[f"{name}.domain"])
    files = {*folder.rglob("*.py"), *find_imports(folder / "domain.py", folder / METRICS)} - {folder / METRICS}
    return {f"{CODE}{os.path.relpath(path, folder)}": path for path in sorted(files)}


def _find_unfit(settings: object) -> str | None:
    """Return why a class cannot hold a domain's settings, or None if it can."""
    if not (isinstance(settings, type) and is_dataclass(settings)):
        return f"must be a dataclass with one field for each key of task.*, got {show(settings)}"
    taken = [field.name for field in fields(settings) if field.name in TASK_KEYS]
    if taken:
        return f"have the field {taken[0]}, but task.{taken[0]} is EvoDiverse's own key; rename it"
    try:
        OmegaConf.structured(settings)
    except Exception as error:  # noqa: BLE001 (a default factory may raise anything)
        return f"cannot be read from YAML ({first_line(error)}); check the types and defaults of the fields"
    return None


def _checked(module: Domain) -> Domain:
    """Return an object with the members of a module that a run needs, in which each function checks its own result."""
    functions = {name: _checking(module, name) for name in (*_ANSWERS, *_PARTS) if hasattr(module, name)}
    values = {"libraries": module.libraries} if isinstance(module, Versioned) else {}
    return cast("Domain", SimpleNamespace(settings=module.settings, **values, **functions))


def _checking(module: Domain, name: str) -> Function:
    def checked(*arguments: Any) -> Any:
        function = getattr(module, name)
        answer = call(function, *arguments)
        if name in _ANSWERS:
            is_right, expected = _ANSWERS[name]
            if not is_right(answer):
                raise broken(function, f"returned {show(answer)}", expected)
        elif missing := _find_missing(answer, _PARTS[name]):
            port = f"{_PARTS[name].__name__} of evodiverse.ports"
            raise broken(function, f"returned {show(answer)}, which lacks {missing}", port)
        elif name == "build_task":
            _check_task(function, answer)
        return answer

    return checked


def _are_texts(lines: object) -> bool:
    return isinstance(lines, list | tuple) and all(isinstance(line, str) for line in lines)


def _is_int(count: object) -> bool:
    return isinstance(count, int) and not isinstance(count, bool)


def _is_bool(answer: object) -> bool:
    return isinstance(answer, bool)


def _are_sources(sources: object) -> bool:
    return isinstance(sources, Mapping) and all(
        isinstance(role, str) and isinstance(source, str | Path) for role, source in sources.items()
    )


def _check_task(function: Function, task: Task) -> None:
    columns: object = task.columns
    if not isinstance(columns, Mapping) or not all(
        isinstance(name, str) and name and any(kind is known for known in COLUMN_TYPES)
        for name, kind in columns.items()
    ):
        raise broken(
            function,
            f"returned a task whose columns are {show(columns)}",
            "a dictionary from names to types, each float, int, bool or str; {} for no columns",
        )
    size = getattr(task, "batch_size", 1)
    if not _is_int(size) or size < 1:
        raise broken(function, f"returned a task whose batch_size is {show(size)}", "an int of at least 1")


def _is_name(answer: object) -> bool:
    match answer:
        case (str(), tuple() as keys):
            return _are_texts(keys)
    return answer is None


def _find_missing(part: object, port: type) -> str:
    """Return the members of a port (an interface in `evodiverse.ports`) that ``part`` lacks, joined by commas."""
    offered = [word for word in [*inspect.get_annotations(port), *vars(port)] if not word.startswith("_")]
    return ", ".join(word for word in offered if not hasattr(part, word))


# What each function must return: a test of its answer, and the answer in words.
_ANSWERS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "find_violations": (_are_texts, "a list with one str for each problem, [] for none"),
    "count_initial": (_is_int, "an int, the largest number of initial candidates of a pool"),
    "count_charged": (_is_int, "an int, the largest number of oracle calls that initial candidates can cost"),
    "is_shared": (_is_bool, "True or False"),
    "sources": (
        _are_sources,
        "a dictionary from roles to files, each a Path, or a SHA-256 for data without a file; {} for no data",
    ),
    "name_problem": (_is_name, "a pair of a name and a tuple of prefixes of keys, or None"),
}
# The port of what each other function builds.
_PARTS: Final[Mapping[str, type]] = {"build_task": Task, "build_operator": Operator, "build_prompts": Prompts}


def _check_survivors(function: Function, answer: Any, contenders: Contenders, method: Method, _: object) -> Any:
    n = len(contenders.scores)
    kept = np.asarray(answer)
    if not _is_set(kept, np.arange(n)) or len(kept) > method.capacity:
        raise broken(function, f"returned {show(answer)}", f"at most {method.capacity} different integers below {n}")
    return kept.astype(np.int64)


def _check_weights(function: Function, answer: Any, scores: FloatArray, _: float) -> Any:
    found = np.asarray(answer)
    if found.shape != scores.shape or found.dtype.kind not in "iuf" or not (found < np.inf).all():
        raise broken(function, f"returned {show(answer)}", f"{len(scores)} numbers, the logarithms of the weights")
    return found.astype(np.float64)


def _check_exchange(function: Function, answer: Any, pools: Pools, _: Event) -> Any:
    known = np.unique(np.concatenate(pools))
    if (
        not isinstance(answer, Exchanged)
        or len(answer.pools) != len(pools)
        or not all(_is_set(np.asarray(pool), known) and (np.diff(pool) > 0).all() for pool in answer.pools)
    ):
        raise broken(function, f"returned {show(answer)}", f"Exchanged with {len(pools)} sorted pools of their members")
    return replace(answer, pools=tuple(np.asarray(pool, dtype=np.int64) for pool in answer.pools))


def _is_set(found: np.ndarray[Any, Any], known: np.ndarray[Any, Any]) -> bool:
    is_integer = found.ndim == 1 and (found.dtype.kind in "iu" or not len(found))
    return is_integer and len(np.unique(found)) == len(found) and bool(np.isin(found, known).all())


KINDS: Final[dict[str, tuple[Rules[Any], Function]]] = {
    "method.survivors.rule": (survivor_rules, _check_survivors),
    "method.swap.rule": (exchange_rules, _check_exchange),
    "method.mating_pool.weight": (weights, _check_weights),
    "method.survivors.weight": (weights, _check_weights),
}
"""The rules of each key, and the function that checks what a user's rule returns."""


def load_own_rules(method: Method) -> list[str]:
    """Import the user's rules that a method names, so that the search finds them; return what is wrong with them."""
    violations: list[str] = []
    for key, name in _find_own(method):
        rules, check = KINDS[key]
        try:
            function = locate(key, name)
        except InputError as error:
            violations += error.violations
        else:
            rules[name] = partial(_apply, function, check)
    return violations


def find_rule_files(method: Method) -> dict[str, Path]:
    """Return the files of the user's rules, after `load_own_rules`; the keys are their roles in ``run.json``."""
    modules = {name.rpartition(".")[0] for _, name in _find_own(method)}
    return {f"rule/{name}": Path(str(vars(sys.modules[name])["__file__"])) for name in sorted(modules)}


def _find_own(method: Method) -> Iterator[tuple[str, str]]:
    for key in KINDS:
        _, group, field = key.split(".")
        name = str(getattr(getattr(method, group), field))
        if "." in name:
            yield key, name


def _apply(function: Function, check: Function, *arguments: Any) -> Any:
    return check(function, call(function, *arguments), *arguments)
