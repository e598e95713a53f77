"""The evaluator of circle packing, where a program places n circles in the unit square to maximize the sum of radii."""

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from evodiverse.ports import Discovery
from evodiverse.tasks.programs.circle_packing.packing import FloatArray, find_violation, shrink
from evodiverse.tasks.programs.circle_packing.view import Packing, draw_picture, read_packing
from evodiverse.tasks.programs.evaluator import Placing, Scored, Verified, tell_place, to_json
from evodiverse.tasks.programs.settings import MAX_CIRCLES
from evodiverse.vocabulary import Array, Job, OwnColumn, Reason, Rejection, column_types

COLUMNS: Final[Mapping[str, OwnColumn]] = {
    "sum_radii": OwnColumn(
        float,
        "sum of the radii as the program returned them; `score` is this sum divided by `task.reference`",
        "side of the square",
    ),
    "strict_sum": OwnColumn(
        float,
        "sum of the radii after they are reduced until no circles overlap and none crosses a wall, in exact arithmetic",
        "side of the square",
    ),
    "packing": OwnColumn(
        str, "centers and radii as JSON, exact to the last bit, so that a new best value can be verified from the log"
    ),
}
"""The columns of ``evaluations`` that circle packing adds."""


class CirclePacking(Placing):
    """The evaluator of circle packings, whose score is ℓ = Σr / reference (paper, appendix on circle packing).

    Two sums are logged. ``sum_radii`` is the sum of the radii as the program returned them; with these radii, circles
    may cross a wall or overlap within the paper's tolerance. ``strict_sum`` is the sum of the radii after `shrink` has
    lowered them until no circle crosses a wall and no two circles overlap. ``packing`` holds the centers and radii as
    JSON, exact to the last bit, so that both sums can be verified from the log alone.
    """

    entry_point = "construct_packing"
    columns = column_types(COLUMNS)
    quantity = "sum of radii"
    n = 26
    reference = 2.635
    sizes = range(1, MAX_CIRCLES + 1)

    def job(self, source: str) -> Job:
        """Return the sandbox job that asks a program for the centers, the radii and the sum of the radii."""
        returns = (Array((self._n, 2)), Array((self._n,)), Array(()))
        return Job(source, self.entry_point, (), returns, self._limits)

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score of a packing, or the reason why it is invalid.

        Args:
            value: The ``(n, 2)`` centers, the ``(n,)`` radii, and the sum of the radii, which is ignored.
        """
        centers, radii, _ = value
        violation = find_violation(centers, radii)
        if violation is not None:
            return Rejection(Reason.INVALID, violation)
        sums = measure(centers, radii)
        packing = json.dumps({"centers": centers.tolist(), "radii": radii.tolist()}, separators=(",", ":"))
        return Scored(sums["sum_radii"] / self._reference, {**sums, "packing": packing})

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the packing of a candidate as ``packing.json``."""
        packing = json.loads(str(discovery.details["packing"]))
        return {"packing.json": to_json({**packing, **measure(*_read_packing(discovery))})}

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's packing as ``packing.png``."""
        packing = _read_packing(discovery)
        sum_radii, strict_sum = measure(*packing).values()
        lines = [
            f"{self._n} circles in the unit square",
            f"sum of radii\t{sum_radii:.8f}\tscore\t{sum_radii / self._reference:.6f}",
            f"strict sum\t{strict_sum:.8f}\tstrict score\t{strict_sum / self._reference:.6f}",
            tell_place(discovery),
        ]
        return {"packing.png": draw_picture(packing, lines)}

    def verify(self, discovery: Discovery) -> Verified:
        """Return the exact sum of a candidate's radii after `shrink` has lowered them until no circles overlap."""
        return Verified(
            f"{self.quantity}, without any tolerance",
            sum(map(Fraction, shrink(*_read_packing(discovery)).tolist()), Fraction(0)),
            "the logged circles, shrunk until no two overlap and none crosses a wall, in exact arithmetic",
            self._best_known,
        )


def measure(centers: FloatArray, radii: FloatArray) -> dict[str, float]:
    """Return ``sum_radii`` and ``strict_sum``, the sum after `shrink`; each is the exact sum, rounded once.

    Args:
        centers: ``(n, 2)`` centers.
        radii: ``(n,)`` radii.
    """
    return {"sum_radii": math.fsum(radii), "strict_sum": math.fsum(shrink(centers, radii))}


def _read_packing(discovery: Discovery) -> Packing:
    return read_packing(str(discovery.details["packing"]))
