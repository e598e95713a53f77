"""Cap sets: which sets are valid, and how large those are that the blocks grow."""

from itertools import combinations, product

import numpy as np
import pytest

from evodiverse.tasks.programs.cap_set import blocks
from evodiverse.tasks.programs.cap_set.evaluator import CapSet, count_cap
from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Reason, Rejection

SQUARE = [[0, 0], [0, 1], [1, 0], [1, 1]]  # the largest cap set in the plane


def holds_a_line(vectors):
    """Return whether three different vectors sum to 0 modulo 3, tried one by one."""
    return any(all((a + b + c) % 3 == 0 for a, b, c in zip(*three, strict=True)) for three in combinations(vectors, 3))


def find_largest(n):
    """Return a cap set of n dimensions that the blocks grow from symmetries."""
    rng = np.random.default_rng(0)
    found = [blocks.join_orbits(rng, blocks.find_orbits(rng, n, 0), n) for _ in range(30)]
    return max(found, key=len).tolist()


def test_a_set_without_lines_counts_its_vectors():
    assert count_cap(SQUARE) == 4
    assert CapSet(ProgramSettings(n=2, reference=8)).score(SQUARE) == Scored(
        0.5, {"value": 4.0, "result": "[[0,0],[0,1],[1,0],[1,1]]"}
    )


@pytest.mark.parametrize(
    ("vectors", "why"),
    [
        ([*SQUARE, [2, 2]], "vectors 0, 3 and 4 lie on a line"),
        ([*SQUARE, [2, 1]], "vectors 1, 3 and 4 lie on a line"),
        ([*SQUARE, [0, 1]], "vectors 1 and 4 are the same"),
        ([*SQUARE, [3, 0]], "an entry is not 0, 1 or 2"),
        ([*SQUARE, [-1, 0]], "an entry is not 0, 1 or 2"),
        ([*SQUARE, [True, 0]], "the result is not a list of vectors of 2 integers"),
        ([*SQUARE, [1.0, 0]], "the result is not a list of vectors of 2 integers"),
        ([*SQUARE, [1]], "the result is not a list of vectors of 2 integers"),
        ([], "the result is not a list of vectors of 2 integers"),
        (None, "the result is not a list of vectors of 2 integers"),
        (SQUARE * 3, "there are only 9 vectors"),
    ],
)
def test_any_other_result_is_invalid(vectors, why):
    assert CapSet(ProgramSettings(n=2, reference=4)).score(vectors) == Rejection(Reason.INVALID, why)


def test_lines_are_found_where_trying_all_triples_finds_them():
    points = np.array(list(product(range(3), repeat=4)))
    for rng in map(np.random.default_rng, range(40)):
        vectors = rng.permutation(points)[: rng.integers(3, 12)].tolist()
        try:
            count_cap(vectors)
        except ValueError:
            assert holds_a_line(vectors)
        else:
            assert not holds_a_line(vectors), vectors


def test_symmetries_lead_to_the_largest_cap_sets_of_few_dimensions():
    assert [count_cap(find_largest(n)) for n in (2, 3, 4)] == [4, 9, 20]


def test_points_are_dropped_and_others_added_without_a_line():
    rng = np.random.default_rng(0)
    points = blocks.regrow(rng, np.zeros((0, 5), int), 1.0)
    again = blocks.regrow(rng, points, 0.3)
    assert count_cap(points.tolist()) >= 20
    assert count_cap(again.tolist()) >= 20
    assert len({*map(tuple, points.tolist())} & {*map(tuple, again.tolist())}) > len(points) / 2
