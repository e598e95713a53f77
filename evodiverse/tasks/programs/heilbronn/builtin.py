"""The built-in task of Heilbronn's problem in a triangle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evodiverse.tasks.programs.heilbronn.moves import heilbronn_moves
from evodiverse.tasks.programs.heilbronn.picture import draw_triangles
from evodiverse.tasks.programs.heilbronn.triangles import measure_share
from evodiverse.tasks.programs.heilbronn.verifier import find_smallest_share
from evodiverse.tasks.programs.points.builtin import build
from evodiverse.tasks.programs.points.problem import Problem
from evodiverse.tasks.programs.prompts import describe_heilbronn
from evodiverse.tasks.programs.verified import BestKnown

BEST_KNOWN: Final[Mapping[int, BestKnown]] = {
    11: BestKnown("0.03652988988", "AlphaEvolve's report (2025), the points published with it")
}
"""The largest known values by the number of points: the smallest triangle's share of the whole triangle's area."""

PROBLEM: Final = Problem(
    task="heilbronn",
    title="{n} points in a triangle, and the smallest triangles that they form",
    quantity="smallest share of the triangle's area",
    n=11,
    reference=0.0365299,
    fewest=3,
    most=40,
    is_larger_better=True,
    best_known=BEST_KNOWN,
    seed=Path(__file__).with_name("seed.py"),
    measure=measure_share,
    verify=find_smallest_share,
    how="all triangles, as determinants of barycentric coordinates, in rational arithmetic",
    draw=draw_triangles,
    describe=describe_heilbronn,
)

HEILBRONN: Final = build(PROBLEM, heilbronn_moves)
