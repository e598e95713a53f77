"""The common parts of the tasks whose programs construct a step function: exact arithmetic and the evaluator."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from evodiverse.kit.pictures import INK, new_figure, styled, to_png
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.exact import Construction

MOST_STEPS: Final = 2_000
PLACES: Final = 60
"""Heights are cut to this number of binary places below the largest, so that exact products remain short."""


def to_integers(heights: Sequence[float]) -> list[int]:
    """Return heights as integers: multiples of one unit, cut toward 0 to `PLACES` binary places below the largest.

    The step function that is measured is the one with these heights. The unit does not matter where a step function is
    measured up to a factor; see `cut` for the others.
    """
    _, exponent = math.frexp(max(map(abs, heights)))
    return [cut(height, PLACES - exponent) for height in heights]


def cut(height: float, places: int) -> int:
    """Return a height as a multiple of 2**-places, cut toward 0."""
    return int(Fraction(height) * Fraction(2) ** places)


def convolve(ours: Sequence[int], theirs: Sequence[int]) -> list[int]:
    """Return the convolution of two sequences of integers, of which none is below 0.

    The sequences are the digits of two large numbers, to a base that is larger than any digit of their product.
    """
    n_digits = len(ours) + len(theirs) - 1
    width = (max(*ours, *theirs) ** 2 * n_digits).bit_length() // 8 + 1
    ours_packed, theirs_packed = (
        int.from_bytes(b"".join(value.to_bytes(width, "little") for value in values), "little")
        for values in (ours, theirs)
    )
    product = (ours_packed * theirs_packed).to_bytes(width * n_digits, "little")
    return [int.from_bytes(product[start : start + width], "little") for start in range(0, len(product), width)]


_SIDE = 880  # pixels


@styled()
def draw_steps(heights: Sequence[float], lines: Sequence[str]) -> bytes:
    """Return a PNG of a step function; for the lines of text, see `to_png`."""
    figure, (axes,) = new_figure(_SIDE)
    axes.stairs(heights, fill=True, color=INK)
    axes.set(xlabel="step", ylabel="height")
    return to_png(figure, lines)


class StepFunction(Construction):
    """The evaluator of a task whose programs construct a step function, by its heights on intervals of equal length."""

    entry_point = "construct_steps"
    title = "heights of the step function"

    def read(self, value: Any) -> list[float]:
        """Return the heights of the steps."""
        if not isinstance(value, list) or not all(type(height) in (int, float) for height in value):
            raise ValueError("the result is not a list of numbers")
        if not 1 <= len(value) <= MOST_STEPS:
            raise ValueError(f"expected from 1 to {MOST_STEPS:,} steps, got {len(value)}")
        try:
            return [float(height) for height in value]
        except OverflowError:
            raise ValueError("a height is too large for a float") from None

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's step function as ``steps.png``."""
        return {"steps.png": draw_steps(self.find_result(discovery), self.caption(discovery))}
