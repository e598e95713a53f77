"""Calls to functions that a user may have written, with errors reported in one line that names the function."""

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from evodiverse.errors import ContractError, EvoDiverseError, InputError, Interrupted, ServiceError, describe
from evodiverse.text import printable

_PACKAGE = "evodiverse"
_FOLDER = f"{Path(__file__).parents[1]}{os.sep}"
_IMPORTLIB = str(Path(importlib.__file__).parent)
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
    return ServiceError(
        f"{name_of(function)} raised {describe(error)} ({_place(error, function)}); "
        "fix it, then run the same command again"
    )


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
