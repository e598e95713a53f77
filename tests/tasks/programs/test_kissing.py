"""Kissing numbers: which directions are far enough apart, and how many the blocks find."""

import math

import numpy as np
import pytest

from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.kissing import blocks
from evodiverse.tasks.programs.kissing.evaluator import Kissing, count_directions
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Reason, Rejection

ROOTS = blocks.list_vectors(3, 2)  # the twelve neighbors in the densest lattice


def test_the_roots_of_known_lattices_reach_the_kissing_numbers():
    eight = [
        *(2 * blocks.list_vectors(8, 2)),
        *(v for v in np.indices((2,) * 8).reshape(8, -1).T * 2 - 1 if v.prod() > 0),
    ]
    four = blocks.list_vectors(4, 2)
    assert [count_directions([list(map(int, v)) for v in vectors]) for vectors in (ROOTS, four, eight)] == [12, 24, 240]


def test_vectors_of_different_lengths_are_compared_by_angle():
    assert count_directions([[7, 0], [0, 1], [-2, -1]]) == 3
    with pytest.raises(ValueError, match="vectors 0 and 2 are less than 60 degrees apart"):
        count_directions([[1, 0], [0, 1], [10, 10]])


@pytest.mark.parametrize("scale", [1, 10**14])
def test_sixty_degrees_are_checked_to_the_last_bit(scale):
    root = math.isqrt(3 * scale**2)  # a little below √3 · scale
    apart, near = [scale, root + 1], [scale, root]
    assert count_directions([[1, 0], apart]) == 2
    with pytest.raises(ValueError, match="vectors 0 and 1"):
        count_directions([[1, 0], near])
    with pytest.raises(ValueError, match="vectors 0 and 1"):
        count_directions([[scale, 0], [2 * scale, 0]])


@pytest.mark.parametrize("largest", [10, 10**9])
def test_large_and_small_integers_are_judged_alike(largest):
    rng = np.random.default_rng(0)
    scale = largest // 10
    for _ in range(50):
        vectors = rng.integers(-10, 11, (2, 3))
        products = vectors @ vectors.T
        is_apart = products[0, 1] <= math.sqrt(products[0, 0] * products[1, 1]) / 2 + 1e-9
        try:
            count_directions((vectors * scale).tolist())
        except ValueError:
            assert not is_apart or not products.diagonal().all()
        else:
            assert is_apart


@pytest.mark.parametrize(
    ("vectors", "why"),
    [
        ([[1, 0, 0], [0, 0, 0]], "vector 1 is zero"),
        ([[1, 0, 0], [1, 0, 0]], "vectors 0 and 1 are less than 60 degrees apart"),
        ([[1.5, 0, 0]], "the result is not a list of vectors of 3 integers"),
        ([[10**15 + 1, 0, 0]], "expected up to 1,000 vectors of integers up to 10**15"),
        ([[1, 0, 0]] * 1001, "expected up to 1,000 vectors of integers up to 10**15"),
    ],
)
def test_any_other_result_is_invalid(vectors, why):
    assert Kissing(ProgramSettings(n=3, reference=12)).score(vectors) == Rejection(Reason.INVALID, why)


def test_the_score_is_the_share_of_the_reference():
    scored = Kissing(ProgramSettings(n=3, reference=24)).score(ROOTS.tolist())
    assert isinstance(scored, Scored)
    assert (scored.score, scored.details["value"]) == (0.5, 12.0)


def test_vectors_of_one_length_are_complete_and_sorted():
    assert len(blocks.list_vectors(11, 4)) == 16 * 330 + 22
    codes = blocks.list_vectors(4, 3) @ (3 ** np.arange(4)[::-1])
    assert (np.diff(codes) > 0).all()


def test_symmetries_lead_to_the_kissing_number_in_four_dimensions():
    rng = np.random.default_rng(0)
    vectors = blocks.list_vectors(4, 4)
    found = [blocks.join_orbits(rng, vectors, blocks.find_orbits(rng, vectors, 1, 1)) for _ in range(20)]
    assert max(count_directions(each.tolist()) for each in found) == 24


def test_vectors_are_dropped_and_others_added_far_enough_apart():
    again = blocks.regrow(np.random.default_rng(0), ROOTS, blocks.list_vectors(3, 6), 0.5)
    assert count_directions(again.tolist()) == len(again) > 4
