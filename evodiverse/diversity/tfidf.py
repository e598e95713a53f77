"""The vectors of programs by their tokens, weighted by TF-IDF."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from scipy import sparse

from evodiverse.diversity.distances import Diversity, measure_diversity
from evodiverse.errors import InputError
from evodiverse.kit.python import NOT_PYTHON, is_docstring, parse_quietly

# What keywords and operators make; brackets, dots and commas say no more than what stands between them.
_STATEMENTS: Final = (ast.stmt, ast.excepthandler, ast.match_case)
_EXPRESSIONS: Final = (ast.Lambda, ast.IfExp, ast.comprehension, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_OPERATORS: Final = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


@lru_cache(maxsize=4096)
def find_tokens(source: str) -> tuple[str, ...]:
    """Return the tokens of a program: its names, numbers, texts, keywords and operators, each as often as it occurs.

    They are read off the syntax tree, so that layout, comments, docstrings, redundant brackets and the spelling of
    numbers and texts make no difference, nor does the version of Python's tokenizer. A name counts in the form that
    Python compares (NFKC), a dotted one in its parts; a text is one token as a whole, since it may name an algorithm; a
    keyword or an operator counts as the node that it makes, ``<For>`` say, or ``<Add>``.

    Returns:
        In no order that means anything; empty for a program without statements.

    Raises:
        ValueError: The source is not Python.
    """
    try:
        tree = parse_quietly(source)
    except NOT_PYTHON as error:
        raise ValueError(f"expected Python source, got {source[:80]!r}") from error
    return tuple(_walk(tree))


def _walk(tree: ast.AST) -> Iterator[str]:
    """Yield the tokens of a tree without recursion: a sum of a thousand terms is a thousand deep."""
    parts: list[Any] = [tree]
    while parts:
        part = parts.pop()
        kind = type(part)
        if kind is str:
            yield from part.split(".")
        elif kind is ast.Constant:
            yield _spell(part.value)
        elif kind is list:
            parts += part
        elif issubclass(kind, ast.AST) and not (kind is ast.Expr and is_docstring(part)):
            if (mark := _mark(kind)) is not None:  # type: ignore[arg-type] # a class can be hashed
                yield mark
            parts += [getattr(part, field, None) for field in part._fields]


@cache
def _mark(kind: type[ast.AST]) -> str | None:
    """Return the token that a node of a kind is, None where what stands in it says it all."""
    is_marked = issubclass(kind, (*_STATEMENTS, *_EXPRESSIONS, *_OPERATORS)) and kind is not ast.Expr
    return f"<{kind.__name__}>" if is_marked else None


def _spell(constant: Any) -> str:
    """Return a constant as Python writes it, but whole numbers in hex, the one base without a limit of digits."""
    return hex(constant) if type(constant) is int else repr(constant)


def tfidf(programs: Sequence[str]) -> sparse.csr_matrix:
    """Return the TF-IDF vectors of programs (paper, "Detailed Diversity Metrics").

    The weights are scikit-learn's defaults, as the paper names none: a token that a program has t times and d of n
    programs have at all weighs ``t (1 + ln((1 + n) / (1 + d)))``. Vectors of two calls are therefore not comparable.

    Args:
        programs: ``(n,)`` sources; the order makes no difference but to the order of the rows.

    Returns:
        ``(n, terms)``, rows of unit length, or of zeros for programs without tokens; ``(n, 0)`` if no program has any.

    Raises:
        ValueError: A source is not Python.
        InputError: scikit-learn is not installed.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise InputError("TF-IDF needs scikit-learn; pip install 'evodiverse[analysis]'") from error
    documents = [find_tokens(program) for program in programs]
    if not any(documents):  # which scikit-learn refuses
        return sparse.csr_matrix((len(documents), 0))
    return sparse.csr_matrix(TfidfVectorizer(analyzer=list).fit_transform(documents))


def program_diversity(programs: Sequence[str], pools: Sequence[Sequence[int]]) -> Diversity:
    """Return the TF-IDF diversity of programs, overall and of each pool (paper, "Detailed Diversity Metrics").

    The weights are those of all programs together, so that the pools' values compare with each other and with the
    overall one.

    Args:
        programs: ``(n,)`` sources, each once, however many pools it is in.
        pools: The indices of each pool's members, cold to hot; a pool may be empty.

    Raises:
        ValueError: A source is not Python.
        InputError: scikit-learn is not installed.
    """
    return measure_diversity(tfidf(programs), pools)
