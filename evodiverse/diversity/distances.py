"""How different the members of a set are: the mean pairwise cosine distance of their vectors."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vectors: TypeAlias = sparse.csr_matrix | NDArray[np.floating[Any]]
"""``(n, dimensions)``, one row a member of the set."""

Encode: TypeAlias = Callable[[Sequence[str]], Vectors]
"""Returns the vectors ``(n, dimensions)`` of texts."""


class Diversity(NamedTuple):
    """Mean pairwise cosine distance, of all members and of each pool; NaN for fewer than two."""

    overall: float
    pools: tuple[float, ...]


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
