"""An independent verifier of packings, which puts every item into its bin. It shares no code with the scoring."""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Sequence


def count_filled_bins(capacity: int, items: Sequence[int], choices: Sequence[int]) -> int:
    """Return the number of bins that choices open, after checking that no bin is overfull and no item is missing.

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


def read_choices(logged: str) -> list[list[int]]:
    """Return the choices for each instance from a value of the log's column ``choices``."""
    read: list[list[int]] = json.loads(zlib.decompress(base64.b64decode(logged.encode())).decode())
    return read
