"""The import of a task's domain, which may be a user's own, and checks of everything that its functions return."""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from omegaconf import OmegaConf

from evodiverse.errors import InputError, describe
from evodiverse.kit.hints import first_line
from evodiverse.kit.own_code import broken, call, find_imports, folder_of, place_in, raised_by, show
from evodiverse.kit.typed import merge_typed
from evodiverse.ports import Domain, Operator, Prompts, Task, Versioned
from evodiverse.runlog.record import CODE

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


def _checking(module: Domain, name: str) -> Callable[..., Any]:
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


def _check_task(function: Callable[..., Any], task: Task) -> None:
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
    "is_shared": (_is_bool, "True or False"),
    "sources": (
        _are_sources,
        "a dictionary from roles to files, each a Path, or a SHA-256 for data without a file; {} for no data",
    ),
    "name_problem": (_is_name, "a pair of a name and a tuple of prefixes of keys, or None"),
}
# The port of what each other function builds.
_PARTS: Final[Mapping[str, type]] = {"build_task": Task, "build_operator": Operator, "build_prompts": Prompts}
