"""Cap sets: a program constructs as many vectors over three elements as it can, no three of which lie on a line."""

from fractions import Fraction
from typing import Any

import numpy as np

from evodiverse.tasks.programs.exact import Construction, check_integers

Vectors = list[list[int]]


def count_cap(vectors: Vectors) -> Fraction:
    """Return the number of vectors.

    Args:
        vectors: The vectors, at least one, of at most 10 entries each.

    Raises:
        ValueError: An entry is not 0, 1 or 2, two vectors are the same, or three of them lie on a line.
    """
    if not all(0 <= x <= 2 for vector in vectors for x in vector):
        raise ValueError("an entry is not 0, 1 or 2")
    points = np.array(vectors, np.int64)
    places = 3 ** np.arange(points.shape[1])
    codes = points @ places
    first = np.full(3 ** points.shape[1], -1)
    for number, code in enumerate(codes.tolist()):
        if first[code] >= 0:
            raise ValueError(f"vectors {first[code]} and {number} are the same")
        first[code] = number
    for number, point in enumerate(points):
        # The third point of the line through this one and each later one.
        others = first[-(point + points[number + 1 :]) % 3 @ places]
        if (others >= 0).any():
            second = int((others >= 0).argmax())
            raise ValueError(f"vectors {number}, {number + 1 + second} and {others[second]} lie on a line")
    return Fraction(len(vectors))


class CapSet(Construction):
    """The evaluator of this task."""

    entry_point = "construct_cap"
    quantity = "number of vectors"
    n = 8
    reference = 512.0
    sizes = range(1, 11)
    is_larger_better = True
    measure = staticmethod(count_cap)

    def read(self, value: Any) -> Vectors:
        """Return the vectors."""
        vectors = check_integers(value, self._n)
        if len(vectors) > 3**self._n:
            raise ValueError(f"there are only {3**self._n} vectors")
        return vectors
