"""Survivor rules: elites, tempered sampling, appending, niches, dominated novelty, fronts and founders."""

import string
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.advance import select_survivors
from evodiverse.search.pareto import Objective
from evodiverse.search.settings import Niche, Survivors
from evodiverse.search.streams import Streams
from evodiverse.search.survivors import survivor_rules
from evodiverse.vocabulary import Hypothesis
from tests.search.builders import make_archive, make_method, standard_errors_off

APPEND = Survivors("append", "score_power")
NICHE = Survivors("niche", "rank")
NONE = np.array([], dtype=np.int64)
KEEPING = [name for name in sorted(survivor_rules) if name != "founders"]
score_lists = st.lists(st.sampled_from([0.0, 1e-300, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=1, max_size=14)


def survivors(
    scores: list[float],
    *,
    beta: float = 1.0,
    iteration: int = 1,
    seed: int = 5,
    families: str = "",
    share: int = 1,
    places: Sequence[float | None] = (),
    values: Sequence[tuple[float | None, float | None]] = (),
    **changes: object,
) -> list[int]:
    """Return the surviving calls; candidates with the same letter in ``families`` are similar.

    ``places`` are the values of the only feature, and ``values`` those of two objectives: a, and 1 - b.
    """
    method = make_method(ladder=(beta,), niche=Niche(0.5, (share,)), **changes)
    contenders = np.arange(1, len(scores) + 1)

    def similarities(one: Hypothesis, others: Sequence[Hypothesis]) -> np.ndarray:
        letters = [(families or string.printable)[int(hypothesis.key[1:]) - 1] for hypothesis in (one, *others)]
        return np.array([float(letter == letters[0]) for letter in letters[1:]])

    details = [{"place": place} for place in places] or [{"a": a, "b": b} for a, b in values]
    archive, objectives = make_archive(scores, details=details), [Objective("a"), Objective("b", 1.0)]
    return select_survivors(
        iteration, 0, contenders, NONE, archive, method, Streams(seed), similarities, {"place": [0, 1]}, objectives
    ).tolist()


@given(score_lists, st.integers(1, 16), st.integers(0, 5), st.sampled_from([0.0, 0.2, 0.8, np.inf]))
@pytest.mark.parametrize("rule", KEEPING)
def test_survivors_are_distinct_sorted_and_fill_the_capacity(
    rule: str, scores: list[float], capacity: int, elites: int, beta: float
) -> None:
    kept = survivors(scores, beta=beta, capacity=capacity, elites=elites, survivors=Survivors(rule, "score_power"))
    assert kept == sorted(set(kept))
    assert set(kept) <= set(range(1, len(scores) + 1))
    assert len(kept) == min(capacity, len(scores))


@given(score_lists, st.integers(1, 13), st.integers(0, 5), st.sampled_from([0.0, 0.2, 0.8, np.inf]))
def test_elites_always_survive(scores: list[float], capacity: int, elites: int, beta: float) -> None:
    best = sorted(range(1, len(scores) + 1), key=lambda call: (-scores[call - 1], call))[: min(elites, capacity)]
    assert set(best) <= set(survivors(scores, beta=beta, capacity=capacity, elites=elites))


@given(score_lists, st.integers(1, 13), st.integers(0, 3), st.integers(1, 9))
def test_infinite_beta_keeps_the_best(scores: list[float], capacity: int, elites: int, iteration: int) -> None:
    kept = survivors(scores, beta=np.inf, capacity=capacity, elites=elites, iteration=iteration)
    assert sorted(scores[call - 1] for call in kept) == sorted(scores)[-len(kept) :]


def test_beta_zero_keeps_all_but_the_elites_with_equal_probability_even_scores_of_zero() -> None:
    scores, n_draws = [0.0, 1.0, 0.3, 1e-300, 0.0, 0.7, 0.95], 4000
    counts = Counter(
        call for k in range(n_draws) for call in survivors(scores, beta=0.0, iteration=k, capacity=4, elites=1)
    )
    assert counts.pop(2) == n_draws
    assert max(standard_errors_off(counts[call], 0.5, n_draws) for call in (1, 3, 4, 5, 6, 7)) < 4.5


@pytest.mark.parametrize("beta", [0.2, 0.8, 2.0])
def test_survival_below_the_elites_follows_the_tempered_scores(beta: float) -> None:
    scores, n_draws = [0.9, 0.1, 0.4, 0.05, 0.6], 4000
    counts = Counter(
        call for k in range(n_draws) for call in survivors(scores, beta=beta, iteration=k, capacity=3, elites=1)
    )
    weights = {call: scores[call - 1] ** beta + 1e-10 for call in (2, 3, 4, 5)}
    total = sum(weights.values())
    for call in weights:
        pairs = [pair for pair in permutations(weights, 2) if call in pair]
        exact = sum(weights[a] / total * weights[b] / (total - weights[a]) for a, b in pairs)
        assert standard_errors_off(counts[call], exact, n_draws) < 4.5


def test_a_score_of_zero_survives_if_there_is_no_other() -> None:
    assert survivors([0.0, 0.0, 0.0], capacity=2, elites=0, beta=0.8) in [[1, 2], [1, 3], [2, 3]]


def test_appending_drops_the_worst() -> None:
    assert survivors([0.3, 0.1, 0.9, 0.2], capacity=3, survivors=APPEND) == [1, 3, 4]


def test_appending_drops_the_newer_of_equal_scores() -> None:
    assert survivors([0.1, 0.3, 0.1, 0.1], capacity=3, survivors=APPEND) == [1, 2, 3]


def test_among_equal_scores_the_older_is_an_elite() -> None:
    assert survivors([0.1, 0.7, 0.7, 0.7], capacity=2, elites=2) == [2, 3]


@pytest.mark.parametrize("rule", KEEPING)
def test_all_survive_up_to_capacity(rule: str) -> None:
    assert survivors([0.0, 0.9, 0.1], capacity=3, survivors=Survivors(rule, "score_power")) == [1, 2, 3]


def test_dominated_novelty_keeps_the_best_and_what_is_far_from_all_fitter_ones() -> None:
    rule = Survivors("dominated_novelty", "rank", neighbors=1)
    places = [0.50, 0.51, 0.52, 0.9, 0.1]
    assert survivors([0.8, 0.9, 0.7, 0.2, 0.1], capacity=3, survivors=rule, places=places) == [2, 4, 5]


def test_dominated_novelty_averages_over_the_nearest_neighbors() -> None:
    scores, places = [0.9, 0.8, 0.2, 0.1], [0.0, 1.0, 0.05, 0.5]  # nearest: 0.05 and 0.45; mean of two: 0.5 and 0.475
    kept = [
        survivors(scores, capacity=3, survivors=Survivors("dominated_novelty", "rank", neighbors=n), places=places)
        for n in (1, 2)
    ]
    assert kept == [[1, 2, 4], [1, 2, 3]]


def test_dominated_novelty_drops_the_newer_of_two_candidates_with_one_score_and_one_place() -> None:
    rule = Survivors("dominated_novelty", "rank")
    assert survivors([0.5, 0.5, 0.5, 0.1], capacity=2, survivors=rule, places=[0.3, 0.3, 0.3, 0.4]) == [1, 4]


def test_dominated_novelty_drops_first_what_lacks_a_feature_and_of_that_the_worst() -> None:
    rule = Survivors("dominated_novelty", "rank")
    assert survivors([0.9, 0.8, 0.1, 0.0], capacity=3, survivors=rule, places=[None, None, 0.4, 0.4]) == [1, 3, 4]


def test_pareto_keeps_the_first_front_whatever_the_scores() -> None:
    values = [(0.1, 0.9), (0.5, 0.5), (0.4, 0.6), (0.9, 0.9)]  # the third is worse in both than the second
    assert survivors([0.0, 0.1, 0.9, 0.2], capacity=2, survivors=Survivors("pareto", "rank"), values=values) == [2, 4]


def test_pareto_thins_out_the_front_that_has_too_many_where_it_is_crowded() -> None:
    values = [(0.45, 0.45), (0.0, 0.0), (0.51, 0.51), (1.0, 1.0), (0.2, 0.2)]  # gaps of 0.31, 0.55 and 0.45 inside
    rule = Survivors("pareto", "rank")
    assert survivors([0.5] * 5, capacity=4, survivors=rule, values=values) == [2, 3, 4, 5]
    assert survivors([0.5] * 5, capacity=3, survivors=rule, values=values) == [2, 3, 4]


def test_pareto_drops_first_what_lacks_an_objective_and_of_that_the_worst() -> None:
    values = [(None, 0.1), (0.1, None), (0.1, 0.8), (0.0, 0.9)]
    rule = Survivors("pareto", "rank")
    assert survivors([0.8, 0.9, 0.0, 0.0], capacity=3, survivors=rule, values=values) == [2, 3, 4]


def test_equal_pools_choose_their_survivors_independently() -> None:
    method, archive = make_method(ladder=(1.0, 1.0), capacity=10), make_archive([0.5] * 20)
    kept = [select_survivors(1, pool, np.arange(1, 21), NONE, archive, method, Streams(5)).tolist() for pool in (0, 1)]
    assert kept[0] != kept[1]


def test_contenders_need_not_be_the_first_calls() -> None:
    method = make_method(ladder=(np.inf,), capacity=2)
    archive = make_archive([0.99, 0.2, 0.98, 0.4, 0.3])
    assert select_survivors(1, 0, np.array([2, 4, 5]), NONE, archive, method, Streams(5)).tolist() == [4, 5]


def test_at_infinite_beta_a_niche_keeps_its_best_candidate_the_oldest_among_equals() -> None:
    kept = survivors([0.9, 0.8, 0.7, 0.7, 0.1], beta=np.inf, families="aabba", capacity=2, survivors=NICHE)
    assert kept == [1, 3]


def test_a_niche_has_room_for_its_share() -> None:
    kept = survivors([0.9, 0.8, 0.7, 0.6], beta=np.inf, families="aaab", share=2, capacity=3, survivors=NICHE)
    assert kept == [1, 2, 4]


def test_skipped_candidates_fill_up_best_first_if_too_few_differ() -> None:
    kept = survivors([0.9, 0.5, 0.8, 0.7, 0.1], beta=np.inf, families="aaaab", capacity=4, survivors=NICHE)
    assert kept == [1, 3, 4, 5]


def test_elites_survive_even_if_they_are_similar() -> None:
    kept = survivors([0.9, 0.8, 0.7, 0.1], beta=np.inf, families="aaab", elites=2, capacity=3, survivors=NICHE)
    assert kept == [1, 2, 4]


def test_each_rung_has_its_own_share() -> None:
    method = make_method(ladder=(np.inf, np.inf), niche=Niche(0.5, (1, 2)), capacity=2, survivors=NICHE)
    archive = make_archive([0.9, 0.8, 0.1])
    alike = lambda one, others: np.array([float("k3" not in (one.key, other.key)) for other in others])  # noqa: E731
    kept = [select_survivors(1, rung, np.array([1, 2, 3]), NONE, archive, method, Streams(5), alike) for rung in (0, 1)]
    assert [calls.tolist() for calls in kept] == [[1, 3], [1, 2]]


@given(score_lists, st.integers(1, 13), st.integers(0, 5), st.sampled_from([0.0, 0.2, 3.0]), st.integers(0, 9))
def test_niches_change_nothing_if_all_candidates_differ(
    scores: list[float], capacity: int, elites: int, beta: float, seed: int
) -> None:
    one, other = (
        survivors(scores, beta=beta, capacity=capacity, elites=elites, seed=seed, survivors=Survivors(rule, "rank"))
        for rule in ("niche", "sample")
    )
    assert one == other


def test_the_draw_among_similar_candidates_follows_the_weights() -> None:
    scores, n_draws = [0.1, 0.5, 0.9, 0.2], 4000
    kept = Counter(
        call
        for seed in range(n_draws)
        for call in survivors(scores, beta=2.0, families="aaab", capacity=2, seed=seed, survivors=NICHE)
    )
    weights = {call: np.exp(2.0 * (rank - 0.5) / 4) for rank, call in enumerate((1, 4, 2, 3), start=1)}
    alike = weights[1] + weights[2] + weights[3]
    assert kept[4] == n_draws
    for call in (1, 2, 3):
        assert standard_errors_off(kept[call], weights[call] / alike, n_draws) < 4.5


@given(score_lists, st.integers(1, 5), st.integers(0, 5))
def test_founders_survive_any_offspring(scores: list[float], n_members: int, elites: int) -> None:
    method = make_method(ladder=(1.0,), capacity=2, elites=elites, survivors=Survivors("founders", "score_power"))
    calls = np.arange(1, len(scores) + 1)
    members, offspring = calls[:n_members], calls[n_members:]
    kept = select_survivors(1, 0, members, offspring, make_archive(scores), method, Streams(5))
    assert kept.tolist() == members.tolist()


def test_a_founder_that_is_proposed_again_survives() -> None:
    method = make_method(ladder=(1.0,), survivors=Survivors("founders", "score_power"))
    archive = make_archive([0.1, 0.2, 0.3])
    kept = select_survivors(1, 0, np.array([1, 2]), np.array([2, 3]), archive, method, Streams(5))
    assert kept.tolist() == [1, 2]
