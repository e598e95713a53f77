"""Packings as the choices that made them, replayed in integers."""

import base64
import json
import zlib
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evodiverse.tasks.programs.bin_packing.instances import Instance


class Step(NamedTuple):
    """What became of one item.

    Attributes:
        item: Its size.
        spaces: The different spaces of the open bins in which it fits, ascending.
        space: That of the bin it went into, the capacity if it opened one.
    """

    item: int
    spaces: Sequence[int]
    space: int


def replay(instance: Instance, choices: Sequence[Any]) -> Iterator[Step]:
    """Yield what becomes of each item.

    Args:
        instance: What is packed.
        choices: One for each item, from whomever: 0 opens a bin, k takes the k-th smallest of the spaces of open bins
            in which the item fits.

    Raises:
        ValueError: There is no choice for each item, or one is none.
    """
    if len(choices) != len(instance.items):
        raise ValueError(f"{len(choices)} choices, expected one for each of {len(instance.items)} items")
    bins = [0] * (instance.capacity + 1)  # how many have each space
    open_spaces: list[int] = []  # those that any bin has, ascending
    for item, choice in zip(instance.items, choices, strict=True):
        spaces = open_spaces[bisect_left(open_spaces, item) :]
        if type(choice) is not int or not 0 <= choice <= len(spaces):
            raise ValueError(f"an item of {item} went into a bin that there was not")
        space = spaces[choice - 1] if choice else instance.capacity
        yield Step(item, spaces, space)
        if choice:
            bins[space] -= 1
            if not bins[space]:
                del open_spaces[bisect_left(open_spaces, space)]
        left = space - item
        if not bins[left]:
            insort(open_spaces, left)
        bins[left] += 1


def count_bins(instance: Instance, choices: Sequence[Any]) -> int:
    """Return how many bins choices open.

    Raises:
        ValueError: They are no packing, see `replay`.
    """
    return sum(step.space == instance.capacity for step in replay(instance, choices))


def pack_best_fit(instance: Instance) -> list[int]:
    """Return the choices of the rule best fit: each item goes where it leaves the least space."""
    choices: list[int] = []
    open_spaces: list[int] = []  # one for each open bin, ascending
    for item in instance.items:
        at = bisect_left(open_spaces, item)
        choices.append(int(at < len(open_spaces)))
        space = open_spaces.pop(at) if choices[-1] else instance.capacity
        insort(open_spaces, space - item)
    return choices


def bound_bins(instances: Sequence[Instance]) -> int:
    """Return the L1 bound: bins that no packing does without, which hold the total size; summed over instances."""
    return sum(-(-sum(instance.items) // instance.capacity) for instance in instances)


def measure_excess(bins: int, bound: int) -> float:
    """Return by how many percent a number of bins is above the bound."""
    return float(100 * (Fraction(bins, bound) - 1))


def compress(choices: Sequence[Sequence[int]]) -> str:
    """Return choices as a column of the log: JSON, compressed by zlib, in base64."""
    text = json.dumps(choices, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode())).decode()


def decompress(text: str) -> list[list[int]]:
    """Return the choices that the log has."""
    choices: list[list[int]] = json.loads(zlib.decompress(base64.b64decode(text)))
    return choices
