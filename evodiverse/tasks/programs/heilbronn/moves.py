"""A small grammar of statements that place points in a triangle, used as additional mutations of programs.

A move expects the array ``points`` under this name and knows nothing about good placements. It lays out the points from
scratch, takes a step from the current placement, or polishes the placement to a local optimum with the building blocks
(`evodiverse.tasks.programs.heilbronn.blocks`). Only the score decides what a move is worth.
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
        "scatter": move(
            POINTS,
            0.3,
            "SEED=0..9999",
            "points = lay_anywhere(np.random.default_rng($SEED), len(points))",
        ),
        "turn": move(
            POINTS,
            0.3,
            "SEED=0..9999",
            "points = lay_turned(np.random.default_rng($SEED), len(points))",
        ),
        "mirror": move(
            POINTS,
            0.3,
            "SEED=0..9999",
            "points = lay_mirrored(np.random.default_rng($SEED), len(points))",
        ),
        "rings": move(
            POINTS,
            0.3,
            "INNER=1..5 FIRST=0.0..1.0 SECOND=0.0..1.0 SMALL=0.1..0.7 LARGE=0.7..1.0",
            """
ring = (np.arange(len(points)) >= $INNER) * 1
place = np.arange(len(points)) / np.bincount(ring)[ring]
place = (3 * place + np.array([$FIRST, $SECOND])[ring])[:, None] % 3
edges = np.maximum(0, 1 - np.abs((place - np.arange(3) + 1.5) % 3 - 1.5))
points = inside((1 / 3 + np.array([$SMALL, $LARGE])[ring][:, None] * (edges - 1 / 3))[:, :2])
""",
        ),
        "jitter": move(
            POINTS,
            0.4,
            "SEED=0..9999 SIZE=0.003~0.1",
            "points = inside(points + np.random.default_rng($SEED).normal(0, $SIZE, points.shape))",
        ),
        "widen": move(
            POINTS,
            0.3,
            "FACTOR=0.8..1.5",
            "points = inside(1 / 3 + $FACTOR * (points - 1 / 3))",
        ),
        "walk": move(
            POINTS,
            0.5,
            "SEED=0..9999 TRIES=40..150 SIZE=0.003~0.1",
            """
rng = np.random.default_rng($SEED)
for reach in np.linspace($SIZE, 0, $TRIES):
    trial = points.copy()
    trial[rng.integers(len(points))] += rng.normal(0, reach, 2)
    trial = inside(trial)
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "polish": move(POINTS, 1.0, "", "points = polish(points)"),
        "settle": move(POINTS, 1.0, "WIDTH=0.005~0.03", "points = polish(soften(points, $WIDTH))"),
        "scattered_layouts": move(
            POINTS,
            0.7,
            "SEED=0..9999 TRIES=3..12 WIDTH=0.01~0.03",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    trial = polish(soften(lay_anywhere(rng, len(points)), $WIDTH))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "turned_layouts": move(
            POINTS,
            1.0,
            "SEED=0..9999 TRIES=3..12 SIZE=0.003~0.1 WIDTH=0.01~0.03",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = lay_turned(rng, len(points)) + rng.normal(0, $SIZE, points.shape)
    trial = polish(soften(inside(spots), $WIDTH))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "mirrored_layouts": move(
            POINTS,
            1.0,
            "SEED=0..9999 TRIES=3..12 SIZE=0.003~0.1 WIDTH=0.01~0.03",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = lay_mirrored(rng, len(points)) + rng.normal(0, $SIZE, points.shape)
    trial = polish(soften(inside(spots), $WIDTH))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "shake": move(
            POINTS,
            2.0,
            "SEED=0..9999 TRIES=2..8 SIZE=0.005~0.1 WIDTH=0.005~0.03",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    trial = polish(soften(inside(points + rng.normal(0, $SIZE, points.shape)), $WIDTH))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "stir": move(
            POINTS,
            2.0,
            "SEED=0..9999 TRIES=2..8 SIZE=0.01~0.3 REACH=0.1..0.5 WIDTH=0.005~0.03",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    near = ((points - points[rng.integers(len(points))]) ** 2).sum(axis=1) < $REACH ** 2
    spots = inside(points + near[:, None] * rng.normal(0, $SIZE, points.shape))
    trial = polish(soften(spots, $WIDTH))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
        "replant": move(
            POINTS,
            1.5,
            "SEED=0..9999 TRIES=2..8 COUNT=1..3 WIDTH=0.005~0.03",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = points.copy()
    spots[rng.integers(len(points), size=$COUNT)] = lay_anywhere(rng, $COUNT)
    trial = polish(soften(spots, $WIDTH))
    if quality(trial) > quality(points):
        points = trial
""",
        ),
    }
)


def heilbronn_moves() -> Grammar:
    """Return the moves for programs that solve Heilbronn's problem.

    The task sets the number of points, so mutations must not change the constant ``N``.
    """
    return grammar(MOVES, parse_file(BLOCKS), frozenset({"N"}))
