"""Python's syntax of what others wrote."""

import ast
import warnings
from typing import Final

# What a source that is no program makes Python raise: the last two where it is nested too deeply.
NOT_PYTHON: Final = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse_quietly(source: str) -> ast.Module:
    """Return the tree of a source, whatever Python would warn of, as `ast.parse` does; raises one of `NOT_PYTHON`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\\d" and the like: a program's own business
        return ast.parse(source)
