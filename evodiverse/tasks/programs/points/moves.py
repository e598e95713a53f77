"""The places where moves make sense in programs that place points."""

from typing import Final

from evodiverse.tasks.programs.operators.moves import Place

_POINTS: Final = frozenset({"points"})

POINTS: Final = Place(_POINTS, own=_POINTS, whole=_POINTS)
"""Any place after the array ``points`` is assigned, in the function that assigns it."""
