"""The three autocorrelation inequalities: a program constructs a step function whose autoconvolution is flat."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from evodiverse.tasks.programs.exact import StepFunction, convolve, to_integers
from evodiverse.tasks.programs.settings import ProgramSettings


def find_peak(heights: Sequence[float]) -> Fraction:
    """Return max(f*f) / (∫f)² of a step function f on an interval of length 1/2 that is nowhere below 0 (inequality 1).

    Raises:
        ValueError: A height is below 0, or all are 0.
    """
    ours = _check(heights)
    return Fraction(2 * len(ours) * max(convolve(ours, ours)), sum(ours) ** 2)


def find_flatness(heights: Sequence[float]) -> Fraction:
    """Return ‖f*f‖₂² / (‖f*f‖₁ ‖f*f‖∞) of a step function f that is nowhere below 0 (inequality 2).

    The autoconvolution is linear between the multiples of a step, so that its integrals are exact sums.

    Raises:
        ValueError: A height is below 0, or all are 0.
    """
    ours = _check(heights)
    values = convolve(ours, ours)
    squares = sum(low**2 + low * high + high**2 for low, high in pairwise([0, *values, 0]))
    return Fraction(squares, 3 * sum(ours) ** 2 * max(values))


def find_signed_peak(heights: Sequence[float]) -> Fraction:
    """Return max\\|f*f\\| / (∫f)² of a step function f of any sign on an interval of length 1/2 (inequality 3).

    Raises:
        ValueError: The integral is not above 0.
    """
    ours = to_integers(heights)
    if sum(ours) <= 0:
        raise ValueError("the integral is not above 0")
    return Fraction(2 * len(ours) * max(map(abs, convolve(ours, ours))), sum(ours) ** 2)


def _check(heights: Sequence[float]) -> list[int]:
    """Return heights as integers; raise ValueError if one is below 0 or all are 0."""
    for number, height in enumerate(heights):
        if height < 0:
            raise ValueError(f"height {number} is below 0")
    if not any(heights):
        raise ValueError("all heights are 0")
    return to_integers(heights)


QUANTITIES: Final[Mapping[int, tuple[str, Callable[[Sequence[float]], Fraction]]]] = {
    1: ("largest value of the autoconvolution", find_peak),
    2: ("flatness of the autoconvolution", find_flatness),
    3: ("largest absolute value of the autoconvolution", find_signed_peak),
}
"""The quantity of each inequality, by ``task.n``: its name, and the function that measures it."""


class Autocorrelation(StepFunction):
    """The evaluator of this task; ``task.n`` is the number of the inequality."""

    quantity = "bound"
    n = 1
    reference = 1.50286286
    sizes = range(1, 4)

    def __init__(self, settings: ProgramSettings) -> None:
        super().__init__(settings)
        self.quantity, self.measure = QUANTITIES[self._n]
        self.is_larger_better = self._n == 2
