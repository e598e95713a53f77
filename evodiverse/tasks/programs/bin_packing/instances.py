"""The instances of bin packing: two sets after published recipes, or a file of the user's.

``weibull5k`` follows FunSearch (Romera-Paredes et al., Nature 625, 2024, supplementary information on bin packing): 5
instances of 5,000 items for bins of 100, their sizes drawn from the Weibull distribution of shape 3 and scale 45, at
most 100, rounded to whole numbers of at least 1. ``or3`` follows the third set of uniform instances of OR-Library
(Beasley, J. Oper. Res. Soc. 41, 1990; ``binpack3``): 20 instances of 500 items for bins of 150, their sizes drawn from
20 to 100 alike. Both are drawn by a seed of our own, so that figures published for other draws compare with them only
within the scatter between draws, about 0.1 (weibull5k) and 0.2 (or3) percentage points.
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
"""Of all instances together; more would make a result that the sandbox refuses, and an evaluation of many seconds."""
_MAX_DIGITS: Final = 9
_KEY: Final = "task.instances"


class Instance(NamedTuple):
    """Items that come one after the other, and the capacity of the bins; sizes are from 1 to the capacity."""

    name: str
    capacity: int
    items: tuple[int, ...]


def find_instances(named: str) -> tuple[Instance, ...]:
    """Return the instances of a set that comes along, or of a user's file.

    Raises:
        InputError: It is no such set, and no file that can be used.
    """
    return draw_instances(named) if named in SETS else read_instances(expanded(named))


@cache
def draw_instances(name: str) -> tuple[Instance, ...]:
    """Return the instances of a set that comes along; the same on every machine."""
    rng = random.Random(SEED)  # noqa: S311
    if name == "weibull5k":
        return tuple(Instance(f"{name}_{n}", 100, tuple(_draw_weibull(rng, 5_000))) for n in range(5))
    return tuple(Instance(f"{name}_{n}", 150, tuple(_draw_uniform(rng, 500))) for n in range(20))


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return the instances of a file in OR-Library's format for bin packing.

    Its first line has the number of instances. Each has a line with its name, one with the capacity, the number of its
    items and the least number of bins that is known, which is not used, and then the size of each item. All are whole
    numbers.

    Raises:
        InputError: It cannot be read, or is not as it should be.
    """
    try:
        text = read_text_input(path, TEXT_BYTES, "utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{_KEY}: cannot read {path} ({reason(error)}); expected {', '.join(SETS)}, or a file of bin packing "
            "instances in OR-Library's format"
        ) from error
    except ValueError as error:
        raise InputError(f"{_KEY}: {path} is no text in UTF-8; expected OR-Library's format") from error
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
    """The lines of a file that hold anything, each with its number."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines: Iterator[tuple[int, str]] = (
            (number, line.strip()) for number, line in enumerate(text.split("\n"), start=1) if line.strip()
        )

    def read(self, expected: str) -> tuple[int, str]:
        """Return the next line after its number."""
        found = next(self._lines, None)
        if found is None:
            raise InputError(f"{_KEY}: {self._path} ends where {expected} is expected")
        return found

    def read_number(self, expected: str, most: int) -> int:
        """Return the next line as a number."""
        place, text = self.read(expected)
        return self.check(place, text, expected, most)

    def check(self, place: int, text: str, expected: str, most: int) -> int:
        """Return a number from 1 to ``most``."""
        if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and 1 <= int(text) <= most:
            return int(text)
        raise self.refuse(place, text, f"expected {expected}, a whole number between 1 and {most}")

    def refuse(self, place: int, text: str, why: str) -> InputError:
        """Return what is wrong with a line."""
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
        raise lines.refuse(place, text, "expected a capacity, a number of items and one of bins")
    capacity = lines.check(place, words[0], "a capacity", MAX_CAPACITY)
    n_items = lines.check(place, words[1], f"a number of items, of at most {MAX_ITEMS} in all instances", most_items)
    items = tuple(lines.read_number("the size of an item", capacity) for _ in range(n_items))
    return Instance(name[:40], capacity, items)


def _draw_weibull(rng: random.Random, n_items: int) -> Iterator[int]:
    for _ in range(n_items):
        size = 45 * (-math.log(1 - rng.random())) ** (1 / 3)
        yield max(1, round(min(size, 100.0)))


def _draw_uniform(rng: random.Random, n_items: int) -> Iterator[int]:
    for _ in range(n_items):
        yield 20 + int(81 * rng.random())
