"""An independent verifier of packings, which holds every item in its bin; it shares no code with what scores them."""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Sequence


def count_filled_bins(capacity: int, items: Sequence[int], choices: Sequence[int]) -> int:
    """Return how many bins are needed by choices, after each bin was weighed and each item was found in one.

    Args:
        capacity: Of every bin.
        items: Their sizes, in the order in which they come.
        choices: One for each item: 0 opens a bin, k takes one with the k-th smallest of the different spaces of open
            bins in which the item fits.

    Raises:
        ValueError: They are no packing.
    """
    contents: list[list[int]] = []
    places: dict[int, list[int]] = {}  # numbers of the bins by the space that is left in them
    for item, choice in zip(items, choices, strict=True):
        if choice == 0:
            number = len(contents)
            contents.append([])
        else:
            fitting = sorted(space for space, numbers in places.items() if numbers and space >= item)
            if not 1 <= choice <= len(fitting):
                raise ValueError(f"there is no bin {choice} for an item of {item}")
            number = places[fitting[choice - 1]].pop()
        contents[number].append(item)
        places.setdefault(capacity - sum(contents[number]), []).append(number)
    heaviest = max(map(sum, contents))
    if heaviest > capacity:
        raise ValueError(f"a bin holds {heaviest}, at most {capacity} go in")
    if Counter(item for content in contents for item in content) != Counter(items):
        raise ValueError("the bins do not hold the items")
    return len(contents)


def read_choices(logged: str) -> list[list[int]]:
    """Return the choices of each instance from the log's column ``choices``."""
    read: list[list[int]] = json.loads(zlib.decompress(base64.b64decode(logged.encode())).decode())
    return read
