"""Kissing numbers: a program constructs as many directions as it can that are at least 60 degrees apart."""

from fractions import Fraction
from typing import Any, Final

import numpy as np

from evodiverse.tasks.programs.exact import Construction, check_integers

Vectors = list[list[int]]

MOST_VECTORS: Final = 1_000


def count_directions(vectors: Vectors) -> Fraction:
    """Return the number of vectors.

    Two vectors are at least 60 degrees apart if their scalar product is at most half the product of their lengths: if
    it is not above 0, or four times its square is at most the product of the squared lengths.

    Raises:
        ValueError: A vector is zero, or two vectors are less than 60 degrees apart.
    """
    largest = max(abs(x) for vector in vectors for x in vector)
    # In 64 bits, four times the square of a scalar product must not overflow.
    fits = 4 * (len(vectors[0]) * largest**2) ** 2 < 2**63
    points = np.array(vectors, np.int64 if fits else object)
    squares = (points * points).sum(axis=1)
    for number, (point, square) in enumerate(zip(points, squares, strict=True)):
        if square == 0:
            raise ValueError(f"vector {number} is zero")
        products = points[number + 1 :] @ point
        is_near = (products > 0) & (4 * products * products > square * squares[number + 1 :])
        if is_near.any():
            other = number + 1 + int(is_near.argmax())
            raise ValueError(f"vectors {number} and {other} are less than 60 degrees apart")
    return Fraction(len(vectors))


class Kissing(Construction):
    """The evaluator of this task."""

    entry_point = "construct_vectors"
    quantity = "number of vectors"
    n = 11
    reference = 593.0
    sizes = range(1, 13)
    is_larger_better = True
    measure = staticmethod(count_directions)

    def read(self, value: Any) -> Vectors:
        """Return the vectors."""
        vectors = check_integers(value, self._n)
        if len(vectors) > MOST_VECTORS or any(abs(x) > 10**15 for vector in vectors for x in vector):
            raise ValueError(f"expected up to {MOST_VECTORS:,} vectors of integers up to 10**15")
        return vectors
