"""Distances and similarities: of vectors, whose mean distance is the diversity of a set, and of bags of tokens.

A bag has, for instance, the terms of an equation or the tokens of a program.
"""

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

Bag = TypeVar("Bag")

Vectors: TypeAlias = "sparse.csr_matrix | NDArray[np.floating[Any]]"
"""``(n, d)`` vectors, one row per member of the set."""

Encode: TypeAlias = Callable[[Sequence[str]], Vectors]
"""A function that is called with n texts and returns their ``(n, d)`` vectors, such as `tfidf.tfidf`."""


class Diversity(NamedTuple):
    """The mean pairwise cosine distances of a set whose members are in pools; NaN for fewer than two members.

    Attributes:
        overall: The mean over all pairs of members, whether or not they are in the same pool.
        pools: For each pool, cold to hot, the mean over the pairs of its own members.
    """

    overall: float
    pools: tuple[float, ...]


def mean_cosine_distance(vectors: Vectors) -> float:
    """Return the mean cosine distance over all pairs of vectors.

    It is computed in O(n) time from the sum of the vectors, each scaled to unit length:
    ``1 - (|sum|² - n) / (n (n - 1))``. A zero vector has no direction; its distance to every other vector, including
    another zero vector, is 1.

    Args:
        vectors: ``(n, d)`` vectors of any length.

    Returns:
        The mean distance, in [0, n / (n - 1)]: 0 for parallel vectors, 1 for orthogonal ones, and at most 1 if no
        component is negative. NaN for fewer than two vectors, or if a component is NaN.
    """
    from scipy import sparse  # here so that runs, which measure nothing, start fast

    n = vectors.shape[0]
    if n < 2:
        return float("nan")
    lengths = sparse.linalg.norm(vectors, axis=1) if sparse.issparse(vectors) else np.linalg.norm(vectors, axis=1)
    scales = np.divide(1.0, lengths, out=np.zeros(n), where=lengths != 0)
    total = vectors.T @ scales
    similarities = float(total @ total) - np.count_nonzero(lengths)  # summed over ordered pairs
    # Rounding can make it negative; np.maximum keeps NaN.
    return float(np.maximum(0.0, 1 - similarities / (n * (n - 1))))


def measure_diversity(vectors: Vectors, pools: Sequence[Sequence[int]]) -> Diversity:
    """Return the mean pairwise cosine distance of all vectors, and of those of each pool.

    Args:
        vectors: ``(n, d)`` vectors, one per candidate. A candidate that is in several pools has a single vector.
        pools: For each pool, cold to hot, the indices of its members in ``vectors``. A pool may be empty.
    """
    return Diversity(
        mean_cosine_distance(vectors),
        tuple(mean_cosine_distance(vectors[np.array(members, dtype=np.intp)]) for members in pools),
    )


def jaccard(one: Collection[str], others: Sequence[Collection[str]]) -> NDArray[np.float64]:
    """Return the ``(n,)`` Jaccard similarities of a set of tokens to n others, in [0, 1]; 1 for two empty sets."""
    tokens = set(one)
    shared = [(len(tokens & set(other)), len(tokens | set(other))) for other in others]
    return np.array([both / either if either else 1.0 for both, either in shared])


def cosine(one: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> NDArray[np.float64]:
    """Return the ``(n,)`` cosine similarities of the token counts of a bag to those of n others, in [0, 1].

    An empty bag has similarity 1 to another empty bag and 0 to any other.
    """
    norm = _norm(one)
    similarities = []
    for other in others:
        product = norm * _norm(other)
        dot = sum(count * other[token] for token, count in one.items() if token in other)
        similarities.append(min(dot / product, 1.0) if product else float(not one and not other))
    return np.array(similarities)


def select_apart(
    ranked: Iterable[Bag], limit: float, similarities: Callable[[Bag, Sequence[Bag]], NDArray[np.float64]]
) -> list[Bag]:
    """Select bags of tokens greedily, each with a similarity below ``limit`` to all bags selected before it.

    A bag is given in any form that ``similarities`` accepts, such as a set of tokens or a mapping of tokens to counts.

    Args:
        ranked: The bags, in the order in which they are considered.
        limit: The similarity at or above which two bags are not both selected.
        similarities: A function such as `jaccard`. It is called with each bag and the n bags selected so far, and
            returns the ``(n,)`` similarities of the bag to them.

    Returns:
        The selected bags, in the order of ``ranked``.
    """
    taken: list[Bag] = []
    for bag in ranked:
        if (similarities(bag, taken) < limit).all():
            taken.append(bag)
    return taken


def hashed_counts(bags: Sequence[Mapping[str, int]], width: int) -> NDArray[np.float32]:
    """Return the ``(n, width)`` feature vectors of n bags: the counts of tokens, each in the column given by its hash.

    The hash is CRC-32, so a token has the same column on every machine. Tokens may share a column, which then has the
    sum of their counts.
    """
    rows = np.zeros((len(bags), width), dtype=np.float32)
    for row, bag in zip(rows, bags, strict=True):
        for token, count in bag.items():
            row[zlib.crc32(token.encode("utf-8", "surrogatepass")) % width] += count
    return rows


def _norm(counts: Mapping[str, int]) -> float:
    return sqrt(sum(count * count for count in counts.values()))
