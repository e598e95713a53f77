"""The program tasks that come with EvoDiverse, by their name in ``task.evaluator``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from evodiverse.tasks.programs.bin_packing.builtin import BIN_PACKING
from evodiverse.tasks.programs.builtin import Builtin
from evodiverse.tasks.programs.circle_packing.builtin import CIRCLE_PACKING
from evodiverse.tasks.programs.distances.builtin import DISTANCES
from evodiverse.tasks.programs.heilbronn.builtin import HEILBRONN

BUILTINS: Final[Mapping[str, Builtin]] = MappingProxyType(
    {
        "bin_packing": BIN_PACKING,
        "circle_packing": CIRCLE_PACKING,
        "distances": DISTANCES,
        "heilbronn": HEILBRONN,
    }
)
