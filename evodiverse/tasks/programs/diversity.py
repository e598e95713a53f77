"""How different the programs of a set are: cosine distance of their tokens under TF-IDF, or of any other vectors."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evodiverse.errors import InputError
from evodiverse.quiet_parse import NOT_PYTHON, parse_quietly
from evodiverse.tasks.programs.syntax import is_docstring

Vectors: TypeAlias = sparse.csr_matrix | NDArray[np.floating[Any]]
"""``(n, dimensions)``, one row a program."""

Origin: TypeAlias = int | None
"""The pool that proposed a candidate, None for one that all pools began with."""

# What keywords and operators make; brackets, dots and commas say no more than what stands between them.
_STATEMENTS: Final = (ast.stmt, ast.excepthandler, ast.match_case)
_EXPRESSIONS: Final = (ast.Lambda, ast.IfExp, ast.comprehension, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_OPERATORS: Final = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class Diversity(NamedTuple):
    """Mean pairwise cosine distance, of all programs and of each pool; NaN for fewer than two."""

    overall: float
    pools: tuple[float, ...]


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


def mean_cosine_distance(vectors: Vectors) -> float:
    """Return the mean cosine distance over all pairs of vectors.

    It is computed from the sum of the vectors scaled to unit length, ``1 - (|sum|² - n) / (n (n - 1))``, in time linear
    in n. A vector of zeros has no direction; its distance to every other, also to one of zeros, is 1.

    Args:
        vectors: ``(n, dimensions)``, of any length.

    Returns:
        0 for vectors of one direction to n / (n - 1), 1 for orthogonal ones; where no component is negative, at most
        1. NaN for fewer than two vectors, or when one has a NaN.
    """
    n = vectors.shape[0]
    if n < 2:
        return float("nan")
    lengths = sparse.linalg.norm(vectors, axis=1) if sparse.issparse(vectors) else np.linalg.norm(vectors, axis=1)
    scales = np.divide(1.0, lengths, out=np.zeros(n), where=lengths != 0)
    total = vectors.T @ scales
    similarities = float(total @ total) - np.count_nonzero(lengths)  # summed over ordered pairs
    return float(np.maximum(0.0, 1 - similarities / (n * (n - 1))))  # maximum: rounding; it hands on a NaN


def measure_diversity(vectors: Vectors, pools: Sequence[Sequence[int]]) -> Diversity:
    """Return the mean pairwise cosine distance of all vectors and of each pool's.

    Args:
        vectors: ``(n, dimensions)``, each program once, however many pools it is in.
        pools: The indices of each pool's members, cold to hot; a pool may be empty.
    """
    return Diversity(
        mean_cosine_distance(vectors),
        tuple(mean_cosine_distance(vectors[np.array(members, dtype=np.intp)]) for members in pools),
    )


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


def pool_shares(scores: Sequence[float], origins: Sequence[Origin], top: int = 100) -> dict[Origin, float]:
    """Return the share that each pool of origin has in the best candidates (paper, "Pool Origin (Top-100)").

    Args:
        scores: ``(n,)``, finite, higher is better, the oldest candidate first; of equal scores the older is better.
        origins: ``(n,)``; candidates of no one pool count as one more origin, None.
        top: How many are the best, at least 1; all if there are fewer.

    Returns:
        0 to 1 for every origin there is, pools in order and None last, in sum 1; empty for no candidates.

    Raises:
        ValueError: ``scores`` and ``origins`` differ in length.
    """
    ranked = sorted(zip(scores, origins, strict=True), key=lambda pair: -pair[0])[:top]
    counts = Counter(origin for _, origin in ranked)
    pools = sorted({origin for origin in origins if origin is not None})
    others: list[Origin] = [None] if None in origins else []
    return {origin: counts[origin] / len(ranked) for origin in [*pools, *others]}
