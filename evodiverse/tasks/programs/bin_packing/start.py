"""Choose the bin that an item goes into, so that all items fit into as few bins as possible."""

import numpy as np


def priority(item: int, spaces: np.ndarray) -> np.ndarray:
    """Prefer the emptiest of the open bins, and open another only if the item fits into none of them."""
    values = 1.0 * (spaces - item)
    values[-1] = -1.0
    return values
