"""Families, compared with a count of all pairs."""

import numpy as np
import pytest

from evodiverse.search.process import ALIKE, EACH, GOOD, PRIOR, Families, Kernel, encode, find_best_of_niches, stack
from evodiverse.search.sampling import FloatArray, IntArray

RNG = np.random.default_rng(4)


def similarity(one: IntArray, other: IntArray) -> float:
    """Return the min-max kernel of two rows of counts."""
    return float(np.minimum(one, other).sum() / np.maximum(one, other).sum())


def membership(one: IntArray, other: IntArray) -> float:
    """Return 1 for similar hypotheses, and for others how far they belong to the same family."""
    alike = similarity(one, other)
    return 1.0 if alike >= ALIKE else (alike / ALIKE) ** 6


def worth(counted: IntArray, good: IntArray, hypotheses: IntArray, scale: float = 1.0) -> FloatArray:
    families = Families(Kernel(stack(encode(counted))), scale, Kernel(stack(encode(good))))
    return families.worth(stack(encode(hypotheses)))


def test_the_worth_relates_what_a_family_found_to_its_calls() -> None:
    counted, hypotheses = RNG.poisson(0.4, (300, 30)), RNG.poisson(0.4, (20, 30)) + np.eye(20, 30, dtype=np.int64)
    good, expected = counted[::25], []
    for one in hypotheses:
        n_calls = 2 * sum(membership(one, other) for other in counted)
        n_niches = sum(membership(one, other) for other in good)
        expected.append(min(1.0, (n_niches + PRIOR) / (n_calls / EACH + PRIOR)))
    assert 0.0 < min(expected) < max(expected) <= 1.0
    assert worth(counted, good, hypotheses, scale=2.0) == pytest.approx(expected)


def test_a_new_family_is_worth_1_and_one_that_never_pays_ever_less() -> None:
    known, new = np.eye(1, 30, dtype=np.int64), np.eye(1, 30, 1, dtype=np.int64)
    calls, nothing = np.repeat(known, 400, axis=0), np.eye(1, 30, 2, dtype=np.int64)
    assert worth(calls, nothing, new) == 1.0
    falling = [float(worth(calls[:n], nothing, known)[0]) for n in (1, 40, 100, 400)]
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] == pytest.approx(PRIOR / (400 / EACH + PRIOR))


def test_the_best_of_each_niche_with_a_good_candidate_stands_for_it() -> None:
    values = np.array([0.5, 1.0, 0.9, GOOD - 0.01, GOOD, 0.9])
    niches = np.array([0, 1, 1, 2, 3, 4])
    assert find_best_of_niches(values, niches).tolist() == [1, 4, 5]


def test_the_older_of_two_equal_candidates_stands_for_a_niche() -> None:
    assert find_best_of_niches(np.array([0.2, 0.7, 0.7]), np.zeros(3, dtype=np.int64)).tolist() == [1]
