"""Python's syntax of what others wrote."""

import ast
import warnings
from itertools import groupby
from typing import Final
from unicodedata import combining, normalize

# What a source that is no program makes Python raise: the last two where it is nested too deeply.
NOT_PYTHON: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
# Combining marks in a row, as in Unicode's Stream-Safe Text Format. Python sorts those of a name by a method that takes
# quadratic time, and does so again wherever it tries to read the name as something else.
MAX_MARKS: Final = 30


def parse_quietly(source: str) -> ast.Module:
    """Return the tree of a source, whatever Python would warn of, as `ast.parse` does; raises one of `NOT_PYTHON`."""
    if not source.isascii() and _count_marks(source) > MAX_MARKS:
        raise ValueError(f"more than {MAX_MARKS} combining marks in a row")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\\d" and the like: a program's own business
        return ast.parse(source)


def is_docstring(statement: ast.stmt) -> bool:
    """Say whether a statement is a text alone."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _count_marks(source: str) -> int:
    """Return how many combining marks follow each other at most."""
    marks = {character for character in set(source) if combining(normalize("NFKD", character)[0])}
    return max((len(list(run)) for is_mark, run in groupby(source, marks.__contains__) if is_mark), default=0)
