"""The evaluator of programs that place points, which scores one quantity of the points in exact arithmetic."""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from evodiverse.errors import PLEASE_REPORT, ServiceError
from evodiverse.kit.own_columns import OwnColumn, column_types
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.points.exact import LARGEST, Points, round_down, round_up
from evodiverse.tasks.programs.points.picture import draw_points
from evodiverse.tasks.programs.points.problem import Problem
from evodiverse.tasks.programs.verified import Verified
from evodiverse.vocabulary import Array, Job, Limits, Reason, Rejection

_DRIVER: Final = "def drive(place_points):\n    return (place_points(),)\n"
"""The code that calls a program's function in the sandbox. It puts the returned array into a tuple, since the result of
a job with declared shapes is a tuple."""

COLUMNS: Final[Mapping[str, OwnColumn]] = {
    "value": OwnColumn(
        float,
        "measured quantity, rounded to the worse of the two adjacent floats: for `heilbronn`, the area of the smallest "
        "triangle as a share of the whole triangle, higher is better; for `distances`, the squared ratio of the "
        "largest to the smallest distance, lower is better",
    ),
    "points": OwnColumn(
        str, "the points as JSON, exact to the last bit, so that a new best value can be verified from the log"
    ),
}
"""The columns of ``evaluations`` that the tasks that place points add."""


class PointPlacing:
    """The evaluator of point placements.

    The score is value / reference, or reference / value if smaller values are better. The value is computed in exact
    arithmetic and logged as ``value``, rounded to a float: down, or up if smaller values are better. The points are
    logged as ``points``, exact to the last bit, so that the value can be verified from the log alone.

    Args:
        problem: The problem, which defines the value of the points.
        n: The number of points.
        reference: The value that scores 1, above 0.
        limits: The limits of each run of a program.
    """

    entry_point = "place_points"
    columns = column_types(COLUMNS)

    def __init__(self, problem: Problem, n: int, reference: float, limits: Limits) -> None:
        self._problem = problem
        self._n = n
        self._reference = reference
        self._limits = limits
        self.description = problem.describe(n, reference, limits.cpu_seconds)

    def job(self, source: str) -> Job:
        """Return the sandbox job that asks a program for the points."""
        return Job(source, self.entry_point, (), (Array((self._n, 2)),), self._limits, _DRIVER)

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score of the points, or the reason why they are invalid.

        Args:
            value: A tuple of one ``(n, 2)`` array, the coordinates of the points.
        """
        (array,) = value
        points: list[list[float]] = array.tolist()
        try:
            exact = self._problem.measure(points)
        except ValueError as error:
            return Rejection(Reason.INVALID, str(error))
        if exact > LARGEST:
            return Rejection(Reason.INVALID, f"the {self._problem.quantity} is too large for a float")
        measured = self._round(exact)
        score = measured / self._reference if self._problem.is_larger_better else self._reference / measured
        return Scored(score, {"value": measured, "points": json.dumps(points, separators=(",", ":"))})

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the points and the value of a candidate as ``points.json``."""
        content = {"points": _read_points(discovery), "value": discovery.details["value"]}
        return {"points.json": (json.dumps(content, indent=1) + "\n").encode()}

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's points as ``points.png``."""
        points = _read_points(discovery)
        return {"points.png": draw_points(self._problem.draw, points, self._caption(discovery))}

    def verify(self, discovery: Discovery) -> Verified:
        """Return the exact value that the problem's independent verifier (`Problem.verify`) finds for the points.

        Raises:
            ServiceError: The logged value is different, or the points are invalid.
        """
        try:
            exact = self._problem.verify(_read_points(discovery))
        except ValueError as error:
            raise _broken(discovery, str(error)) from error
        if self._round(exact) != discovery.details["value"]:
            raise _broken(discovery, f"it is {float(exact)!r}")
        problem = self._problem
        best_known = problem.best_known.get(self._n)
        return Verified(problem.quantity, exact, problem.how, best_known, problem.is_larger_better)

    def _round(self, exact: Fraction) -> float:
        return round_down(exact) if self._problem.is_larger_better else round_up(exact)

    def _caption(self, discovery: Discovery) -> list[str]:
        verified = self.verify(discovery)
        pool = "" if discovery.pool is None else f", pool {discovery.pool}"
        lines = [
            self._problem.title.format(n=self._n),
            f"{self._problem.quantity}\t{float(verified.value):.10g}",
        ]
        if verified.best_known is not None and verified.behind is not None:
            is_even = abs(verified.behind) <= verified.best_known.unit
            comparison = "\tmatched" if is_even else f"\tbehind by\t{float(verified.behind):.3g}"
            lines.append(f"best known\t{verified.best_known.value}{comparison}")
        return [*lines, f"iteration {discovery.iteration}{pool}, call {discovery.candidate.call}"]


def load_seed(problem: Problem, n: int) -> str:
    """Return the source of the program that a search for ``n`` points starts from."""
    return problem.seed.read_text(encoding="utf-8").replace(f"\nN = {problem.n}\n", f"\nN = {n}\n")


def _read_points(discovery: Discovery) -> Points:
    """Return a candidate's points from the log."""
    points: list[list[float]] = json.loads(str(discovery.details["points"]))
    return points


def _broken(discovery: Discovery, why: str) -> ServiceError:
    return ServiceError(
        f"the value of call {discovery.candidate.call} differs from the logged one ({why}); {PLEASE_REPORT}"
    )
