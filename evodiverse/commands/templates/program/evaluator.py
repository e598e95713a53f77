"""How programs of this task are called and scored: the shortest round trip through all cities.

A program is a rule that says where to go next. Make this file your own step by step: first what a program defines and
is called with (ENTRY_POINT, ARGUMENTS, drive), then score, then what a language model is told (DESCRIPTION), and last
what you want to see (COLUMNS, draw). After each step run `evodiverse … budget.oracle_calls=1 overwrite=true`, which
tries the start program alone.

The file is trusted and runs outside the sandbox, all but `drive`. It may import whatever is installed.
"""

import json
import math
import random

_RANDOM = random.Random(0)  # a program has to score the same each time: draw with a fixed seed
MAPS = [[[_RANDOM.random(), _RANDOM.random()] for _ in range(40)] for _ in range(4)]

# The function that every program defines.
ENTRY_POINT = "cost"

# What the function, or drive, is called with: a list of what JSON can say (numbers, texts, lists, dictionaries).
ARGUMENTS = [MAPS]

# What a language model is told: what to write, what comes in, what has to come out, and what the score rewards.
DESCRIPTION = """
Write cost(distance, to_start, to_center), a rule for short round trips through 40 cities of the unit square. A trip
begins at the first city and goes each time to the city of the lowest cost that was not visited yet. For such a city,
distance is how far it is from where the trip is now, to_start how far from the first city, and to_center how far from
the center of the square. Return a number. The score is a lower bound of the length divided by the length of the trips.
"""


def drive(cost, maps):
    """Make a trip through each map by the program's rule.

    Without `drive` the program's function itself is called with ARGUMENTS. This function runs inside the sandbox, and
    only its own text goes there: it imports what it needs, and sees nothing of the rest of the file.
    """
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


# Columns of your own in the log, each float, int or str. A text can hold anything as JSON, such as what `draw` needs.
COLUMNS = {"length": float, "trips": str}


def score(trips):
    """Return a finite number of at least 0, more is better, and the values of COLUMNS.

    A program can meddle with `drive`, which shares a process with it. So believe nothing that it returned: check it,
    and compute the score anew. ValueError says why a result is invalid; it then scores 0.
    """
    if not isinstance(trips, list) or len(trips) != len(MAPS):
        raise ValueError("there must be a trip for each map")
    for cities, trip in zip(MAPS, trips, strict=True):
        if not all(type(number) is int for number in trip) or sorted(trip) != list(range(len(cities))):
            raise ValueError("a trip must visit every city once")
    length = sum(map(measure, MAPS, trips))
    return sum(map(bound, MAPS)) / length, {"length": length, "trips": json.dumps(trips)}


def measure(cities, trip):
    """Return the length of a round trip."""
    return sum(math.dist(cities[a], cities[b]) for a, b in zip(trip, trip[1:] + trip[:1], strict=True))


def bound(cities):
    """Return a length that no round trip can beat: each city has two neighbors, none nearer than the nearest two."""
    return sum(sum(sorted(math.dist(a, b) for b in cities)[1:3]) / 2 for a in cities)


def draw(columns):
    """Return a picture of the best program for best/: the text of an SVG, or the bytes of a PNG.

    The argument has the logged values of COLUMNS, None for one that `score` left out. Texts that came from a program
    go through html.escape before they stand in an SVG; here there are numbers alone.
    """
    shapes = []
    for number, (cities, trip) in enumerate(zip(MAPS, json.loads(columns["trips"]), strict=True)):
        places = [(round(20 + 220 * number + 200 * x), round(220 - 200 * y)) for x, y in (cities[k] for k in trip)]
        line = " ".join(f"{x},{y}" for x, y in places)
        shapes.append(f'<polygon points="{line}" fill="#eef3f8" stroke="#2e74aa" stroke-width="2"/>')
        shapes += [f'<circle cx="{x}" cy="{y}" r="3" fill="#162238"/>' for x, y in places]
    shapes.append(f'<text x="20" y="250" font-family="sans-serif">length {columns["length"]:.3f}</text>')
    size = 'viewBox="0 0 900 265" width="900" height="265" style="background: white"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(shapes)}</svg>'
