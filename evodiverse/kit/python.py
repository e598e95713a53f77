"""Parsing Python source code that others wrote."""

import ast
import inspect
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final
from unicodedata import combining, normalize

from evodiverse.text import TYPOGRAPHY, find_answers
from evodiverse.vocabulary import Reason, Rejection

NOT_PYTHON: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""The exceptions that parsing invalid source code raises; the last two mean that it is nested too deeply."""

MAX_MARKS: Final = 30
"""The largest number of combining marks in a row that is accepted, as in Unicode's Stream-Safe Text Format.

Python sorts the marks of a name in quadratic time, and does so again for each way in which it tries to parse the name.
"""


# Python 3.11 counts the depth of a syntax tree in one place for all threads, so if two threads parse at the same
# time, one may get a SystemError. The filters of warnings are also shared. The lock helps only if everything that runs
# in a process with threads parses here.
_TURN = threading.Lock()


def parse(source: str | bytes) -> ast.Module:
    """Return the syntax tree of source code, as `ast.parse` does; several threads may call this at the same time."""
    with _TURN:
        return ast.parse(source)


@cache
def parse_file(path: Path) -> ast.Module:
    """Return the syntax tree of a UTF-8 file of EvoDiverse. The tree is cached, so callers must not change it."""
    return parse(path.read_text(encoding="utf-8"))


def parse_quietly(source: str) -> ast.Module:
    """Return the syntax tree of source code without printing warnings.

    Invalid source code raises one of the exceptions in `NOT_PYTHON`.
    """
    if not source.isascii() and _count_marks(source) > MAX_MARKS:
        raise ValueError(f"more than {MAX_MARKS} combining marks in a row")
    with _TURN, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as the one about "\\d", which does not concern the user
        return ast.parse(source)


def read_code(reply: str, read: Callable[[str], str | Rejection]) -> str | Rejection:
    """Return the code in a model's reply, or why there is none.

    Args:
        reply: The reply.
        read: A function that returns the code in a text. It is called with one part of the reply after the other (see
            `find_answers`) until it finds any, and once more for a part in which it finds no Python, with the
            characters of print in `TYPOGRAPHY` replaced.
    """
    rejections = []
    for answer in dict.fromkeys(find_answers(reply)):
        found = read(answer)
        if not answer.isascii() and len(answer) <= 100_000 and not _is_python(found):  # longer ones only as they are
            plain = read(answer.translate(TYPOGRAPHY))
            found = plain if _is_python(plain) else found
        if isinstance(found, str):
            return found
        rejections.append(found)
    return max(rejections, key=lambda rejection: rejection.reason is not Reason.NO_ANSWER)  # the first, if any


def _is_python(found: str | Rejection) -> bool:
    try:
        return isinstance(found, str) and bool(parse_quietly(found))
    except NOT_PYTHON:
        return False


def find_unguarded() -> str | None:
    """Return the place in the main script from which this function is called, if importing the script gets there too.

    A new process of `multiprocessing` imports the script. What only the script itself is to do stands below
    ``if __name__ == "__main__":``. The result is None if the call does, or if there is no script.
    """
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name.endswith("__main__"):  # as of `python -m evodiverse`, which is not imported
        return None
    stack = traceback.walk_stack(inspect.currentframe())
    lines = [n for frame, n in stack if frame.f_globals is vars(main) and frame.f_code.co_name == "<module>"]
    try:
        script = parse(Path(main.__file__ or "").read_bytes())
    except (AttributeError, OSError, *NOT_PYTHON):  # a notebook, or a program that was compiled
        return None
    guards = [node for node in ast.walk(script) if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)]
    is_guarded = any(guard.lineno <= line <= (guard.end_lineno or 0) for guard in guards for line in lines)
    return None if is_guarded or not lines else f"{main.__file__}, line {lines[-1]}"


def is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a bare string literal."""
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


def _count_marks(source: str) -> int:
    """Return the length of the longest run of combining marks."""
    marks = {character for character in set(source) if combining(normalize("NFKD", character)[0])}
    return max((len(list(run)) for is_mark, run in groupby(source, marks.__contains__) if is_mark), default=0)
