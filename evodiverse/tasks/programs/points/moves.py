"""The places where a mutation may insert a move (statements with random parameters) into programs that place points."""

from typing import Final

from evodiverse.tasks.programs.operators.moves import Place

_POINTS: Final = frozenset({"points"})

POINTS: Final = Place(_POINTS, own=_POINTS, whole=_POINTS)
"""Any place in the function that assigns the array ``points``, after it is assigned and after the last ``+=`` to it."""
