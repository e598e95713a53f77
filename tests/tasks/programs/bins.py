"""An independent way of packing: plain lists of what every bin holds."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from evodiverse.tasks.programs.bin_packing.evaluator import BinPacking
from evodiverse.tasks.programs.bin_packing.packing import Instance
from evodiverse.tasks.programs.settings import ProgramSettings

Rule = Callable[[int, int], float]
"""How much an item of some size wants into a bin with some space."""


def pack(capacity: int, items: Sequence[int], rule: Rule) -> list[list[int]]:
    """Return what each bin holds when every item goes where the rule is highest, of equals where least space is."""
    bins: list[list[int]] = []
    for item in items:
        fitting = [number for number, held in enumerate(bins) if capacity - sum(held) >= item]
        spaces = {number: capacity - sum(bins[number]) for number in fitting} | {len(bins): capacity}
        best = max(spaces, key=lambda number: (rule(item, spaces[number]), -spaces[number]))
        if best == len(bins):
            bins.append([])
        bins[best].append(item)
    return bins


def best_fit(item: int, space: int) -> float:
    """The less is left, the better."""
    return item - space


def count_best_fit(capacity: int, items: Sequence[int]) -> int:
    """Return the bins of best fit, from the number of bins with each space."""
    bins = [0] * (capacity + 1)
    n_bins = 0
    for item in items:
        space = next((space for space in range(item, capacity) if bins[space]), capacity)
        n_bins += space == capacity
        bins[space] -= space != capacity
        bins[space - item] += 1
    return n_bins


def count_filled_bins(capacity: int, items: Sequence[int], choices: Sequence[int]) -> int:
    """Return the number of bins that choices open, after checking that no bin is overfull and no item is missing.

    This puts every item into its bin, and shares no code with the scoring.

    Args:
        capacity: The capacity of every bin.
        items: The sizes of the items, in the order in which they arrive.
        choices: The choice for each item. 0 puts the item into a new bin. A positive k puts it into an open bin whose
            free space is the k-th smallest of the distinct free spaces that are large enough for the item.

    Raises:
        ValueError: The choices are not a packing of the items.
    """
    contents: list[list[int]] = []
    places: dict[int, list[int]] = {}  # the numbers of the bins with each free space
    for item, choice in zip(items, choices, strict=True):
        if choice == 0:
            number = len(contents)
            contents.append([])
        else:
            fitting = sorted(space for space, numbers in places.items() if numbers and space >= item)
            if not 1 <= choice <= len(fitting):
                raise ValueError(f"choice {choice} for an item of size {item} is not from 0 to {len(fitting)}")
            number = places[fitting[choice - 1]].pop()
        contents[number].append(item)
        places.setdefault(capacity - sum(contents[number]), []).append(number)
    heaviest = max(map(sum, contents))
    if heaviest > capacity:
        raise ValueError(f"a bin holds {heaviest}, above the capacity of {capacity}")
    if Counter(item for content in contents for item in content) != Counter(items):
        raise ValueError("the bins do not hold exactly the items of the instance")
    return len(contents)


def packing_of(*instances: Instance) -> BinPacking:
    """Return the evaluator of a user's own instances."""
    lines = [f"{one.name}\n{one.capacity} {len(one.items)}\n" + "\n".join(map(str, one.items)) for one in instances]
    with TemporaryDirectory() as folder:
        file = Path(folder, "mine.txt")
        file.write_text("\n".join([str(len(instances)), *lines]))
        return BinPacking(ProgramSettings(evaluator="bin_packing", instances=str(file)))
