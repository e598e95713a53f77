"""The definition of a task that places points, without the mutations that make sense only for this task."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evodiverse.tasks.programs.points.exact import Points
from evodiverse.tasks.programs.verified import BestKnown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Problem(NamedTuple):
    """A quantity to maximize or minimize, measured on a set of points in the plane.

    Attributes:
        task: The value of ``task`` on the command line.
        title: The title of pictures, with the field ``{n}`` for the number of points.
        quantity: The name of the quantity.
        n: The default number of points.
        reference: The value that scores 1 for the default number of points.
        fewest, most: The smallest and largest number of points; more points would take too long to measure.
        is_larger_better: Whether larger values are better.
        best_known: The best published values by the number of points.
        seed: The file of the program that a search starts from. It has a line such as ``N = 11``, with the default
            number of points; for another number of points, this line is replaced.
        measure: A function that returns the exact value of the quantity for given points, at least 0. It raises
            ``ValueError`` with the reason if the points are invalid.
        verify: A function that computes the same value by another method, and also raises ``ValueError``.
        how: A description of the method of ``verify``.
        draw: A function that draws what lies under valid points in a picture, and returns their places in the unit
            square; see `draw_points`.
        describe: A function that returns the description for a language model, given the number of points, the value
            that scores 1, and the limit on the CPU time of a run, in seconds.
    """

    task: str
    title: str
    quantity: str
    n: int
    reference: float
    fewest: int
    most: int
    is_larger_better: bool
    best_known: Mapping[int, BestKnown]
    seed: Path
    measure: Callable[[Points], Fraction]
    verify: Callable[[Points], Fraction]
    how: str
    draw: Callable[["Axes", Points], Sequence[tuple[float, float]]]
    describe: Callable[[int, float, float], str]
