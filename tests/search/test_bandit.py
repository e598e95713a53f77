"""Requests are shared out among models by an upper confidence bound on their gains per dollar."""

from collections.abc import Sequence
from math import inf, log, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from evodiverse.search.bandit import HALF_LIFE, Arm, find_indices, gained, learn, share_out
from evodiverse.search.state import Attempt
from evodiverse.vocabulary import Evaluation, Outcome

SCORES = np.array([0.3, 0.5, np.nan, 0.4])
EVEN = (1.0, 1.0)


def attempt(outcome: Outcome, score: float | None, *parents: int) -> Attempt:
    evaluation = None if outcome in (Outcome.REJECTED, Outcome.DUPLICATE) else Evaluation(score, score)
    return Attempt(1, 0, 0, 1, outcome, "llm", parents, evaluation=evaluation, llm_call=1)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (attempt(Outcome.EVALUATED, 0.6, 1, 2), True),
        (attempt(Outcome.EVALUATED, 0.5, 1, 2), False),
        (attempt(Outcome.EVALUATED, 0.4, 1, 2), False),
        (attempt(Outcome.EVALUATED, None, 1), False),
        (attempt(Outcome.REUSED, 0.6, 1, 2), False),
        (attempt(Outcome.DUPLICATE, None, 1), False),
        (attempt(Outcome.REJECTED, None, 1), False),
    ],
)
def test_a_request_gains_if_its_candidate_is_new_and_better_than_each_parent(made: Attempt, expected: bool) -> None:
    assert gained(made, SCORES) == expected


def test_the_index_is_wilsons_upper_bound_per_mean_cost() -> None:
    arms = [Arm(100, 20, 4.0), Arm(50, 5, 0.5)]
    z = sqrt(log(151) / 2)
    bounds = [
        binomtest(gains, n).proportion_ci(1 - 2 * norm.sf(z), method="wilson").high for gains, n in ((20, 100), (5, 50))
    ]
    assert find_indices(arms, [0, 0]) == pytest.approx([bounds[0] / 0.04, bounds[1] / 0.01])
    assert find_indices(arms, [0, 0]) == pytest.approx([6.7586, 18.7411], abs=1e-4)  # computed by hand


def test_requests_that_were_dealt_narrow_the_interval_and_leave_the_mean() -> None:
    arms = [Arm(100, 20, 4.0), Arm(50, 5, 0.5)]
    more = [Arm(110, 22, 4.4), Arm(50, 5, 0.5)]
    assert find_indices(arms, [10, 0]) == pytest.approx(find_indices(more, [0, 0]))


def test_without_any_cost_gains_per_request_count() -> None:
    free, paid = [Arm(10, 2), Arm(10, 3)], [Arm(10, 2, 10.0), Arm(10, 3, 10.0)]
    assert find_indices(free, [0, 0]) == find_indices(paid, [0, 0])


def test_a_model_whose_requests_cost_nothing_so_far_comes_before_those_that_cost() -> None:
    assert find_indices([Arm(1, 0, 0.0), Arm(1, 1, 1.0)], [0, 0])[0] == inf


def test_older_requests_count_half_after_as_many_as_the_half_life() -> None:
    arms = learn({"a": Arm(80, 8, 4.0), "b": Arm(40, 2, 1.0)}, {"a": Arm(HALF_LIFE, 100, 50.0), "b": Arm()})
    assert arms == {"a": Arm(HALF_LIFE + 40, 104, 52.0), "b": Arm(20, 1, 0.5)}


def test_the_weights_hold_until_each_model_had_a_request() -> None:
    assert share_out([Arm(), Arm()], [3, 1], 10) == [0.75, 0.25]
    assert share_out([Arm(5, 5, 1.0), Arm()], [3, 1], 10) == [0.75, 0.25]


def test_equal_models_share_the_requests_equally_whatever_their_weights() -> None:
    assert share_out([Arm(10, 2, 1.0), Arm(10, 2, 1.0)], [3, 1], 10) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("arms", "better"),
    [
        ([Arm(200, 40, 1.0), Arm(200, 10, 1.0)], 0),  # more gains at the same cost
        ([Arm(200, 40, 10.0), Arm(200, 40, 1.0)], 1),  # as many gains at a tenth of the cost
        ([Arm(200, 80, 10.0), Arm(200, 20, 1.0)], 1),  # four times as many gains at ten times the cost
        ([Arm(200, 80, 2.0), Arm(200, 20, 1.0)], 0),  # four times as many gains at twice the cost
    ],
)
def test_the_model_with_more_gains_per_dollar_gets_the_requests(arms: Sequence[Arm], better: int) -> None:
    assert share_out(arms, EVEN, 20)[better] == 1


def test_a_model_of_few_requests_gets_some_but_not_all() -> None:
    assert 0 < share_out([Arm(500, 100, 5.0), Arm(3, 0, 0.03)], EVEN, 140)[1] < 0.3


def play(rates: Sequence[float], costs: Sequence[float], n_iterations: int, arms: dict[str, Arm], seed: int) -> float:
    """Play iterations of 20 requests; return the share that the first model gets, and update the models."""
    rng = np.random.default_rng(seed)
    counts = np.zeros(2)
    for _ in range(n_iterations):
        requests = rng.multinomial(20, share_out(list(arms.values()), EVEN, 20))
        gains = rng.binomial(requests, rates)
        counts += requests
        seen = {name: Arm(*one) for name, *one in zip(arms, requests, gains, requests * costs, strict=True)}
        arms.update(learn(arms, seen))
    return float(counts[0] / counts.sum())


@pytest.mark.parametrize("seed", range(5))
def test_most_requests_go_to_the_better_model_for_the_money(seed: int) -> None:
    assert play([0.05, 0.2], [1.0, 10.0], 40, {"cheap": Arm(), "dear": Arm()}, seed) > 0.8


@pytest.mark.parametrize("seed", range(5))
def test_a_model_that_has_become_the_better_one_gets_most_requests_in_time(seed: int) -> None:
    arms = {"first": Arm(), "second": Arm()}
    assert play([0.3, 0.1], [1.0, 1.0], 100, arms, seed) > 0.75
    play([0.02, 0.1], [1.0, 1.0], 100, arms, seed + 100)
    assert play([0.02, 0.1], [1.0, 1.0], 30, arms, seed + 200) < 0.35
