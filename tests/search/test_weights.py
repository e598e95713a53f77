"""The weight rules against the paper's formulas, written out with plain floats."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evodiverse.search.sampling import sample_with_replacement, sample_without_replacement
from evodiverse.search.weights import weights
from tests.search.builders import normalized

Formula = Callable[[list[float], float], list[float]]
unit_scores = st.lists(st.floats(0, 1), min_size=1, max_size=8)
minus_errors = st.lists(st.floats(-50, 0), min_size=1, max_size=8)
betas = st.sampled_from([0.0, 0.01, 0.2, 0.8, 1.0, 3.7])


def probabilities(rule: str, scores: list[float], beta: float) -> list[float]:
    log_weights = weights[rule](np.array(scores), beta)
    return normalized(np.exp(log_weights - log_weights.max()).tolist())


def score_floor(scores: list[float], beta: float) -> list[float]:
    return [s + 0.02 / len(scores) for s in scores]


def score_power(scores: list[float], beta: float) -> list[float]:
    return [s**beta + 1e-10 for s in scores]


def boltzmann(scores: list[float], beta: float) -> list[float]:
    return [math.exp(beta * s) for s in scores]


def rank(scores: list[float], beta: float) -> list[float]:
    """Return the weights by rank; equal scores share the mean of their quantiles."""
    below = [sum(other < score for other in scores) for score in scores]
    equal = [scores.count(score) for score in scores]
    return [math.exp(beta * (b + e / 2) / len(scores)) for b, e in zip(below, equal, strict=True)]


def boltzmann_floor(scores: list[float], beta: float) -> list[float]:
    return [math.exp(s * beta / 0.8) + 0.05 / len(scores) for s in scores]


def quantile(scores: list[float], beta: float) -> list[float]:
    """Return the weights by adding up over shares; equal scores share the mean of their weights."""
    n, weights_of_ranks = len(scores), [0.0] * len(scores)
    for size in range(1, n + 1):
        low, high = max((size - 1) / n, 1e-3), max(size / n, 1e-3)
        for place in range(size):
            weights_of_ranks[place] += math.log(high / low) / size
    ranked = sorted(scores, reverse=True)
    equal = [[place for place, other in enumerate(ranked) if other == score] for score in scores]
    return [sum(weights_of_ranks[place] for place in places) / len(places) for places in equal]


@given(unit_scores, betas)
@pytest.mark.parametrize("formula", [score_floor, score_power, boltzmann, rank, quantile])
def test_weights_of_scores_follow_the_formula_of_the_paper(formula: Formula, scores: list[float], beta: float) -> None:
    exact = normalized(formula(scores, beta))
    assert probabilities(formula.__name__, scores, beta) == pytest.approx(exact, rel=1e-9, abs=1e-300)


@given(minus_errors, betas)
def test_weights_of_errors_follow_the_formula_of_the_paper(scores: list[float], beta: float) -> None:
    exact = normalized(boltzmann_floor(scores, beta))
    assert probabilities("boltzmann_floor", scores, beta) == pytest.approx(exact, rel=1e-9, abs=1e-300)


def test_mating_of_molecules_does_not_depend_on_temperature() -> None:
    scores = [0.1, 0.9, 0.0]
    assert probabilities("score_floor", scores, 0.2) == probabilities("score_floor", scores, 0.8)


def test_the_floor_levels_a_pool_in_which_all_errors_are_large() -> None:
    assert probabilities("boltzmann_floor", [-100.0, -200.0], 0.8) == pytest.approx([0.5, 0.5], abs=1e-12)


def test_a_larger_beta_prefers_better_scores_more_strongly() -> None:
    for rule, scores in [("score_power", [0.2, 0.9]), ("boltzmann", [0.2, 0.9]), ("boltzmann_floor", [-0.8, -0.1])]:
        shares = [probabilities(rule, scores, beta)[1] for beta in (0.01, 0.2, 0.8, 3.0)]
        assert shares == sorted(set(shares))


@pytest.mark.parametrize("beta", [0.0, 0.2, 0.8, 1.0, 50.0, np.inf])
@pytest.mark.parametrize("rule", ["score_floor", "score_power", "boltzmann"])
def test_extreme_scores_give_finite_weights_without_a_warning(rule: str, beta: float) -> None:
    assert np.isfinite(weights[rule](np.array([0.0, 1.0, 1e-300, 5e-324, 0.5]), beta)).all()


@pytest.mark.parametrize("beta", [0.0, 0.01, 0.8, np.inf])
def test_extreme_errors_give_finite_weights_without_a_warning(beta: float) -> None:
    assert np.isfinite(weights["boltzmann_floor"](np.array([0.0, -0.0, -1e-300, -1e300, -3.0]), beta)).all()


@pytest.mark.parametrize("rule", ["score_power", "boltzmann", "boltzmann_floor"])
def test_beta_zero_weights_all_equally(rule: str) -> None:
    scores = [-0.3, -2.0, 0.0] if rule == "boltzmann_floor" else [0.0, 1.0, 1e-300]
    assert probabilities(rule, scores, 0.0) == [1 / 3, 1 / 3, 1 / 3]


@pytest.mark.parametrize("rule", ["score_power", "boltzmann"])
def test_infinite_beta_draws_the_best_first(rule: str) -> None:
    scores = np.array([0.3, 0.9, 0.0, 0.90001, 1e-300, 0.7])
    rng = np.random.default_rng(0)
    log_weights = weights[rule](scores, np.inf)
    assert all(sample_without_replacement(log_weights, 6, rng).tolist() == [3, 1, 5, 0, 4, 2] for _ in range(300))


@pytest.mark.parametrize("rule", ["score_power", "boltzmann"])
def test_infinite_beta_with_replacement_draws_only_the_best(rule: str) -> None:
    log_weights = weights[rule](np.array([0.3, 0.9, 0.8999, 0.9]), np.inf)
    assert set(sample_with_replacement(log_weights, 300, np.random.default_rng(0)).tolist()) == {1, 3}


def test_infinite_beta_takes_the_smallest_errors_first_unlike_the_formula() -> None:
    scores = [-2.0, -1e-3, -7.0]
    assert probabilities("boltzmann_floor", scores, 1e9) == pytest.approx([1 / 3] * 3)
    assert probabilities("boltzmann_floor", scores, np.inf) == pytest.approx([0, 1, 0])


@pytest.mark.parametrize("rule", sorted(weights))
def test_weights_of_an_empty_pool_are_empty(rule: str) -> None:
    assert all(weights[rule](np.array([]), beta).size == 0 for beta in (0.8, np.inf))


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.floats(1e-3, 1e3))
def test_rank_weights_do_not_depend_on_the_scale_of_scores(scores: list[float], scale: float) -> None:
    scaled = [score * scale for score in scores]
    if len(set(scaled)) == len(set(scores)):
        assert probabilities("rank", scaled, 3.0) == pytest.approx(probabilities("rank", scores, 3.0))


def test_quantile_draws_a_share_and_then_one_of_its_members() -> None:
    drawn = sample_with_replacement(weights["quantile"](np.arange(1000.0), 1.0), 20_000, np.random.default_rng(0))
    shares = np.exp(np.random.default_rng(1).uniform(np.log(1e-3), 0, 20_000))
    expected = 999 - np.floor(np.random.default_rng(2).random(20_000) * np.ceil(shares * 1000))
    assert stats.ks_2samp(drawn, expected).pvalue > 1e-3
