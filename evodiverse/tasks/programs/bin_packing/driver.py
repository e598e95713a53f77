"""The driver, which packs items one after the other with a program's rule.

The source of this module runs in the program's sandbox. The driver's result is therefore not trusted: the evaluator
packs the items again outside the sandbox.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def drive(priority: Callable[..., Any], instances: Sequence[tuple[int, Sequence[int]]]) -> dict[str, Any]:
    """Return a program's choices, or the fault of its first invalid answer.

    Args:
        priority: The program's function.
        instances: The capacity and the item sizes of each instance.

    Returns:
        ``choices``, a list for each instance with one number for each item. 0 puts the item into a new bin. A positive
        k puts it into an open bin whose free space is the k-th smallest of the distinct free spaces that are large
        enough for the item. If an answer is invalid, the result has instead the key ``fault``, with a message.
    """
    choices = []
    for capacity, items in instances:
        bins = [0] * (capacity + 1)  # the number of open bins with each free space
        is_offered = np.zeros(capacity + 1, dtype=bool)
        is_offered[capacity] = True
        chosen = []
        for item in items:
            spaces = np.flatnonzero(is_offered[item:]) + item
            values = np.asarray(priority(item, spaces.copy()))
            fault = ""
            if values.shape != spaces.shape:
                fault = "did not return one value for each space"
            elif values.dtype.kind not in "biuf":
                fault = "returned values that are not real numbers"
            elif np.isnan(values[best := int(values.argmax())]):  # the first of equals; NaN counts as the largest
                fault = "returned NaN"
            if fault:
                return {"fault": f"priority {fault} (an item of {item}, {len(spaces)} spaces)"}
            space = int(spaces[best])
            if space == capacity:
                chosen.append(0)
            else:
                chosen.append(best + 1)
                bins[space] -= 1
                is_offered[space] = bins[space] > 0
            bins[space - item] += 1
            is_offered[space - item] = True
        choices.append(chosen)
    return {"choices": choices}
