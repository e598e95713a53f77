"""Code that a user may have written: calls to it, with errors reported in one line, and the files that it imports."""

import ast
import importlib
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib.machinery import all_suffixes
from importlib.util import decode_source
from itertools import takewhile
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from evodiverse.errors import ContractError, EvoDiverseError, InputError, Interrupted, ServiceError, describe
from evodiverse.kit.python import NOT_PYTHON, parse_quietly
from evodiverse.text import printable

_PACKAGE = "evodiverse"
_FOLDER = f"{Path(__file__).parents[1]}{os.sep}"
_IMPORTLIB = str(Path(importlib.__file__).parent)
_LIBRARIES = {"site-packages", "dist-packages"}
_STANDARD = sysconfig.get_path("stdlib")  # which takes long
_MAX_SHOWN = 80
Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def call(function: Callable[Arguments, Returned], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
    """Call a function of a domain and return its result; report an exception in one line if the function is a user's.

    The module of the function (of the class, for a method) decides whose it is. If the module is part of the package
    ``evodiverse``, the exception is a bug and is re-raised unchanged, with its traceback. An `EvoDiverseError` or
    `KeyboardInterrupt` is always re-raised unchanged.

    Raises:
        ServiceError: A user's function raised any other exception; the message names the function and the line of code.
    """
    try:
        return function(*args, **kwargs)
    except (EvoDiverseError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if _module_of(function).partition(".")[0] == _PACKAGE:
            raise
        raise raised_by(function, error) from error


@cache
def locate(key: str, target: str) -> Callable[..., Any]:
    """Return the function with this dotted name, or an instance of the class with this name.

    Args:
        key: The configuration key that names it.
        target: The name, such as ``module.function``.

    Raises:
        InputError: There is no such function or class, or importing or instantiating it raised an exception.
    """
    module_name, _, name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), name)
        function: Callable[..., Any] = found() if isinstance(found, type) else found
    except Interrupted:
        raise
    except BaseException as error:  # a user's module may raise anything
        raise InputError(
            f"{key}={target} cannot be used ({describe(error)}); set it to module.name of a function or "
            "of a class without arguments, in a module that is installed or in the current folder"
        ) from error
    if not callable(function):
        raise InputError(f"{key}={target} is neither a function nor a class whose instances can be called")
    return function


def folder_of(module: object) -> Path:
    """Return the folder that contains the file of a module."""
    return Path(str(vars(module)["__file__"])).parent


def raised_by(function: Callable[..., object], error: BaseException) -> ServiceError:
    """Return the error that reports an exception of a user's function, for the caller to raise."""
    told = f"{name_of(function)} raised {describe(error)} ({_place(error, function)})"
    return ServiceError(f"{told}; fix it, then run the same command again")


def broken(function: Callable[..., object], answer: str, expected: str) -> ContractError:
    """Return the error that reports an invalid result of a domain's function, for the caller to raise.

    Args:
        function: The function that returned the result.
        answer: What the function did, such as "returned None".
        expected: What was expected instead, such as "a list of 8 numbers".
    """
    return ContractError(f"{name_of(function)} {answer}; expected {expected}")


def name_of(function: Callable[..., object]) -> str:
    """Return the full name of a function, with its module and class."""
    owner = _owner_of(function)
    name = getattr(owner, "__qualname__", type(owner).__qualname__)
    method = "" if owner is function else f".{getattr(function, '__name__', '')}"
    return f"{_module_of(function)}.{name}{method}"


def show(value: object) -> str:
    """Return any value as a short text on one line, even if its ``__repr__`` fails."""
    if value is None:
        return "None"
    kind = f"{'an' if type(value).__name__[:1].lower() in 'aeiou' else 'a'} {type(value).__name__}"
    try:
        text = printable(" ".join(repr(value).split()))
    except Exception:  # noqa: BLE001 (a user's __repr__ may raise anything)
        return kind
    if text.startswith("<"):  # Python's default, which shows only the class and an address
        return kind
    return f"{kind} ({text[:_MAX_SHOWN]}{'…' if len(text) > _MAX_SHOWN else ''})"


