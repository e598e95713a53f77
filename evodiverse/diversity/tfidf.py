"""TF-IDF vectors of programs over the tokens of their syntax trees."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from evodiverse.diversity.distances import Diversity, measure_diversity
from evodiverse.kit.python import NOT_PYTHON, is_docstring, parse_quietly

if TYPE_CHECKING:
    from scipy import sparse

# The syntax nodes of keywords and operators. Brackets, dots and commas add nothing to what they enclose or join.
_STATEMENTS: Final = (ast.stmt, ast.excepthandler, ast.match_case)
_EXPRESSIONS: Final = (ast.Lambda, ast.IfExp, ast.comprehension, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_OPERATORS: Final = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


@lru_cache(maxsize=4096)
def find_tokens(source: str) -> tuple[str, ...]:
    """Return the tokens of a program: names, numbers, strings, keywords and operators, each as often as it occurs.

    The tokens come from the syntax tree. Layout, comments, docstrings, redundant parentheses and the spelling of
    numbers and strings therefore make no difference, and neither does the version of Python's tokenizer.

    A name is normalized as Python does it (NFKC), and a dotted name counts as its parts. A string is a single token and
    is not split into words, since it may be the name of an algorithm. The token of a keyword or an operator is the name
    of its syntax node, such as ``<For>`` or ``<Add>``.

    Returns:
        The tokens, in no meaningful order; empty for a program without statements.

    Raises:
        ValueError: The source is not Python.
    """
    try:
        tree = parse_quietly(source)
    except NOT_PYTHON as error:
        raise ValueError(f"expected Python source, got {source[:80]!r}") from error
    return tuple(_walk(tree))


def _walk(tree: ast.AST) -> Iterator[str]:
    """Yield the tokens of a tree without recursion, since a sum of a thousand terms is a thousand levels deep."""
    parts: list[Any] = [tree]
    while parts:
        part = parts.pop()
        kind = type(part)
        if kind is str:
            yield from part.split(".")
        elif kind is ast.Constant:
            # Python refuses to convert very long integers to decimal.
            yield hex(part.value) if type(part.value) is int else repr(part.value)
        elif kind is list:
            parts += part
        elif issubclass(kind, ast.AST) and not (kind is ast.Expr and is_docstring(part)):
            if (mark := _mark(kind)) is not None:  # type: ignore[arg-type] # a class can be hashed
                yield mark
            parts += [getattr(part, field, None) for field in part._fields]


@cache
def _mark(kind: type[ast.AST]) -> str | None:
    """Return the token for a kind of syntax node; None if only the parts of such a node have tokens."""
    is_marked = issubclass(kind, (*_STATEMENTS, *_EXPRESSIONS, *_OPERATORS)) and kind is not ast.Expr
    return f"<{kind.__name__}>" if is_marked else None


def tfidf(programs: Sequence[str]) -> "sparse.csr_matrix":
    """Return the TF-IDF vectors of programs (paper, "Detailed Diversity Metrics").

    The weights are the defaults of scikit-learn, since the paper does not state any. A token that occurs t times in a
    program, and in d of the n programs, has the weight ``t (1 + ln((1 + n) / (1 + d)))``. Vectors from different calls
    are therefore not comparable.

    Args:
        programs: ``(n,)`` sources.

    Returns:
        ``(n, n_terms)`` vectors in the order of the programs, of unit length, or zero for a program without tokens;
        ``(n, 0)`` if no program has tokens.

    Raises:
        ValueError: A source is not Python.
    """
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes a second

    documents = [find_tokens(program) for program in programs]
    if not any(documents):  # scikit-learn refuses this
        return sparse.csr_matrix((len(documents), 0))
    return sparse.csr_matrix(TfidfVectorizer(analyzer=list).fit_transform(documents))


def program_diversity(programs: Sequence[str], pools: Sequence[Sequence[int]]) -> Diversity:
    """Return the mean pairwise cosine distance of TF-IDF vectors of programs (paper, "Detailed Diversity Metrics").

    There is one mean over all programs, and one for each pool. The weights come from all programs together, so the
    values of the pools are comparable with each other and with the overall value.

    Args:
        programs: ``(n,)`` sources. A program that is in several pools is listed once.
        pools: For each pool, cold to hot, the indices of its members in ``programs``. A pool may be empty.

    Raises:
        ValueError: A source is not Python.
    """
    return measure_diversity(tfidf(programs), pools)
