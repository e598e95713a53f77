"""The instances of bin packing, and packings, stored as the choices that made them and replayed in integer arithmetic.

The instances are one of two sets that follow published recipes, or come from a user's file.

``weibull5k`` follows FunSearch (Romera-Paredes et al., Nature 625, 2024, supplementary information on bin packing): 5
instances of 5,000 items for bins of capacity 100, with sizes drawn from the Weibull distribution of shape 3 and scale
45, clipped at 100 and rounded to integers of at least 1. ``or3`` follows the third set of uniform instances of
OR-Library (Beasley, J. Oper. Res. Soc. 41, 1990; ``binpack3``): 20 instances of 500 items for bins of capacity 150,
with integer sizes drawn uniformly from 20 to 100. Both are drawn with our own seed, so published results on other draws
differ by about 0.1 (weibull5k) or 0.2 (or3) percentage points of excess bins by chance alone.
"""

import base64
import json
import math
import random
import re
import zlib
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.kit.tables import TextFile
from evodiverse.tasks.programs.bin_packing.driver import drive

SETS: Final[Mapping[str, tuple[int, int, int, Callable[[float], int]]]] = {
    "weibull5k": (5, 100, 5_000, lambda u: max(1, round(min(45 * (-math.log(1 - u)) ** (1 / 3), 100.0)))),
    "or3": (20, 150, 500, lambda u: 20 + int(81 * u)),
}
"""For each built-in set, the number of instances, their capacity, their number of items, and the size of an item, given
a number that is drawn uniformly from 0 to 1."""
MAX_CAPACITY: Final = 10_000
MAX_INSTANCES: Final = 1_000
MAX_ITEMS: Final = 100_000
"""The largest number of items in all instances together. With more items, results would be too large for the sandbox
and evaluations would take many seconds."""
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

    @property
    def bound(self) -> int:
        """The L1 lower bound on the number of bins: total size / capacity, rounded up."""
        return -(-sum(self.items) // self.capacity)


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
    rng = random.Random(0)  # noqa: S311
    n_instances, capacity, n_items, size_of = SETS[name]
    drawn = [tuple(size_of(rng.random()) for _ in range(n_items)) for _ in range(n_instances)]
    return tuple(Instance(f"{name}_{number}", capacity, items) for number, items in enumerate(drawn))


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return the instances of a file in OR-Library's format for bin packing.

    The first line is the number of instances. Each instance has a line with its name; a line with the capacity, the
    number of items and, optionally, the best known number of bins, which is ignored; and one line per item with its
    size. All numbers are integers.

    Raises:
        InputError: The file cannot be read or is not in this format.
    """
    try:
        text = "".join(text for _, text in TextFile(path, _KEY).texts())
    except InputError as error:
        raise InputError(f"{error}; {EXPECTED}") from error
    lines = deque((number, line.strip()) for number, line in enumerate(text.split("\n"), start=1) if line.strip())

    def take(expected: str) -> tuple[int, str]:
        if not lines:
            raise InputError(f"{_KEY}: {path} ends where {expected} is expected")
        return lines.popleft()

    def refuse(number: int, found: str, expected: str) -> InputError:
        return InputError(f"{_KEY}: line {number} of {path} has {found:.40}, expected {expected}")

    def to_integer(number: int, word: str, expected: str, most: int) -> int:
        if re.fullmatch("[0-9]{1,9}", word) and 1 <= int(word) <= most:
            return int(word)
        raise refuse(number, word, f"{expected}, an integer between 1 and {most}")

    def take_integer(expected: str, most: int) -> int:
        return to_integer(*take(expected), expected, most)

    instances: list[Instance] = []
    most_items = MAX_ITEMS
    for _ in range(take_integer("the number of instances", MAX_INSTANCES)):
        _, name = take("the name of an instance")
        expected = "a capacity, a number of items and a number of bins"
        number, line = take(expected)
        words = line.split()
        if len(words) not in {2, 3}:
            raise refuse(number, line, expected)
        capacity = to_integer(number, words[0], "a capacity", MAX_CAPACITY)
        expected = f"a number of items (at most {MAX_ITEMS} in all instances)"
        n_items = to_integer(number, words[1], expected, most_items)
        most_items -= n_items
        items = [take_integer("the size of an item", capacity) for _ in range(n_items)]
        instances.append(Instance(name[:40], capacity, tuple(items)))
    if lines:
        raise refuse(*lines[0], "nothing after the last instance")
    return tuple(instances)


Step: TypeAlias = tuple[int, Sequence[int], int]
"""The placement of an item: its size; the distinct free spaces of the open bins in which it fits, ascending; and the
free space of the bin that it went into, which is the capacity if it opened a bin."""


def replay(instance: Instance, choices: Sequence[Any]) -> Iterator[Step]:
    """Yield the placement of each item.

    Args:
        instance: The instance to pack.
        choices: The choice for each item, not trusted. 0 puts the item into a new bin. A positive k puts it into an
            open bin whose free space is the k-th smallest of the distinct free spaces that are large enough for the
            item.

    Raises:
        ValueError: The number of choices differs from the number of items, or a choice is invalid.
    """
    if len(choices) != len(instance.items):
        raise ValueError(f"{len(choices)} choices, expected one for each of {len(instance.items)} items")
    bins = [0] * (instance.capacity + 1)  # the number of open bins with each free space
    open_spaces: list[int] = []  # the different free spaces of open bins, ascending
    for item, choice in zip(instance.items, choices, strict=True):
        spaces = open_spaces[bisect_left(open_spaces, item) :]
        if type(choice) is not int or not 0 <= choice <= len(spaces):
            raise ValueError(f"an item of {item} went into a bin that does not exist")
        space = spaces[choice - 1] if choice else instance.capacity
        yield item, spaces, space
        if choice:
            bins[space] -= 1
            if not bins[space]:
                del open_spaces[bisect_left(open_spaces, space)]
        left = space - item
        if not bins[left]:
            insort(open_spaces, left)
        bins[left] += 1


def count_bins(instance: Instance, choices: Sequence[Any]) -> int:
    """Return the number of bins that the given choices open.

    Raises:
        ValueError: The choices are not a packing; see `replay`.
    """
    return sum(space == instance.capacity for _, _, space in replay(instance, choices))


@cache
def pack_best_fit(instance: Instance) -> list[int]:
    """Return the choices of the best-fit rule, in the form that `replay` reads.

    Best fit puts each item into the open bin with the least free space that is large enough, or into a new bin if there
    is none.
    """
    return list(drive(lambda _, spaces: -spaces, [(instance.capacity, instance.items)])["choices"][0])


def bound_bins(instances: Sequence[Instance]) -> int:
    """Return the sum of the lower bounds on the number of bins of instances."""
    return sum(instance.bound for instance in instances)


def measure_excess(bins: int, bound: int) -> float:
    """Return the excess of a number of bins over the bound, in percent."""
    return float(100 * (Fraction(bins, bound) - 1))


def compress(choices: Sequence[Sequence[int]]) -> str:
    """Return a text that stores packings in the log's column ``choices``: JSON, compressed by zlib, in base64.

    Args:
        choices: For each instance, the choice of a bin for each item; see `replay`.
    """
    text = json.dumps(choices, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode())).decode()


def decompress(text: str) -> list[list[int]]:
    """Return the packings that a value of the log's column ``choices`` stores.

    For each instance, this is a list with the choice of a bin for each item; see `replay`.
    """
    choices: list[list[int]] = json.loads(zlib.decompress(base64.b64decode(text)))
    return choices
