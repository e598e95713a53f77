"""The instances of bin packing: two sets that follow published recipes, or a user's file.

``weibull5k`` follows FunSearch (Romera-Paredes et al., Nature 625, 2024, supplementary information on bin packing): 5
instances of 5,000 items for bins of capacity 100, with sizes drawn from the Weibull distribution of shape 3 and scale
45, clipped at 100 and rounded to integers of at least 1. ``or3`` follows the third set of uniform instances of
OR-Library (Beasley, J. Oper. Res. Soc. 41, 1990; ``binpack3``): 20 instances of 500 items for bins of capacity 150,
with integer sizes drawn uniformly from 20 to 100. Both are drawn with our own seed, so published results on other draws
differ by about 0.1 (weibull5k) or 0.2 (or3) percentage points of excess bins by chance alone.
"""

import math
import random
from collections import deque
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.kit.tables import TextFile

SEED: Final = 0
SETS: Final = {"weibull5k": (5, 100, 5_000), "or3": (20, 150, 500)}
"""For each built-in set, the number of instances, their capacity and their number of items."""
MAX_CAPACITY: Final = 10_000
MAX_INSTANCES: Final = 1_000
MAX_ITEMS: Final = 100_000
"""The largest number of items in all instances together. With more items, results would be too large for the sandbox
and evaluations would take many seconds."""
_MAX_DIGITS: Final = 9
_KEY: Final = "task.instances"
EXPECTED: Final = f"expected {', '.join(SETS)}, or a file in OR-Library's format"


class Instance(NamedTuple):
    """An instance of online bin packing.

    Attributes:
        name: The name of the instance.
        capacity: The capacity of every bin.
        items: The sizes of the items, each from 1 to the capacity, in the order in which they arrive.
    """

    name: str
    capacity: int
    items: tuple[int, ...]


def find_instances(named: str) -> tuple[Instance, ...]:
    """Return the instances of a built-in set or of a user's file.

    Args:
        named: The name of a built-in set, or the path of a file.

    Raises:
        InputError: ``named`` is neither a built-in set nor a file that can be used.
    """
    return draw_instances(named) if named in SETS else read_instances(expanded(named))


@cache
def draw_instances(name: str) -> tuple[Instance, ...]:
    """Return the instances of a built-in set, which are the same on every machine."""
    rng = random.Random(SEED)  # noqa: S311
    n_instances, capacity, n_items = SETS[name]
    drawn = [tuple(_draw_size(name, rng) for _ in range(n_items)) for _ in range(n_instances)]
    return tuple(Instance(f"{name}_{number}", capacity, items) for number, items in enumerate(drawn))


def _draw_size(name: str, rng: random.Random) -> int:
    if name == "weibull5k":
        size: float = 45 * (-math.log(1 - rng.random())) ** (1 / 3)
        return max(1, round(min(size, 100.0)))
    return 20 + int(81 * rng.random())


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return the instances of a file in OR-Library's format for bin packing.

    The first line is the number of instances. Each instance has a line with its name; a line with the capacity, the
    number of items and, optionally, the best known number of bins, which is ignored; and one line per item with its
    size. All numbers are integers.

    Raises:
        InputError: The file cannot be read or is not in this format.
    """
    try:
        lines = _Lines(path, "".join(text for _, text in TextFile(path, _KEY).texts()))
    except InputError as error:
        raise InputError(f"{error}; {EXPECTED}") from error
    instances: list[Instance] = []
    most_items = MAX_ITEMS
    for _ in range(lines.take_number("the number of instances", MAX_INSTANCES)):
        _, name = lines.take("the name of an instance")
        expected = "a capacity, a number of items and a number of bins"
        number, text = lines.take(expected)
        words = text.split()
        if len(words) not in {2, 3}:
            raise lines.refuse(number, text, expected)
        capacity = lines.check(number, words[0], "a capacity", MAX_CAPACITY)
        expected = f"a number of items (at most {MAX_ITEMS} in all instances)"
        n_items = lines.check(number, words[1], expected, most_items)
        most_items -= n_items
        items = [lines.take_number("the size of an item", capacity) for _ in range(n_items)]
        instances.append(Instance(name[:40], capacity, tuple(items)))
    if lines.left:
        raise lines.refuse(*lines.left[0], "nothing after the last instance")
    return tuple(instances)


class _Lines:
    """The lines of a file that are not blank, each with its number, taken one after the other."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        lines = enumerate(map(str.strip, text.split("\n")), start=1)
        self.left = deque((number, line) for number, line in lines if line)

    def take(self, expected: str) -> tuple[int, str]:
        """Return the next line; if there is none, raise an error that names what is expected."""
        if not self.left:
            raise InputError(f"{_KEY}: {self._path} ends where {expected} is expected")
        return self.left.popleft()

    def take_number(self, expected: str, most: int) -> int:
        """Return the next line as an integer; see `check`."""
        return self.check(*self.take(expected), expected, most)

    def check(self, number: int, word: str, expected: str, most: int) -> int:
        """Return a word as an integer; if it is not one from 1 to ``most``, raise an error that names the line."""
        if word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS and 1 <= int(word) <= most:
            return int(word)
        raise self.refuse(number, word, f"{expected}, an integer between 1 and {most}")

    def refuse(self, number: int, text: str, expected: str) -> InputError:
        """Return an error that a line has something else than is expected."""
        return InputError(f"{_KEY}: line {number} of {self._path} has {text:.40}, expected {expected}")
