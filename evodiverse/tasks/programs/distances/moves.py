"""A small grammar of statements that place points in the plane, used as additional mutations of programs.

Moves need a program that names its array of points ``points``. A move knows nothing about good placements. It lays out
the points from scratch, takes a step from the current placement, or polishes the placement to a local optimum with the
building blocks (`evodiverse.tasks.programs.distances.blocks`). Only the score decides what a move is worth.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from evodiverse.kit.python import parse_file
from evodiverse.tasks.programs.operators.moves import Move, grammar, move
from evodiverse.tasks.programs.operators.mutation import Grammar
from evodiverse.tasks.programs.points.moves import POINTS

BLOCKS: Final = Path(__file__).with_name("blocks.py")
"""The file of the building blocks, the functions that moves can call."""

MOVES: Final[Mapping[str, Move]] = MappingProxyType(
    {
        "scatter": move(POINTS, 0.3, "SEED=0..9999", "points = lay_disk(np.random.default_rng($SEED), len(points))"),
        "rows": move(POINTS, 0.3, "SEED=0..9999", "points = lay_rows(np.random.default_rng($SEED), len(points))"),
        "rings": move(POINTS, 0.3, "SEED=0..9999", "points = lay_rings(np.random.default_rng($SEED), len(points))"),
        "turn": move(POINTS, 0.3, "SEED=0..9999", "points = lay_turned(np.random.default_rng($SEED), len(points))"),
        "jitter": move(
            POINTS,
            0.4,
            "SEED=0..9999 SIZE=0.003~0.1",
            "points = points + np.random.default_rng($SEED).normal(0, $SIZE * np.ptp(points), points.shape)",
        ),
        "spread": move(
            POINTS,
            0.4,
            "STEPS=5..20 SIZE=0.003~0.05",
            """
for step in range($STEPS):
    gaps = points[:, None] - points
    distances = np.sqrt((gaps ** 2).sum(axis=2)) + np.eye(len(points))
    one, other = np.unravel_index((distances + 9 * distances.max() * np.eye(len(points))).argmin(), distances.shape)
    push = $SIZE * distances.max() * gaps[one, other] / distances[one, other]
    points[[one, other]] += np.stack([push, -push])
""",
        ),
        "walk": move(
            POINTS,
            0.5,
            "SEED=0..9999 TRIES=40..150 SIZE=0.003~0.1",
            """
rng = np.random.default_rng($SEED)
for reach in np.linspace($SIZE * np.ptp(points), 0, $TRIES):
    trial = points.copy()
    trial[rng.integers(len(points))] += rng.normal(0, reach, 2)
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "polish": move(POINTS, 1.0, "", "points = polish(points)"),
        "scattered_layouts": move(
            POINTS,
            1.0,
            "SEED=0..9999 TRIES=2..12",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    trial = polish(lay_disk(rng, len(points)))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "row_layouts": move(
            POINTS,
            1.0,
            "SEED=0..9999 TRIES=2..12 SIZE=0.01~0.3",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    trial = polish(lay_rows(rng, len(points)) + rng.normal(0, $SIZE, points.shape))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "round_layouts": move(
            POINTS,
            1.0,
            "SEED=0..9999 TRIES=2..12 SIZE=0.003~0.1",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    trial = polish(lay_rings(rng, len(points)) + rng.normal(0, $SIZE, points.shape))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "turned_layouts": move(
            POINTS,
            1.0,
            "SEED=0..9999 TRIES=2..12 SIZE=0.003~0.1",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    trial = polish(lay_turned(rng, len(points)) + rng.normal(0, $SIZE, points.shape))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "shake": move(
            POINTS,
            1.5,
            "SEED=0..9999 TRIES=2..12 SIZE=0.005~0.1",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    trial = polish(points + rng.normal(0, $SIZE * np.ptp(points), points.shape))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "replant": move(
            POINTS,
            1.5,
            "SEED=0..9999 TRIES=2..12 COUNT=1..3",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = points - points.mean(axis=0)
    spots[rng.integers(len(points), size=$COUNT)] = np.abs(spots).max() * lay_disk(rng, $COUNT)
    trial = polish(spots)
    if quality(trial) > quality(points):
        points = trial
""",
        ),
    }
)


def distances_moves() -> Grammar:
    """Return additional mutations for programs that place points at nearly equal distances.

    Each of them inserts statements with random parameters into a program (see `Move`). The task sets the number of
    points, so mutations must not change the constant ``N``.
    """
    return grammar(MOVES, parse_file(BLOCKS), frozenset({"N"}))
