"""Packings, stored as the choices that made them and replayed in integer arithmetic."""

import base64
import json
import zlib
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from evodiverse.tasks.programs.bin_packing.driver import drive
from evodiverse.tasks.programs.bin_packing.instances import Instance

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
    packed = drive(lambda _, spaces: -spaces, [(instance.capacity, instance.items)])
    choices: list[int] = packed["choices"][0]
    return choices


def bound_bins(instances: Sequence[Instance]) -> int:
    """Return the L1 lower bound on the number of bins: total size / capacity, rounded up, summed over instances."""
    return sum(-(-sum(instance.items) // instance.capacity) for instance in instances)


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
