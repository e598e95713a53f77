"""The diversity of a set: the mean pairwise cosine distance of the vectors of its members."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

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
