"""A small grammar of statements that place circles and improve their places, as further mutations of packing programs.

A move is a few statements of elementary arithmetic with random parameters. It knows the arrays ``centers`` and
``radii`` by these names and nothing of good packings: it draws a layout from wide ranges, or takes a few small steps
from wherever the program has got to. Which moves a program makes, in which order and with which numbers, is for the
search to find out; what they are worth the scorer alone says.
"""

import ast
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache, partial
from string import Template
from typing import Final, NamedTuple

import numpy as np

from evodiverse.tasks.programs.operators.mutation import Grammar
from evodiverse.tasks.programs.operators.names import binds, module_names, parameters
from evodiverse.tasks.programs.operators.syntax import Function, Path, parts_of, replace


class Phase(StrEnum):
    """What a move changes, and so where it belongs.

    CENTERS moves come after the centers are made and before the radii are; the others after the radii are made. RADII
    moves leave the centers alone, so they fit into a function that is given them, too.
    """

    CENTERS = "centers"
    RADII = "radii"
    BOTH = "both"


class Draw(NamedTuple):
    """How a parameter is drawn between two bounds: ``whole``, both included, or ``real``, or ``log``-uniform."""

    kind: str
    low: float
    high: float

    def text(self, rng: np.random.Generator) -> str:
        """Return a drawn value, of three significant digits if it is not whole."""
        if self.kind == "whole":
            return str(rng.integers(int(self.low), int(self.high) + 1))
        share = rng.random()
        is_log = self.kind == "log"
        value = self.low * (self.high / self.low) ** share if is_log else self.low + share * (self.high - self.low)
        return repr(float(f"{value:.3g}"))


class Move(NamedTuple):
    """Statements with parameters, ``$NAME``, and how these are drawn; how often the move is made, among the others."""

    phase: Phase
    weight: float
    template: str
    draws: Mapping[str, Draw]


def _move(phase: Phase, weight: float, draws: str, template: str) -> Move:
    """Return a move; ``draws`` has ``NAME=low..high``, for whole numbers if both are, or ``NAME=low~high`` for log."""
    named = dict(draw.split("=") for draw in draws.split())
    return Move(phase, weight, template.strip("\n"), {name: _read_draw(bounds) for name, bounds in named.items()})


def _read_draw(bounds: str) -> Draw:
    low, sign, high = re.split(r"(~|\.\.)", bounds)
    kind = "log" if sign == "~" else "real" if "." in low else "whole"
    return Draw(kind, float(low), float(high))


