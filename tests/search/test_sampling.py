"""Weighted draws follow the law of successive draws, compared with its exact enumeration."""

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from evodiverse.search.sampling import draw_distinct, sample_with_replacement, sample_without_replacement
from tests.search.builders import normalized, standard_errors_off

Sampler = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]

# Very unequal weights in no order: a dominant one, two medium ones, a small one and a vanishing one.
WEIGHTS = [0.5, 40.0, 1e-9, 3.0, 0.02]
LOG_WEIGHTS = np.log(WEIGHTS)
N_DRAWS = 20_000
LIMIT = 4.5  # standard errors; the worst of five exceeds it once in 30,000 seeds


def ordered_draws(weights: list[float], size: int) -> dict[tuple[int, ...], Fraction]:
    """Return the exact probability of every ordered outcome of successive draws proportional to the weights left."""
    law = {}
    for order in itertools.permutations(range(len(weights)), size):
        left, probability = sum(map(Fraction, weights)), Fraction(1)
        for index in order:
            probability *= Fraction(weights[index]) / left
            left -= Fraction(weights[index])
        law[order] = probability
    return law


def worst_inclusion(sampler: Sampler, size: int) -> float:
    """Return by how many standard errors the worst of five inclusion frequencies differs from the exact one."""
    rng = np.random.default_rng(20_260)
    law = ordered_draws(WEIGHTS, size)
    counts = np.bincount(
        np.concatenate([sampler(LOG_WEIGHTS, size, rng) for _ in range(N_DRAWS)]), minlength=len(WEIGHTS)
    )
    exact = [float(sum(p for order, p in law.items() if index in order)) for index in range(len(WEIGHTS))]
    return max(standard_errors_off(count, p, N_DRAWS) for count, p in zip(counts, exact, strict=True))


def weight_times_uniform(log_weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    return np.argsort(-np.exp(log_weights) * rng.random(log_weights.size))[:size]


def weight_to_the_half(log_weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    return sample_without_replacement(log_weights / 2, size, rng)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_inclusion_probabilities_are_those_of_successive_draws(size: int) -> None:
    assert worst_inclusion(sample_without_replacement, size) < LIMIT


@pytest.mark.parametrize("wrong", [weight_times_uniform, weight_to_the_half])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_wrong_sampler_misses_the_inclusion_probabilities(wrong: Sampler, size: int) -> None:
    assert worst_inclusion(wrong, size) > 2 * LIMIT


def test_the_order_of_draws_follows_successive_draws() -> None:
    weights = [0.5, 4.0, 1.0, 2.5, 0.25]
    rng = np.random.default_rng(1)
    law = ordered_draws(weights, 3)
    counts = Counter(tuple(sample_without_replacement(np.log(weights), 3, rng).tolist()) for _ in range(N_DRAWS))
    assert set(counts) <= set(law)
    assert stats.chisquare([counts[order] for order in law], [float(N_DRAWS * p) for p in law.values()]).pvalue > 1e-3


def test_draws_with_replacement_have_the_probabilities_of_their_weights() -> None:
    drawn = sample_with_replacement(LOG_WEIGHTS, N_DRAWS, np.random.default_rng(2))
    counts = np.bincount(drawn, minlength=5)
    off = [standard_errors_off(c, p, N_DRAWS) for c, p in zip(counts, normalized(WEIGHTS), strict=True)]
    assert max(off) < LIMIT


def test_draws_with_replacement_are_independent() -> None:
    weights = [1.0, 5.0, 2.0]
    drawn = sample_with_replacement(np.log(weights), 2 * N_DRAWS, np.random.default_rng(3)).reshape(-1, 2)
    counts = np.bincount(3 * drawn[:, 0] + drawn[:, 1], minlength=9)
    exact = np.outer(normalized(weights), normalized(weights)).ravel()
    assert stats.chisquare(counts, N_DRAWS * exact).pvalue > 1e-3


@pytest.mark.parametrize("sampler", [sample_without_replacement, sample_with_replacement])
@pytest.mark.parametrize("shift", [-1e5, 1e5])
def test_a_common_constant_beyond_the_range_of_exp_changes_no_probability(sampler: Sampler, shift: float) -> None:
    rng = np.random.default_rng(4)
    log_weights = np.array([np.log(3.0), 0.0]) + shift
    firsts = sum(int(sampler(log_weights, 1, rng)[0]) == 0 for _ in range(N_DRAWS))
    assert standard_errors_off(firsts, 0.75, N_DRAWS) < LIMIT


def test_draws_without_replacement_are_distinct_and_capped() -> None:
    drawn = sample_without_replacement(LOG_WEIGHTS, 9, np.random.default_rng(5))
    assert sorted(drawn.tolist()) == [0, 1, 2, 3, 4]


def test_zero_weights_are_drawn_only_if_no_other_is_left() -> None:
    rng = np.random.default_rng(6)
    log_weights = np.array([-np.inf, 0.0, -np.inf, -700.0])
    assert all(set(sample_without_replacement(log_weights, 2, rng).tolist()) == {1, 3} for _ in range(200))


def test_zero_weights_are_never_drawn_with_replacement() -> None:
    log_weights = np.array([-np.inf, 0.0, -np.inf, 1.0, -np.inf])
    drawn = sample_with_replacement(log_weights, 5000, np.random.default_rng(7))
    assert set(drawn.tolist()) == {1, 3}


def test_the_generator_advances_equally_for_any_size() -> None:
    positions = set()
    for size in (1, 3, 5):
        rng = np.random.default_rng(8)
        sample_without_replacement(LOG_WEIGHTS, size, rng)
        positions.add(rng.random())
    assert len(positions) == 1


def test_an_empty_set_gives_an_empty_draw() -> None:
    assert sample_without_replacement(np.array([]), 3, np.random.default_rng(9)).size == 0


@pytest.mark.parametrize("sampler", [sample_without_replacement, sample_with_replacement])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_invalid_log_weight_is_refused(sampler: Sampler, bad: float) -> None:
    with pytest.raises(ValueError, match="finite or -inf"):
        sampler(np.array([0.0, bad]), 1, np.random.default_rng(10))


def test_drawing_with_replacement_from_only_zero_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="no weight is positive"):
        sample_with_replacement(np.array([-np.inf, -np.inf]), 1, np.random.default_rng(11))


def test_distinct_draws_weight_each_value_by_its_number_of_entries() -> None:
    items = np.array([8, 8, 8, 5, 6, 6])
    law = ordered_draws([3.0, 1.0, 2.0], 2)
    rng = np.random.default_rng(12)
    counts = Counter(tuple(draw_distinct(items, 2, rng)) for _ in range(N_DRAWS))
    observed = [counts[tuple((8, 5, 6)[i] for i in order)] for order in law]
    assert stats.chisquare(observed, [float(N_DRAWS * p) for p in law.values()]).pvalue > 1e-3


@pytest.mark.parametrize(("items", "expected"), [([4, 4, 4], {4}), ([4, 9, 4], {4, 9}), ([], set())])
def test_fewer_different_values_than_requested_give_fewer_draws(items: list[int], expected: set[int]) -> None:
    drawn = draw_distinct(np.array(items, dtype=np.int64), 3, np.random.default_rng(13))
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == expected
