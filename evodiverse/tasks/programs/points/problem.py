"""What a task that asks for points is made of, besides its moves."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from evodiverse.tasks.programs.points.exact import Points
from evodiverse.tasks.programs.verified import BestKnown


class Problem(NamedTuple):
    """A quantity of points in the plane that is to be as large, or as small, as possible.

    Attributes:
        task: The option of ``task`` on the command line.
        title: What is shown, for ``n`` points, as in ``{n} points in a triangle``.
        quantity: What is measured.
        n: How many points there are, unless the user says otherwise.
        reference: The value that scores 1 for so many points.
        fewest, most: How many points may be asked for; more could not be measured in an instant.
        is_larger_better: Whether large values are the good ones.
        best_known: The best published values by the number of points.
        seed: The program that a search starts from, with the line ``N = n``.
        measure: Returns the value of points, exactly, above 0 or 0. Raises ``ValueError`` with what makes them invalid.
        verify: Returns the same by a way of its own, and raises the same.
        how: What ``verify`` does.
        draw: Returns a PNG of valid points with lines of text below.
        describe: Returns what a language model is told, from ``n``, ``reference`` and the CPU seconds of a run.
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
    draw: Callable[[Points, Sequence[str]], bytes]
    describe: Callable[[int, float, float], str]
