"""The positions at which a mutation may insert a move into a program that places points.

A move consists of statements with random parameters; see `evodiverse.tasks.programs.operators.moves`.
"""

from typing import Final

from evodiverse.tasks.programs.operators.moves import Place

_POINTS: Final = frozenset({"points"})

POINTS: Final = Place(_POINTS, own=_POINTS, whole=_POINTS)
"""Any place in the function that assigns the array ``points``, after it is assigned and after the last ``+=`` to it."""
