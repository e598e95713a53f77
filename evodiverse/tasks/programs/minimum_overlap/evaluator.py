"""Erdős' minimum overlap: a program constructs a step function that overlaps little with its complement."""

from collections.abc import Sequence
from fractions import Fraction

from evodiverse.tasks.programs.exact import PLACES, StepFunction, convolve, cut


def find_overlap(heights: Sequence[float]) -> Fraction:
    """Return the largest overlap of a step function f on [0, 2] with 1 - f, moved by any distance.

    Before, the function is brought to the integral 1: f is multiplied by a factor if its integral is larger, otherwise
    1 - f is. The overlap is linear between the distances that are multiples of a step, so that these suffice.

    Args:
        heights: The heights of the steps, at least one.

    Raises:
        ValueError: A height is below 0 or above 1.
    """
    for number, height in enumerate(heights):
        if not 0 <= height <= 1:
            raise ValueError(f"height {number} is not from 0 to 1")
    ours, n = [cut(height, PLACES) for height in heights], len(heights)
    if 2 * sum(ours) < n * 2**PLACES:
        # The complement has the same overlaps.
        ours = [2**PLACES - height for height in ours]
    one = 2 * sum(ours)
    ours = [n * height for height in ours]
    overlaps = convolve(ours, [one - height for height in reversed(ours)])
    return Fraction(2 * max(overlaps), n * one**2)


class MinimumOverlap(StepFunction):
    """The evaluator of this task."""

    quantity = "largest overlap"
    reference = 0.38087031
    is_larger_better = False
    measure = staticmethod(find_overlap)
