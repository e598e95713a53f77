"""The task: find a rule that gives short round trips through all cities.

A program defines a rule that chooses the next city. Replace this file with your own task, step by step:

1. ENTRY_POINT, STAGES and drive: what a program defines, and how it is called
2. score: how good its result is, and what a language model should know about it
3. DESCRIPTION: the task in words, for a language model
4. COLUMNS and draw: what you want to see in the log and in the picture

After each step, run `evodiverse … budget.oracle_calls=1 overwrite=true`, which tries only the start program.

This file is trusted and runs outside the sandbox, except for `drive`. It may import any installed package.
"""

import json
import math
import random

_RANDOM = random.Random(0)  # a fixed seed, since a program must always get the same score
MAPS = [[[_RANDOM.random(), _RANDOM.random()] for _ in range(40)] for _ in range(4)]

# The name of the function that every program defines.
ENTRY_POINT = "cost"

# The stages of an evaluation, the cheapest first. In each, the program's function is called once, with a list of
# arguments that are JSON values (numbers, strings, lists and dictionaries). If this file has a function drive, as here,
# drive gets them instead, after the program's function. A program that scores below the threshold of a stage fails and
# never reaches the next one. A task without stages defines ARGUMENTS = [MAPS] instead, and score(trips).
MAPS_OF = {"quick": MAPS[:1], "full": MAPS}
STAGES = {
    "quick": {"arguments": [MAPS_OF["quick"]], "threshold": 0.3},
    "full": {"arguments": [MAPS_OF["full"]]},
}

# The task for a language model: what to write, the arguments, the return value, and what the score rewards.
DESCRIPTION = """
Write cost(distance, to_start, to_center), a rule for short round trips through 40 cities of the unit square. A trip
begins at the first city. Each step goes to the unvisited city with the lowest cost. For such a city,
distance is how far it is from where the trip is now, to_start how far from the first city, and to_center how far from
the center of the square. Return a number. The score is a lower bound of the length divided by the length of the trips.
"""


def drive(cost, maps):
    """Return a round trip through each map, as chosen by the program's rule.

    If this file has no `drive`, the program's function itself is called with the arguments. Only the source of `drive`
    goes into the sandbox, so `drive` must import what it needs, and cannot use the rest of the file.
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


# Your own columns in the log, each float, int or str. A str can hold anything as JSON, such as what `draw` needs.
COLUMNS = {"length": float, "trips": str}


def score(trips, stage):
    """Return the score (a finite number of at least 0; higher is better), the values of COLUMNS, and feedback.

    A program can manipulate `drive`, since both share a process. So do not trust the result: check it, and compute the
    score here. Raise a ValueError that says why a result is invalid; the program then scores 0.

    A language model that edits the program sees the numbers of COLUMNS and the feedback: what a score cannot say.
    """
    maps = MAPS_OF[stage]
    if not isinstance(trips, list) or len(trips) != len(maps):
        raise ValueError("there must be a trip for each map")
    for cities, trip in zip(maps, trips, strict=True):
        if not all(type(number) is int for number in trip) or sorted(trip) != list(range(len(cities))):
            raise ValueError("a trip must visit every city once")
    length = sum(sum(steps(cities, trip)) for cities, trip in zip(maps, trips, strict=True))
    feedback = "\n".join(tell_longest(number, steps(maps[number], trip)) for number, trip in enumerate(trips))
    return sum(map(bound, maps)) / length, {"length": length, "trips": json.dumps(trips), "feedback": feedback}


def steps(cities, trip):
    """Return the length of each step of a round trip."""
    return [math.dist(cities[a], cities[b]) for a, b in zip(trip, trip[1:] + trip[:1], strict=True)]


def tell_longest(number, lengths):
    """Return where the longest step of a trip is."""
    longest = max(lengths)
    place = f"step {lengths.index(longest) + 1} of {len(lengths)}"
    return f"map {number}: length {sum(lengths):.2f}; its longest step is {place}, with {longest:.2f}"


def bound(cities):
    """Return a lower bound on the length of any round trip: at best, each city lies between its two nearest cities."""
    return sum(sum(sorted(math.dist(a, b) for b in cities)[1:3]) / 2 for a in cities)


def draw(columns):
    """Return a picture of the best program, as the text of an SVG or the bytes of a PNG, for the folder best/.

    The argument holds the logged values of COLUMNS, with None for a value that `score` left out. If an SVG contains
    strings from a program, pass them through html.escape first; this one contains only numbers.
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
