"""A small grammar of statements that place circles or improve placements: additional mutations of packing programs.

Moves need a program that names its array of centers ``centers``; many also need its array of radii to be named
``radii``. A move knows nothing about good packings. It draws a layout from wide ranges, takes a few small steps from
the current placement, or polishes the placement to a local optimum with the building blocks
(`evodiverse.tasks.programs.circle_packing.blocks`). Only the score decides what a move is worth.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from evodiverse.kit.python import parse_file
from evodiverse.tasks.programs.operators.moves import Move, Place, grammar, move
from evodiverse.tasks.programs.operators.mutation import Grammar

BLOCKS: Final = Path(__file__).with_name("blocks.py")
"""The file of the building blocks, the functions that moves can call."""

_CENTERS: Final = frozenset({"centers"})
_BOTH: Final = frozenset({"centers", "radii"})

CENTERS: Final = Place(_CENTERS, unbound=frozenset({"radii"}), own=_CENTERS, whole=_CENTERS)
"""Any place after the centers are assigned and before the radii are, in the function that assigns the centers.

Here and below, the place must also come after the last ``+=`` to the centers.
"""

RADII: Final = Place(_BOTH, whole=_CENTERS)
"""Any place after the centers and radii are assigned. The moves with this place do not change the centers, which may
therefore be a parameter."""

BOTH: Final = Place(_BOTH, own=_CENTERS, whole=_CENTERS)
"""Any place after the centers and radii are assigned, in the function that assigns the centers."""

MOVES: Final[Mapping[str, Move]] = MappingProxyType(
    {
        "rows": move(
            CENTERS,
            0.21,
            "ROWS=3..7 SHIFT=0.0..0.6 LEFT=0.04..0.2 WIDTH=0.6..0.9 BOTTOM=0.04..0.2 HEIGHT=0.6..0.9",
            """
row = np.arange(len(centers)) * $ROWS // len(centers)
column = np.arange(len(centers)) - np.searchsorted(row, row) + $SHIFT * (row % 2)
spots = np.stack([$LEFT + $WIDTH * column / column.max(), $BOTTOM + $HEIGHT * row / row.max()], axis=1)
centers = np.clip(spots, 0.02, 0.98)
""",
        ),
        "rings": move(
            CENTERS,
            0.21,
            "FIRST=1..5 SECOND=6..14 TURN=0.0..1.5 SIZE=0.35..0.6",
            """
ring = np.searchsorted([$FIRST, $SECOND], np.arange(len(centers)), side='right')
angle = $TURN * ring + 2 * np.pi * np.arange(len(centers)) / np.bincount(ring)[ring]
spots = 0.5 + $SIZE * ring[:, None] / ring.max() * np.stack([np.cos(angle), np.sin(angle)], axis=1)
centers = np.clip(spots, 0.02, 0.98)
""",
        ),
        "line": move(
            CENTERS,
            0.12,
            "COUNT=3..7 START=0..25 X=0.05..0.3 RIGHT=0.1..0.2 Y=0.05..0.95 UP=-0.05..0.05",
            """
for step in range($COUNT):
    spot = [$X + $RIGHT * step, $Y + $UP * step]
    centers[($START + step) % len(centers)] = np.clip(spot, 0.02, 0.98)
""",
        ),
        "corners": move(
            CENTERS,
            0.15,
            "INSET=0.04..0.15",
            """
for corner in [[$INSET, $INSET], [$INSET, 1 - $INSET], [1 - $INSET, $INSET], [1 - $INSET, 1 - $INSET]]:
    centers[np.argmin(np.abs(centers - corner).sum(axis=1))] = corner
""",
        ),
        "scale": move(
            CENTERS,
            0.21,
            "FACTOR=0.8..1.6",
            "centers = np.clip(0.5 + $FACTOR * (centers - 0.5), 0.02, 0.98)",
        ),
        "walls": move(
            CENTERS,
            0.21,
            "INSET=0.05..0.13 NEAR=0.08..0.25",
            """
centers = np.where(centers < $NEAR, $INSET, centers)
centers = np.where(centers > 1 - $NEAR, 1 - $INSET, centers)
""",
        ),
        "jitter": move(
            CENTERS,
            0.3,
            "SEED=0..999 SIZE=0.003~0.1",
            "centers = np.clip(centers + np.random.default_rng($SEED).normal(0, $SIZE, centers.shape), 0.02, 0.98)",
        ),
        "repel": move(
            CENTERS,
            0.39,
            "STEPS=5..20 RANGE=0.03~0.2 SIZE=0.005~0.05 INSET=0.04..0.12",
            """
for step in range($STEPS):
    gaps = centers[:, None] - centers[None]
    distances = np.sqrt((gaps ** 2).sum(axis=2)) + 1e-06
    force = (gaps / distances[:, :, None] * np.exp(-distances / $RANGE)[:, :, None]).sum(axis=1)
    centers = np.clip(centers + $SIZE * force, $INSET, 1 - $INSET)
""",
        ),
        "spread": move(
            CENTERS,
            0.39,
            "STEPS=5..20 REACH=0.13..0.24 PUSH=0.05..0.25 INSET=0.05..0.12",
            """