MOVES: Final[dict[str, Move]] = {
    "rows": _move(
        Phase.CENTERS,
        0.7,
        "ROWS=3..7 SHIFT=0.0..0.6 LEFT=0.04..0.2 WIDTH=0.6..0.9 BOTTOM=0.04..0.2 HEIGHT=0.6..0.9",
        """
row = np.arange(len(centers)) * $ROWS // len(centers)
column = np.arange(len(centers)) - np.searchsorted(row, row) + $SHIFT * (row % 2)
spots = np.stack([$LEFT + $WIDTH * column / column.max(), $BOTTOM + $HEIGHT * row / row.max()], axis=1)
centers = np.clip(spots, 0.02, 0.98)
""",
    ),
    "rings": _move(
        Phase.CENTERS,
        0.7,
        "FIRST=1..5 SECOND=6..14 TURN=0.0..1.5 SIZE=0.35..0.6",
        """
ring = np.searchsorted([$FIRST, $SECOND], np.arange(len(centers)), side='right')
angle = $TURN * ring + 2 * np.pi * np.arange(len(centers)) / np.bincount(ring)[ring]
spots = 0.5 + $SIZE * ring[:, None] / ring.max() * np.stack([np.cos(angle), np.sin(angle)], axis=1)
centers = np.clip(spots, 0.02, 0.98)
""",
    ),
    "line": _move(
        Phase.CENTERS,
        0.4,
        "COUNT=3..7 START=0..25 X=0.05..0.3 RIGHT=0.1..0.2 Y=0.05..0.95 UP=-0.05..0.05",
        """
for step in range($COUNT):
    spot = [$X + $RIGHT * step, $Y + $UP * step]
    centers[($START + step) % len(centers)] = np.clip(spot, 0.02, 0.98)
""",
    ),
    "corners": _move(
        Phase.CENTERS,
        0.5,
        "INSET=0.04..0.15",
        """
for corner in [[$INSET, $INSET], [$INSET, 1 - $INSET], [1 - $INSET, $INSET], [1 - $INSET, 1 - $INSET]]:
    centers[np.argmin(np.abs(centers - corner).sum(axis=1))] = corner
""",
    ),
    "scale": _move(
        Phase.CENTERS,
        0.7,
        "FACTOR=0.8..1.6",
        "centers = np.clip(0.5 + $FACTOR * (centers - 0.5), 0.02, 0.98)",
    ),
    "walls": _move(
        Phase.CENTERS,
        0.7,
        "INSET=0.05..0.13 NEAR=0.08..0.25",
        """
centers = np.where(centers < $NEAR, $INSET, centers)
centers = np.where(centers > 1 - $NEAR, 1 - $INSET, centers)
""",
    ),
    "jitter": _move(
        Phase.CENTERS,
        1.0,
        "SEED=0..999 SIZE=0.003~0.1",
        "centers = np.clip(centers + np.random.default_rng($SEED).normal(0, $SIZE, centers.shape), 0.02, 0.98)",
    ),
    "repel": _move(
        Phase.CENTERS,
        1.3,
        "STEPS=5..20 RANGE=0.03~0.2 SIZE=0.005~0.05 INSET=0.04..0.12",
        """
for step in range($STEPS):
    gaps = centers[:, None] - centers[None]
    distances = np.sqrt((gaps ** 2).sum(axis=2)) + 1e-06
    force = (gaps / distances[:, :, None] * np.exp(-distances / $RANGE)[:, :, None]).sum(axis=1)
    centers = np.clip(centers + $SIZE * force, $INSET, 1 - $INSET)
""",
    ),
    "spread": _move(
        Phase.CENTERS,
        1.3,
        "STEPS=5..20 REACH=0.13..0.24 PUSH=0.05..0.25 INSET=0.05..0.12",
        """
for step in range($STEPS):
    gaps = centers[:, None] - centers[None]
    distances = np.sqrt((gaps ** 2).sum(axis=2)) + 1e-06
    short = np.maximum($REACH - distances, 0) / distances
    centers = np.clip(centers + $PUSH * (gaps * short[:, :, None]).sum(axis=1), $INSET, 1 - $INSET)
""",
    ),
    "press": _move(
        Phase.CENTERS,
        1.3,
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
    "grow": _move(
        Phase.RADII,
        1.0,
        "SIGN=-1..1",
        """
for i in np.argsort($SIGN * radii, kind='stable'):
    room = np.sqrt(((centers - centers[i]) ** 2).sum(axis=1)) - radii
    room[i] = min(centers[i].min(), 1 - centers[i].max())
    radii[i] = max(room.min(), 0)
""",
    ),
    "swell": _move(
        Phase.RADII,
        1.0,
        "STEPS=2..8 SHARE=0.3..1.0",
        """
for step in range($STEPS):
    room = np.sqrt(((centers[:, None] - centers[None]) ** 2).sum(axis=2)) + 9 * np.eye(len(centers))
    slack = (room - radii[:, None] - radii).min(axis=1) / 2
    radii = np.maximum(radii + $SHARE * np.minimum(slack, np.minimum(centers, 1 - centers).min(axis=1) - radii), 0)
""",
    ),
    "trade": _move(
        Phase.RADII,
        1.0,
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
    "walk": _move(
        Phase.BOTH,
        1.5,
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
    "lean": _move(
        Phase.BOTH,
        1.0,
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
    "hop": _move(
        Phase.BOTH,
        1.0,
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
}


def places_for(function: Function, phase: Phase) -> list[int]:
    """Return the positions in a function's body at which a move of this phase makes sense, in rising order."""
    bound = parameters(function)
    if "centers" in bound and phase is not Phase.RADII:
        return []
    wanted = {"centers"} if phase is Phase.CENTERS else {"centers", "radii"}
    places: list[int] = []
    for position, statement in enumerate(function.body):
        if {"centers", "radii"} & bound == wanted:
            places.append(position)
        if _adds_to_centers(statement):
            places.clear()
        if isinstance(statement, ast.Return):
            break
        bound |= binds(statement)
    return places


@lru_cache(maxsize=4096)
def _adds_to_centers(statement: ast.stmt) -> bool:
    """Say whether a statement makes centers bit by bit, which no move does: what comes before would move them all."""
    targets = [part.node.target for part in parts_of(statement) if isinstance(part.node, ast.AugAssign)]
    return any(isinstance(node, ast.Name) and node.id == "centers" for one in targets for node in ast.walk(one))


def make_statements(move: Move, rng: np.random.Generator) -> list[ast.stmt]:
    """Return a move's statements with parameters drawn for them."""
    values = {name: draw.text(rng) for name, draw in move.draws.items()}
    return ast.parse(Template(move.template).substitute(values)).body


def insert_move(tree: ast.Module, rng: np.random.Generator, *, name: str) -> ast.Module | None:
    """Insert a move where it makes sense, half of the time as late as it does, a quarter one statement before."""
    move = MOVES[name]
    choices: list[tuple[Path, list[ast.stmt], list[int]]] = [
        (("body", index, "body"), function.body, places)
        for index, function in enumerate(tree.body)
        if isinstance(function, ast.FunctionDef) and (places := places_for(function, move.phase))
    ]
    if not choices or "np" not in module_names(tree):
        return None
    path, block, places = choices[rng.integers(len(choices))]
    place = places[max(len(places) - int(rng.geometric(0.5)), 0)]
    return replace(tree, path, [*block[:place], *make_statements(move, rng), *block[place:]])


def packing_moves() -> Grammar:
    """Return the grammar of circle packing. The number of circles is the task's, so ``N`` stays."""
    return Grammar(
        edits={name: partial(insert_move, name=name) for name in MOVES},
        weights={name: move.weight for name, move in MOVES.items()},
        fixed=frozenset({"N"}),
    )
