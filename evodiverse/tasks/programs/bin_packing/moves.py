"""A small grammar of terms that change a rule's priorities, used as additional mutations of bin-packing programs.

A move expects the names ``item``, ``spaces`` and ``values`` (the priorities) and knows nothing about good rules. It
adds to ``values`` a term that depends on ``item`` and ``spaces``, of a form common in rules of thumb, with numbers
drawn from wide ranges.
"""

import ast
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from evodiverse.tasks.programs.operators.moves import Move, Place, grammar, move
from evodiverse.tasks.programs.operators.mutation import Grammar

VALUES: Final = Place(frozenset({"item", "spaces", "values"}), own=frozenset({"values"}))
"""Any place after the priorities, ``values``, are assigned, in the function that assigns them."""

MOVES: Final[Mapping[str, Move]] = MappingProxyType(
    {
        "step": move(
            VALUES,
            2.0,
            "SIZE=-50.0..50.0 FROM=0..30 WIDTH=1..30",
            "values = values + $SIZE * ((spaces - item >= $FROM) & (spaces - item < $FROM + $WIDTH))",
        ),
        "bump": move(
            VALUES,
            1.0,
            "SIZE=-50.0..50.0 AT=0..60 WIDTH=1.0~30.0",
            "values = values + $SIZE * np.exp(-((spaces - item - $AT) / $WIDTH) ** 2)",
        ),
        "power": move(
            VALUES,
            1.0,
            "SIZE=-5.0..5.0 POWER=0.2~3.0",
            "values = values + $SIZE * (spaces - item) ** $POWER",
        ),
        "ratio": move(
            VALUES,
            1.0,
            "SIZE=-20.0..20.0 POWER=0.2~3.0",
            "values = values + $SIZE * (spaces / item) ** $POWER",
        ),
        "kinds": move(
            VALUES,
            1.0,
            "SIZE=-50.0..50.0 SMALL=10..70 FROM=0..30",
            "values = values + $SIZE * (item < $SMALL) * (spaces - item < $FROM)",
        ),
    }
)


def bin_packing_moves() -> Grammar:
    """Return the moves, mutations that each insert a term into the priorities that a bin-packing program computes."""
    return grammar(MOVES, ast.Module([], []), frozenset())
