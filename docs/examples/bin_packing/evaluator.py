"""Online bin packing: items come one after the other, each is put into a bin at once, and few bins are better."""

import random

CAPACITY = 100
_RANDOM = random.Random(0)
INSTANCES = [[_RANDOM.randint(15, 65) for _ in range(120)] for _ in range(5)]

ENTRY_POINT = "choose_bin"
ARGUMENTS = [CAPACITY, INSTANCES]
COLUMNS = {"bins": int}
DESCRIPTION = """
Write choose_bin(item, spaces), a rule for online bin packing. Items of sizes 15 to 65 come one after the other, and
each is put at once into a bin of capacity 100. spaces lists the free space of the bins that are open, the oldest first.
Return the index of the bin that the item goes into; an index that does not exist opens a new bin. Putting an item into
a bin that has no room for it makes the whole packing invalid. The score is the total size of all items divided by the
capacity of all bins that were opened: 1 is perfect.
"""


def drive(choose_bin, capacity, instances):
    """Pack every instance by the program's rule. This runs inside the sandbox, so its result is checked below."""
    packings = []
    for items in instances:
        spaces, packing = [], []
        for item in items:
            place = int(choose_bin(item, list(spaces)))
            if not 0 <= place < len(spaces):
                place = len(spaces)
                spaces.append(capacity)
            spaces[place] -= item
            packing.append(place)
        packings.append(packing)
    return packings


def score(packings):
    """Return the share of the opened bins that is filled, and their number. A packing that cheats is invalid."""
    if [len(packing) for packing in packings] != [len(items) for items in INSTANCES]:
        raise ValueError("every item must be packed")
    if not all(isinstance(place, int) for packing in packings for place in packing):
        raise ValueError("every bin must have a number")
    n_bins = 0
    for items, packing in zip(INSTANCES, packings, strict=True):
        loads = {}
        for item, place in zip(items, packing, strict=True):
            loads[place] = loads.get(place, 0) + item
        if max(loads.values()) > CAPACITY:
            raise ValueError(f"a bin holds {max(loads.values())}, at most {CAPACITY} go in")
        n_bins += len(loads)
    return sum(map(sum, INSTANCES)) / (CAPACITY * n_bins), {"bins": n_bins}
