"""Families: the hypotheses that are similar to one, and whether more oracle calls for a family are likely to pay.

A search that follows its forecasts alone may spend most of its calls on the first family that it finds, although new
members hardly ever found anything that differs from the old ones. So the acquisition of a hypothesis is multiplied by
the worth of its family.
"""

from typing import Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from evodiverse.search.process import Kernel
from evodiverse.search.sampling import FloatArray, IntArray

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
        worth: FloatArray = np.minimum((n_niches + PRIOR) / (n_calls / EACH + PRIOR), 1.0)
        return worth


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
    best: IntArray = np.sort(ranking[firsts])
    return best
