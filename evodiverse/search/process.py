"""A Gaussian process over counts of features, which forecasts how good a hypothesis is from those evaluated before.

The kernel is the min-max kernel of counts x and y, Σ min(xᵢ, yᵢ) / Σ max(xᵢ, yᵢ), the Tanimoto similarity for counts.
The prior mean is 0, the prior variance 1 and the variance of the noise 1e-4; nothing is fitted (Tripp and
Hernández-Lobato 2024, "Genetic algorithms are strong baselines for molecule generation", arXiv 2310.09267).

Counts are written in unary code, one bit for each feature and level, so that Σ min is the product of two sparse rows.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array, get_index_dtype

from evodiverse.search.sampling import FloatArray, IntArray

MAX_COUNT: Final = 8
"""Higher counts are treated as this one."""
NOISE: Final = 1e-4
N_DATA: Final = 2_500
"""The maximum number of evaluated candidates that a process learns from."""
ROWS_AT_ONCE: Final = 2_000
"""How many hypotheses a mean is computed for at once: all products for a library would not fit into the caches."""


Row = tuple[NDArray[np.int32], int]
"""The features of a hypothesis: the sorted columns of its bits, and the number of columns that there are."""


def encode(counts: NDArray[np.floating]) -> list[Row]:
    """Return ``(n, d)`` counts in unary code, as the bits of ``d * MAX_COUNT`` columns.

    Column ``f * MAX_COUNT + l`` is a bit where the count of feature ``f`` is above ``l``. Counts are rounded down.
    """
    levels = np.minimum(counts, MAX_COUNT).astype(np.int64)
    rows, features = np.nonzero(levels)
    n = levels[rows, features]
    level = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    columns = (np.repeat(features * MAX_COUNT, n) + level).astype(np.int32)
    ends = np.cumsum(levels.sum(axis=1))
    return [(part, levels.shape[1] * MAX_COUNT) for part in np.split(columns, ends[:-1])]


def stack(rows: Sequence[Row]) -> csr_array:
    """Return the ``(n, d)`` sparse bits of ``n`` rows; n is at least 1."""
    columns = np.concatenate([columns for columns, _ in rows])
    return as_bits(columns, [columns.size for columns, _ in rows], rows[0][1])


def as_bits(columns: NDArray[np.int32], sizes: ArrayLike, width: int) -> csr_array:
    """Return the ``(n, width)`` sparse bits of ``n`` hypotheses.

    Args:
        columns: The columns of the bits of all hypotheses, one hypothesis after the other.
        sizes: ``(n,)`` numbers of bits.
        width: The number of columns, below 65,536, so that no product overflows.
    """
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(get_index_dtype(maxval=columns.size))
    ones = np.ones(columns.size, dtype=np.uint16)  # products are much faster than those of floating-point numbers
    return csr_array((ones, columns, starts), shape=(starts.size - 1, width))


def choose_sample(values: FloatArray, rng: np.random.Generator, most: int = N_DATA) -> IntArray:
    """Return the sorted indices of ``most`` values: two thirds are the best, and the others are drawn from the rest.

    Args:
        values: ``(n,)`` values, higher is better, oldest first. Among equal values, the older ones count as better.
        rng: The source of the random choice.
        most: How many to choose; all are chosen if there are fewer.
    """
    ranking, n_best = np.argsort(-values, kind="stable"), most * 2 // 3
    drawn = rng.permutation(ranking[n_best:])[: most - n_best]
    return np.sort(np.concatenate([ranking[:n_best], drawn]))


class Kernel:
    """The kernel between any hypotheses and those with ``(n, d)`` bits."""

    def __init__(self, rows: csr_array) -> None:
        self._columns = np.unique(rows.indices)
        self._bits = np.ascontiguousarray(rows[:, self._columns].toarray().T)
        self._sums = _count_bits(rows)

    def __call__(self, rows: csr_array) -> FloatArray:
        """Return the ``(m, n)`` similarities of hypotheses with ``(m, d)`` bits."""
        shared = (rows[:, self._columns] @ self._bits).astype(np.float32)
        shared /= np.maximum(_count_bits(rows)[:, None] + self._sums - shared, 1.0)
        similarities: FloatArray = shared.astype(np.float64)
        return similarities


class Process:
    """The process, given the values of some hypotheses.

    Args:
        rows: The ``(n, d)`` bits of the hypotheses, as `stack` returns them; n is at least 1.
        values: Their ``(n,)`` values, higher is better, on a scale of 0 to 1.

    Attributes:
        mean: The mean of `forecast` alone.
    """

    def __init__(self, rows: csr_array, values: FloatArray) -> None:
        kernel = Kernel(rows)
        covariance = kernel(rows)
        covariance[np.diag_indices_from(covariance)] += NOISE
        self._factor = np.linalg.cholesky(covariance)
        half = solve_triangular(self._factor, values, lower=True, check_finite=False)
        self.mean = Mean(kernel, solve_triangular(self._factor.T, half, check_finite=False))

    def forecast(self, rows: csr_array) -> FloatArray:
        """Return the means and the standard deviations of the values of hypotheses with ``(n, d)`` bits, ``(2, n)``."""
        similarities = self.mean.kernel(rows)
        explained = solve_triangular(self._factor, similarities.T, lower=True, check_finite=False)
        variances = np.maximum(1.0 - np.einsum("ij,ij->j", explained, explained), 0.0)
        return np.stack([similarities @ self.mean.weights, np.sqrt(variances)])


class Mean(NamedTuple):
    """The mean of a process, a function of ``(n, d)`` bits, for any number of hypotheses."""

    kernel: Kernel
    weights: FloatArray

    def __call__(self, rows: csr_array) -> FloatArray:
        """Return the ``(n,)`` means."""
        parts = range(0, rows.shape[0], ROWS_AT_ONCE)
        return np.concatenate([self.kernel(rows[at : at + ROWS_AT_ONCE]) @ self.weights for at in parts])


def _count_bits(rows: csr_array) -> NDArray[np.float32]:
    """Return the number of bits of each row."""
    counts: NDArray[np.float32] = np.diff(rows.indptr).astype(np.float32)
    return counts


ALIKE: Final = 0.3
"""The similarity, by the kernel, at or above which two hypotheses belong to the same family; two random molecules of a
library are so similar in 1 of 100 cases. A hypothesis with a lower similarity k belongs to the family in part:
(k / `ALIKE`) ** 6."""
EACH: Final = 20
"""How many calls of a family have paid if they found one niche of good candidates."""
PRIOR: Final = 2
"""How many niches each family is credited with in advance, and how often `EACH` calls for them."""
GOOD: Final = 0.6
"""A candidate is good if its value is at least this share of the best value."""
N_COUNTED: Final = 2_000
"""The maximum number of calls that are compared with a hypothesis to estimate how many its family took."""


class Families(NamedTuple):
    """What the calls so far say of any family.

    Attributes:
        counted: The kernel of some calls, drawn from all.
        scale: How many calls each of these stands for.
        good: The kernel of the best call of each niche that has a good one.
    """

    counted: Kernel
    scale: float
    good: Kernel

    def worth(self, rows: csr_array) -> FloatArray:
        """Return the worth of the families of hypotheses with ``(n, d)`` bits, in [0, 1], ``(n,)``.

        Of a family that took n calls, which found g niches of good candidates, it is
        (g + `PRIOR`) / (n / `EACH` + `PRIOR`), but at most 1.
        """
        n_calls = _count_members(self.counted(rows)) * self.scale
        n_niches = _count_members(self.good(rows))
        return np.minimum((n_niches + PRIOR) / (n_calls / EACH + PRIOR), 1.0)


def _count_members(similarities: FloatArray) -> FloatArray:
    shares = np.minimum(similarities / ALIKE, 1.0)
    shares *= shares * shares  # much faster than a power
    members: FloatArray = np.einsum("ij,ij->i", shares, shares)
    return members


def find_best_of_niches(values: FloatArray, niches: IntArray) -> IntArray:
    """Return the sorted indices of the best candidate of each niche that has a good one.

    Args:
        values: ``(n,)`` values, higher is better, oldest first. Among equal values, the older ones count as better.
        niches: ``(n,)`` numbers of their niches.
    """
    ranking = np.argsort(-values, kind="stable")
    ranking = ranking[values[ranking] >= GOOD * values.max(initial=0.0)]
    _, firsts = np.unique(niches[ranking], return_index=True)
    return np.sort(ranking[firsts])
