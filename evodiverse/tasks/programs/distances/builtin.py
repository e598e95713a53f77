"""The built-in task that places points so that their distances differ as little as possible."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evodiverse.tasks.programs.distances.moves import distances_moves
from evodiverse.tasks.programs.distances.picture import draw_distances
from evodiverse.tasks.programs.distances.ratio import measure_ratio
from evodiverse.tasks.programs.distances.verifier import find_squared_ratio
from evodiverse.tasks.programs.points.builtin import build
from evodiverse.tasks.programs.points.problem import Problem
from evodiverse.tasks.programs.prompts import describe_distances
from evodiverse.tasks.programs.verified import BestKnown

BEST_KNOWN: Final[Mapping[int, BestKnown]] = {
    16: BestKnown("12.88923", "CodeEvolve's report (2025) and others; AlphaEvolve's has 12.88927")
}
"""The smallest known squared ratios of the largest to the smallest distance, by the number of points."""

PROBLEM: Final = Problem(
    task="distances",
    title="{n} points in the plane, their shortest and their longest distances",
    quantity="squared ratio of the largest to the smallest distance",
    n=16,
    reference=12.88923,
    fewest=2,
    most=100,
    is_larger_better=False,
    best_known=BEST_KNOWN,
    seed=Path(__file__).with_name("seed.py"),
    measure=measure_ratio,
    verify=find_squared_ratio,
    how="all pairs of points, one after the other, in rational arithmetic",
    draw=draw_distances,
    describe=describe_distances,
)

DISTANCES: Final = build(PROBLEM, distances_moves)
