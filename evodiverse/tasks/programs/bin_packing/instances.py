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
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import TEXT_BYTES, expanded, read_text_input

SEED: Final = 0
SETS: Final = ("weibull5k", "or3")
MAX_CAPACITY: Final = 10_000
MAX_INSTANCES: Final = 1_000
MAX_ITEMS: Final = 100_000
"""The largest number of items in all instances together. With more items, results would be too large for the sandbox
and evaluations would take many seconds."""
_MAX_DIGITS: Final = 9
_KEY: Final = "task.instances"


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
    if name == "weibull5k":
        return tuple(Instance(f"{name}_{n}", 100, tuple(_draw_weibull(rng, 5_000))) for n in range(5))
    return tuple(Instance(f"{name}_{n}", 150, tuple(_draw_uniform(rng, 500))) for n in range(20))


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return the instances of a file in OR-Library's format for bin packing.

    The first line is the number of instances. Each instance has a line with its name; a line with the capacity, the
    number of items and, optionally, the best known number of bins, which is ignored; and one line per item with its
    size. All numbers are integers.

    Raises:
        InputError: The file cannot be read or is not in this format.
    """
    try:
        text = read_text_input(path, TEXT_BYTES, "utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{_KEY}: cannot read {path} ({reason(error)}); expected {', '.join(SETS)}, or a file of bin packing "
            "instances in OR-Library's format"
        ) from error
    except ValueError as error:
        raise InputError(f"{_KEY}: {path} is not UTF-8 text; expected OR-Library's format") from error
    lines = _Lines(path, text)
    n_instances = lines.read_number("the number of instances", MAX_INSTANCES)
    instances: list[Instance] = []
    n_items = 0
    for _ in range(n_instances):
        instance = _read_instance(lines, MAX_ITEMS - n_items)
        n_items += len(instance.items)
        instances.append(instance)
    lines.expect_end()
    return tuple(instances)


class _Lines:
    """The lines of a file that are not blank, read one after the other."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines: Iterator[tuple[int, str]] = (
            (number, line.strip()) for number, line in enumerate(text.split("\n"), start=1) if line.strip()
        )

    def read(self, expected: str) -> tuple[int, str]:
        """Return the number and the text of the next line; if there is none, raise InputError naming ``expected``."""
        found = next(self._lines, None)
        if found is None:
            raise InputError(f"{_KEY}: {self._path} ends where {expected} is expected")
        return found

    def read_number(self, expected: str, most: int) -> int:
        """Return the next line as an integer from 1 to ``most``; see `check`."""
        place, text = self.read(expected)
        return self.check(place, text, expected, most)

    def check(self, place: int, text: str, expected: str, most: int) -> int:
        """Return the text of line ``place`` as an integer.

        Raises:
            InputError: The text is not an integer from 1 to ``most``. The message names ``expected``.
        """
        if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and 1 <= int(text) <= most:
            return int(text)
        raise self.refuse(place, text, f"expected {expected}, an integer between 1 and {most}")

    def refuse(self, place: int, text: str, why: str) -> InputError:
        """Return an error that reports what is wrong with a line."""
        return InputError(f"{_KEY}: line {place} of {self._path} has {text:.40}, {why}")

    def expect_end(self) -> None:
        """Check that no line is left."""
        rest = next(self._lines, None)
        if rest is not None:
            raise self.refuse(*rest, "expected nothing after the last instance")


def _read_instance(lines: _Lines, most_items: int) -> Instance:
    _, name = lines.read("the name of an instance")
    place, text = lines.read("a capacity")
    words = text.split()
    if len(words) not in {2, 3}:
        raise lines.refuse(place, text, "expected a capacity, a number of items and a number of bins")
    capacity = lines.check(place, words[0], "a capacity", MAX_CAPACITY)
    n_items = lines.check(place, words[1], f"a number of items (at most {MAX_ITEMS} in all instances)", most_items)
    items = tuple(lines.read_number("the size of an item", capacity) for _ in range(n_items))
    return Instance(name[:40], capacity, items)


def _draw_weibull(rng: random.Random, n_items: int) -> Iterator[int]:
    for _ in range(n_items):
        size = 45 * (-math.log(1 - rng.random())) ** (1 / 3)
        yield max(1, round(min(size, 100.0)))


def _draw_uniform(rng: random.Random, n_items: int) -> Iterator[int]:
    for _ in range(n_items):
        yield 20 + int(81 * rng.random())