def place_in(error: BaseException, folder: Path | None = None) -> str | None:
    """Return the file and line where code outside of EvoDiverse raised an error, for a message.

    Args:
        error: The error, with its traceback.
        folder: The folder of the user's code. If the traceback has lines in this folder, the deepest of them is
            returned, even if that line called a library that raised the error. None for no preference.

    Returns:
        The file and line; None if all of the traceback is in EvoDiverse, for instance because a user's function was
        called with wrong arguments.
    """
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    others = [place for place in lines if not place[0].startswith((_FOLDER, _IMPORTLIB, "<"))]
    own = [place for place in others if folder is not None and Path(place[0]).is_relative_to(folder)]
    return "{}, line {}".format(*(own or others)[-1]) if others else None


def _owner_of(function: Callable[..., Any]) -> Any:
    """Return the class of a bound method, or else the function itself."""
    owner = getattr(function, "__self__", None)
    if owner is None or inspect.ismodule(owner):
        return function
    return owner if isinstance(owner, type) else type(owner)


def _module_of(function: Callable[..., Any]) -> str:
    owner = _owner_of(function)
    return str(getattr(owner, "__module__", None) or type(owner).__module__)


def _place(error: BaseException, function: Callable[..., Any]) -> str:
    """Return the place where the user's code raised an error; if there is none, that of the function's definition."""
    file = getattr(sys.modules.get(_module_of(function)), "__file__", None)
    found = place_in(error, Path(file).parent if file else None)
    if found is not None:
        return found
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(plain.__init__ if isinstance(plain, type) else plain, "__code__", None)  # type: ignore[misc]
    return f"{code.co_filename}, line {code.co_firstlineno}" if code else str(file or _module_of(function))


def find_imports(file: Path, without: Path | None = None) -> list[Path]:
    """Return the files of the user's own code that a Python file imports, directly or through each other, sorted.

    The import statements decide, wherever they are in the code, so the result is the same whether or not anything has
    been imported yet. Imports by a computed name are not found. Libraries and EvoDiverse itself are left out. If the
    file is part of an installed package, the other files of that package count as the user's.

    Args:
        file: The file, which is not part of the result.
        without: Another file that is neither part of the result nor searched for imports.
    """
    file = file.absolute()
    packages = [*takewhile(lambda folder: (folder / "__init__.py").is_file(), file.parents)]
    top = packages[-1].parent if packages else file.parent
    if _is_library(top):
        roots, only = [top], file.relative_to(top).with_suffix("").parts[0]
    else:
        roots, only = [top, *(Path(entry).absolute() for entry in sys.path if not _is_library(Path(entry)))], None
    found = {folder / "__init__.py" for folder in packages} - {file, without}
    seen, unread = found | {file, without}, [file, *found]
    while unread:
        here = unread.pop()
        for level, names in _find_statements(here, here.stat().st_mtime_ns):
            if not level and (names[0] == _PACKAGE or only not in (None, names[0])):
                continue
            bases = here.parents[level - 1 : level] if level else roots
            fresh = {path for base in dict.fromkeys(bases) for path in _find_files(base, names)} - seen
            seen |= fresh
            found |= fresh
            unread += [path for path in fresh if path.suffix == ".py"]
    return sorted(found)


def _is_library(folder: Path) -> bool:
    return not _LIBRARIES.isdisjoint(folder.parts) or folder.is_relative_to(_STANDARD)


@lru_cache(maxsize=1024)
def _find_statements(file: Path, _: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return what a file imports: the level (0 for an absolute import) and the parts of each dotted name.

    The second argument, when the file was last changed, makes the cache read a changed file again.
    """
    try:
        nodes = [*ast.walk(parse_quietly(decode_source(file.read_bytes())))]
    except NOT_PYTHON:  # importing it reports the error
        return []
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    found = {
        (getattr(node, "level", 0), f"{getattr(node, 'module', None) or ''}.{name.name}".strip("."))
        for node in imports
        for name in node.names
    }
    return [(level, tuple(dotted.split("."))) for level, dotted in sorted(found)]


def _find_files(base: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files below a folder that importing a dotted name runs: those of the packages and of the module."""
    for depth in range(1, len(names) + 1):
        place = base.joinpath(*names[:depth])
        files = [place / "__init__.py", *(place.with_name(f"{place.name}{suffix}") for suffix in all_suffixes())]
        yield from (path for path in files if path.is_file())
        if not place.is_dir():
            break