for step in range($STEPS):
    gaps = centers[:, None] - centers[None]
    distances = np.sqrt((gaps ** 2).sum(axis=2)) + 1e-06
    short = np.maximum($REACH - distances, 0) / distances
    centers = np.clip(centers + $PUSH * (gaps * short[:, :, None]).sum(axis=1), $INSET, 1 - $INSET)
""",
        ),
        "press": move(
            CENTERS,
            0.39,
            "SIZE=0.03..0.1 STEPS=12..40 PUSH=0.1..0.5 GROWTH=0.002~0.02 YIELD=0.05..0.3",
            """
sizes = np.full(len(centers), $SIZE)
for growth in np.linspace($GROWTH, 0, $STEPS):
    gaps = centers[:, None] - centers[None]
    distances = np.sqrt((gaps ** 2).sum(axis=2)) + 1e-06 + np.eye(len(centers))
    overlaps = np.maximum(sizes[:, None] + sizes - distances, 0)
    centers = centers + $PUSH * (gaps / distances[:, :, None] * overlaps[:, :, None]).sum(axis=1)
    sizes = np.clip(sizes + growth - $YIELD * overlaps.sum(axis=1), 0.01, 0.3)
    centers = np.clip(centers, sizes[:, None], 1 - sizes[:, None])
""",
        ),
        "grow": move(
            RADII,
            0.3,
            "SIGN=-1..1",
            """
for i in np.argsort($SIGN * radii, kind='stable'):
    room = np.sqrt(((centers - centers[i]) ** 2).sum(axis=1)) - radii
    room[i] = min(centers[i].min(), 1 - centers[i].max())
    radii[i] = max(room.min(), 0)
""",
        ),
        "swell": move(
            RADII,
            0.3,
            "STEPS=2..8 SHARE=0.3..1.0",
            """
for step in range($STEPS):
    room = np.sqrt(((centers[:, None] - centers[None]) ** 2).sum(axis=2)) + 9 * np.eye(len(centers))
    slack = (room - radii[:, None] - radii).min(axis=1) / 2
    radii = np.maximum(radii + $SHARE * np.minimum(slack, np.minimum(centers, 1 - centers).min(axis=1) - radii), 0)
""",
        ),
        "trade": move(
            RADII,
            0.3,
            "SEED=0..999 TRIES=3..12 FACTOR=0.6..0.95",
            """
rng = np.random.default_rng($SEED)
for attempt in range($TRIES):
    trial = radii.copy()
    trial[rng.integers(len(trial))] *= $FACTOR
    for i in rng.permutation(len(trial)):
        room = np.sqrt(((centers - centers[i]) ** 2).sum(axis=1)) - trial
        room[i] = min(centers[i].min(), 1 - centers[i].max())
        trial[i] = room.min()
    if trial.min() > 0 and trial.sum() > radii.sum():
        radii = trial
""",
        ),
        "walk": move(
            BOTH,
            0.45,
            "SEED=0..999 TRIES=40..150 SIZE=0.003~0.05",
            """
rng = np.random.default_rng($SEED)
for reach in np.linspace($SIZE, 0, $TRIES):
    i = rng.integers(len(centers))
    spot = np.clip(centers[i] + rng.normal(0, reach, 2), 0, 1)
    room = np.sqrt(((centers - spot) ** 2).sum(axis=1)) - radii
    room[i] = min(spot.min(), 1 - spot.max())
    if room.min() > radii[i]:
        centers[i] = spot
        radii[i] = room.min()
""",
        ),
        "lean": move(
            BOTH,
            0.3,
            "SIGN=-1..1 SIZE=0.02~0.5",
            """
for i in np.argsort($SIGN * radii, kind='stable'):
    room = np.sqrt(((centers - centers[i]) ** 2).sum(axis=1)) - radii
    room[i] = 1
    spot = np.clip(centers[i] + $SIZE * (centers[i] - centers[room.argmin()]), 0, 1)
    room = np.sqrt(((centers - spot) ** 2).sum(axis=1)) - radii
    room[i] = min(spot.min(), 1 - spot.max())
    if room.min() > radii[i]:
        centers[i] = spot
        radii[i] = room.min()
""",
        ),
        "hop": move(
            BOTH,
            0.3,
            "SEED=0..999 TRIES=1..3 SPOTS=20..100",
            """
rng = np.random.default_rng($SEED)
for attempt in range($TRIES):
    spots = rng.random(($SPOTS, 2))
    room = np.sqrt(((spots[:, None] - centers) ** 2).sum(axis=2)) - radii
    room[:, radii.argmin()] = np.minimum(spots, 1 - spots).min(axis=1)
    if room.min(axis=1).max() > radii.min():
        centers[radii.argmin()] = spots[room.min(axis=1).argmax()]
        radii[radii.argmin()] = room.min(axis=1).max()
