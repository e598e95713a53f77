"""Programs to change: the seed of circle packing, and some that use much of the syntax of Python."""

import ast
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np

from evodiverse.kit.python import parse_file
from evodiverse.tasks.programs import domain
from evodiverse.tasks.programs.operators.moves import BLOCKS, Grammar, Move, read_moves
from evodiverse.tasks.programs.operators.operator import ProgramOperator
from evodiverse.tasks.programs.operators.syntax import NoChildError, read_program
from evodiverse.tasks.programs.settings import ProgramSettings, find_folder
from evodiverse.vocabulary import Candidate, Prompt, Request, Stream


def find_fault(centers: Sequence[Sequence[float]], radii: Sequence[float]) -> str | None:
    """Return why circles are not a packing of the unit square, without any tolerance, or None if they are one.

    This shares no code with the scoring, and calculates with fractions.
    """
    circles = [(Fraction(x), Fraction(y), Fraction(radius)) for (x, y), radius in zip(centers, radii, strict=True)]
    for number, (x, y, radius) in enumerate(circles):
        if radius < 0:
            return f"circle {number} has a negative radius"
        if min(x, y) < radius or max(x, y) + radius > 1:
            return f"circle {number} leaves the square"
    for (number, (x, y, radius)), (other, (its_x, its_y, its_radius)) in combinations(enumerate(circles), 2):
        if (x - its_x) ** 2 + (y - its_y) ** 2 < (radius + its_radius) ** 2:
            return f"circles {number} and {other} overlap"
    return None


def start_of(task: str, n: int | None = None) -> str:
    """Return the program that a search starts from."""
    (source,) = domain._read_initial(ProgramSettings(evaluator=task, n=n, instances="or3"))
    return source


@cache
def grammar_of(task: str) -> Grammar:
    """Return the moves of a task as a grammar."""
    grammar = read_moves(find_folder(task))
    assert grammar is not None
    return grammar


def moves_of(task: str) -> dict[str, Move]:
    """Return the moves of a task by name."""
    return dict(grammar_of(task).moves)


def blocks_of(task: str) -> ast.Module:
    """Return the functions that the moves of a task may call."""
    return parse_file(find_folder(task) / BLOCKS)


SEED = start_of("circle_packing")

BINS = '''"""First fit."""
import numpy as np

CAPACITY = 10
WEIGHT, BIAS = 0.5, -1.5
LIMITS: list[float] = [1.0, 2.5]


def priority(item, bins):
    """Say how good each bin is."""
    left = bins - item
    score = -(left**2) * WEIGHT + BIAS / (1 + left)
    score[left < 0] = -np.inf
    for limit in LIMITS:
        score += np.where(left > limit, 0.1 * limit, 0)
    return score


def solve():
    bins = np.full(20, float(CAPACITY))
    for item in [5, 3, 7, 2.5, 9]:
        chosen = int(np.argmax(priority(item, bins)))
        if bins[chosen] >= item and chosen < len(bins):
            bins[chosen] -= item
        else:
            break
    return int(np.sum(bins < CAPACITY))
'''

SYNTAX = '''
from __future__ import annotations

import math as m

COUNT = 3
calls = 0


def memoized(function):
    seen = {}

    def wrapper(n, *rest, scale=1.5, **options):
        nonlocal seen
        global calls
        if n not in seen:
            calls += 1
            seen[n] = function(n)
        return seen[n]

    return wrapper


@memoized
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Shape:
    """A shape."""

    sides: int = 4

    def area(self, size=2.0):
        return self.sides * size**2 / 4


async def later(values):
    async for value in values:
        yield await value


def halve(x):
    steps = 0
    while x > 1:
        x = x // 2
        steps += 1
    return steps


def solve():
    """Do a bit of everything.

    With a text of several lines.
    """
    text = """one
  two"""
    total = 0

    def nothing():
        """Do nothing.

        In two lines.
        """

    try:
        with open("/dev/null") as file:
            total += len(file.read())
    except (OSError, ValueError) as error:
        total = -1 if str(error) else 0
    else:
        total += 1
    finally:
        total = total * 2
    table = {key: [value for value in range(key) if value % 2] for key in range(4)}
    pick = lambda a, b=2: a * b  # noqa: E731
    for index, (key, values) in enumerate(table.items()):
        if (size := len(values)) > 1 and key != 2 or not index:
            total += pick(size)
            continue
        for value in values:
            if value == 3:
                break
    match total:
        case 0 | 1:
            label = f"{total:03d} {'few'} {{}}"
        case int() as many if many > 100:
            label = f"{many / 7:.2f}\\n"
        case _:
            label = "other"
    return total + len(label) + len(text) + halve(40) + int(Shape().area()) + fibonacci(6) + int(m.sqrt(COUNT))
'''

GENERIC = {"bins": BINS, "syntax": SYNTAX}


def tried(change: Callable[..., ast.Module], *arguments: object) -> ast.Module | None:
    """Return the child that a change makes of a program, or None if it makes none."""
    try:
        return change(*arguments)
    except NoChildError:
        return None


def read(source: str) -> ast.Module:
    """Return the tree of a program."""
    tree = read_program(source)
    if tree is None:
        raise ValueError(f"expected a program, got {source!r}")
    return tree


def request(*parents: str, slot: int = 0, scores: tuple[float, ...] = (), seed: int = 0) -> Request:
    """Return a request with these programs for parents; their scores are 0.5, 0.6 … or those given, 0 for a failure."""
    scores = scores or tuple(0.5 + 0.1 * index for index in range(len(parents)))
    candidates = tuple(
        Candidate(call, source, source, score, -score, "" if score else "crashed")
        for call, (source, score) in enumerate(zip(parents, scores, strict=True), start=1)
    )
    return Request(1, 0, slot, 1, candidates, Prompt.COLD, Stream(seed, 4, 1, 0, slot, 1))


@cache
def packing_programs(count: int = 30) -> tuple[str, ...]:
    """Return the seed and its descendants by chance, each a child of up to three of those before."""
    programs = [SEED]
    operator = ProgramOperator("construct_packing", grammar_of("circle_packing"))
    rng = np.random.default_rng(1)
    for slot in range(count - 1):
        parents = [programs[index] for index in rng.permutation(len(programs))[:3]]
        (proposal,) = operator.propose([request(*parents, slot=slot)])
        if proposal.genotype is not None:
            programs.append(proposal.genotype)
    return tuple(programs)
