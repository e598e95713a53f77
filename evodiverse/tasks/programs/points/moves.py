"""Where moves belong in programs that place points."""

from typing import Final

from evodiverse.tasks.programs.operators.moves import Place

_POINTS: Final = frozenset({"points"})

POINTS: Final = Place(_POINTS, own=_POINTS, whole=_POINTS)
"""After the points are made, in the function that makes them."""