""",
        ),
        "polish": move(BOTH, 1.0, "", "centers, radii = polish(centers, radii)"),
        "settle": move(
            BOTH, 1.0, "STIFFNESS=0.25..0.5", "centers, radii = polish(*soften(centers, radii, $STIFFNESS))"
        ),
        "fit": move(RADII, 0.3, "", "radii = fit_radii(centers)"),
        "layouts": move(
            BOTH,
            1.5,
            "SEED=0..9999 TRIES=2..8 SIZE=0.003~0.1 STIFFNESS=0.25..0.5",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = lay_rows(rng, len(centers)) + rng.normal(0, $SIZE, centers.shape)
    trial = polish(*soften(np.clip(spots, 0.02, 0.98), 0 * radii + 0.06, $STIFFNESS))
    if trial[1].sum() > radii.sum():
        centers, radii = trial
""",
        ),
        "round_layouts": move(
            BOTH,
            0.5,
            "SEED=0..9999 TRIES=2..8 SIZE=0.003~0.1 STIFFNESS=0.25..0.5",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = lay_rings(rng, len(centers)) + rng.normal(0, $SIZE, centers.shape)
    trial = polish(*soften(np.clip(spots, 0.02, 0.98), 0 * radii + 0.06, $STIFFNESS))
    if trial[1].sum() > radii.sum():
        centers, radii = trial
""",
        ),
        "mixed_layouts": move(
            BOTH,
            0.5,
            "SEED=0..9999 TRIES=2..8 SIZE=0.003~0.1 CUT=0.2..0.8 STIFFNESS=0.25..0.5",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    low, high = lay_rows(rng, len(centers)), lay_rows(rng, len(centers))
    spots = np.where(low[:, 1:] < $CUT, low, high) + rng.normal(0, $SIZE, centers.shape)
    trial = polish(*soften(np.clip(spots, 0.02, 0.98), 0 * radii + 0.06, $STIFFNESS))
    if trial[1].sum() > radii.sum():
        centers, radii = trial
""",
        ),
        "turned_layouts": move(
            BOTH,
            0.5,
            "SEED=0..9999 TRIES=2..8 SIZE=0.003~0.1 STIFFNESS=0.25..0.5",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = lay_rows(rng, len(centers)) + rng.normal(0, $SIZE, centers.shape)
    spots[-(len(spots) // 2):] = 1 - spots[:len(spots) // 2]
    trial = polish(*soften(np.clip(spots, 0.02, 0.98), 0 * radii + 0.06, $STIFFNESS))
    if trial[1].sum() > radii.sum():
        centers, radii = trial
""",
        ),
        "mirrored_layouts": move(
            BOTH,
            0.5,
            "SEED=0..9999 TRIES=2..8 SIZE=0.003~0.1 STIFFNESS=0.25..0.5",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = lay_rows(rng, len(centers)) + rng.normal(0, $SIZE, centers.shape)
    spots = spots[np.argsort(spots[:, 0] - spots[:, 1])]
    spots[-(len(spots) // 2):] = spots[:len(spots) // 2, ::-1]
    spots = np.clip(spots + rng.normal(0, 0.001, spots.shape), 0.02, 0.98)
    trial = polish(*soften(spots, 0 * radii + 0.06, $STIFFNESS))
    if trial[1].sum() > radii.sum():
        centers, radii = trial
""",
        ),
        "shake": move(
            BOTH,
            1.5,
            "SEED=0..9999 TRIES=1..6 SIZE=0.01~0.15 SHARE=0.3..1.1 STIFFNESS=0.25..0.5",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots = centers + rng.normal(0, $SIZE, centers.shape)
    trial = polish(*soften(np.clip(spots, 0.02, 0.98), $SHARE * radii, $STIFFNESS))
    if trial[1].sum() > radii.sum():
        centers, radii = trial
""",
        ),
        "stir": move(
            BOTH,
            3.0,
            "SEED=0..9999 TRIES=1..6 SIZE=0.03~0.3 REACH=0.15..0.5 SHARE=0.3..1.1 STIFFNESS=0.25..0.5",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    near = ((centers - rng.random(2)) ** 2).sum(axis=1) < $REACH ** 2
    spots = centers + near[:, None] * rng.normal(0, $SIZE, centers.shape)
    trial = polish(*soften(np.clip(spots, 0.02, 0.98), $SHARE * radii, $STIFFNESS))
    if trial[1].sum() > radii.sum():
        centers, radii = trial
""",
        ),
        "replant": move(
            BOTH,
            1.5,
            "SEED=0..9999 TRIES=1..6 COUNT=1..3 SHARE=0.3..1.1 STIFFNESS=0.25..0.5",
            """
rng = np.random.default_rng($SEED)
for _ in range($TRIES):
    spots, sizes = centers.copy(), $SHARE * radii
    for i in rng.integers(len(centers), size=$COUNT):
        spots[i], sizes[i] = rng.uniform(0.05, 0.95, 2), 0.06
    trial = polish(*soften(spots, sizes, $STIFFNESS))
    if trial[1].sum() > radii.sum():
        centers, radii = trial
""",
        ),
    }
)


def packing_moves() -> Grammar:
    """Return additional mutations for programs that pack circles.

    Each of them inserts statements with random parameters into a program (see `Move`). The task sets the number of
    circles, so mutations must not change the constant ``N``.
    """
    return grammar(MOVES, parse_file(BLOCKS), frozenset({"N"}))
