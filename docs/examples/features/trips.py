"""The task that `evodiverse-new program` writes; two columns describe how round trips look.

longest is the longest step of a trip, and closing the way back to the first city; both are means over the maps.
"""

import math
import random

_RANDOM = random.Random(0)
MAPS = [[[_RANDOM.random(), _RANDOM.random()] for _ in range(40)] for _ in range(4)]

ENTRY_POINT = "cost"
ARGUMENTS = [MAPS]
COLUMNS = {"longest": float, "closing": float}


def drive(cost, maps):
    """Return a round trip through each map, as chosen by the program's rule."""
    import math

    trips = []
    for cities in maps:
        trip, left = [0], list(range(1, len(cities)))
        while left:
            here = cities[trip[-1]]
            costs = [
                float(cost(math.dist(here, there), math.dist(cities[0], there), math.dist((0.5, 0.5), there)))
                for there in (cities[number] for number in left)
            ]
            trip.append(left.pop(costs.index(min(costs))))
        trips.append(trip)
    return trips


def score(trips):
    """Return a lower bound of the length divided by the length of the trips, and the columns."""
    if not all(sorted(trip) == list(range(len(cities))) for cities, trip in zip(MAPS, trips, strict=True)):
        raise ValueError("a trip must visit every city once")
    steps = [
        [math.dist(cities[a], cities[b]) for a, b in zip(trip, trip[1:] + trip[:1], strict=True)]
        for cities, trip in zip(MAPS, trips, strict=True)
    ]
    bounds = [sum(sum(sorted(math.dist(a, b) for b in cities)[1:3]) / 2 for a in cities) for cities in MAPS]
    columns = {"longest": sum(max(some[:-1]) for some in steps) / 4, "closing": sum(some[-1] for some in steps) / 4}
    return sum(bounds) / sum(map(sum, steps)), columns
