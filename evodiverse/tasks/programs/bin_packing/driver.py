"""Packs items one after the other as a program says; this text runs inside the sandbox, beside the program.

What it returns is therefore checked outside, where the packing is made again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def drive(priority: Callable[..., Any], instances: Sequence[tuple[int, Sequence[int]]]) -> dict[str, Any]:
    """Return a program's choices, or the first of its answers that no choice can be made from.

    Args:
        priority: The program's function.
        instances: The capacity and the items of each.

    Returns:
        ``choices``, a list for each instance with one number for each item: 0 opens a bin, k takes the k-th smallest of
        the spaces of open bins in which the item fits. Or ``fault``: ``shape``, ``kind`` or ``nan``, with the ``item``
        and the number of ``spaces`` that the function was called with.
    """
    choices = []
    for capacity, items in instances:
        bins = [0] * (capacity + 1)  # how many have each space
        is_offered = np.zeros(capacity + 1, dtype=bool)
        is_offered[capacity] = True
        chosen = []
        for item in items:
            spaces = np.flatnonzero(is_offered[item:]) + item
            values = np.asarray(priority(item, spaces.copy()))
            if values.shape != spaces.shape:
                return {"fault": "shape", "item": item, "spaces": len(spaces)}
            if values.dtype.kind not in "biuf":
                return {"fault": "kind", "item": item, "spaces": len(spaces)}
            best = int(values.argmax())  # of equals the first; NaN counts as the largest
            if np.isnan(values[best]):
                return {"fault": "nan", "item": item, "spaces": len(spaces)}
            space = int(spaces[best])
            if space == capacity:
                chosen.append(0)
            else:
                chosen.append(best + 1)
                bins[space] -= 1
                if not bins[space]:
                    is_offered[space] = False
            bins[space - item] += 1
            is_offered[space - item] = True
        choices.append(chosen)
    return {"choices": choices}
