"""The archive: counts of calls, stored results and the best candidate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.archive import Archive
from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis
from tests.search.builders import make_archive

some_scores = st.lists(st.none() | st.floats(-1e6, 1e6), max_size=60)


def test_a_call_counts_when_it_is_reserved() -> None:
    archive = Archive()
    assert [archive.reserve("a"), archive.reserve("b"), archive.n_calls] == [1, 2, 2]
    assert archive.scores.size == 0


def test_a_key_is_charged_once_per_run() -> None:
    with pytest.raises(ValueError, match="'k1' was charged before"):
        make_archive([0.5]).reserve("k1")


def test_results_must_come_in_the_order_of_their_calls() -> None:
    archive = Archive()
    archive.reserve("a")
    archive.reserve("b")
    with pytest.raises(ValueError, match="expected the evaluation of call 1, got that of 'b'"):
        archive.record(Hypothesis("B", "b"), Evaluation(0.1, -0.1))


def test_a_result_without_a_charge_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the evaluation of call 1"):
        Archive().record(Hypothesis("A", "a"), Evaluation(0.1, -0.1))


def test_a_result_cannot_be_recorded_twice() -> None:
    archive = make_archive([0.5])
    with pytest.raises(ValueError, match="expected the evaluation of call 2"):
        archive.record(Hypothesis("g1", "k1"), Evaluation(0.5, -0.5))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_result_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        make_archive([0.5, bad], [1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        make_archive([0.5, 0.6], [1.0, bad])


@pytest.mark.parametrize(("score", "energy"), [(0.5, None), (None, 0.5)])
def test_a_score_without_an_energy_is_refused(score: float | None, energy: float | None) -> None:
    with pytest.raises(ValueError, match="both or neither"):
        make_archive([score], [energy])


def test_an_evaluated_candidate_is_found_by_call_and_by_key() -> None:
    archive = make_archive([0.5, 0.7], [3.0, 4.0])
    assert archive.call_of("k2") == 2
    assert archive.candidate(2) == Candidate(2, "g2", "k2", 0.7, 4.0)
    assert archive.evaluation(2) == Evaluation(0.7, 4.0)


def test_a_key_never_charged_has_no_call() -> None:
    assert make_archive([0.5]).call_of("k2") is None


def test_a_failed_evaluation_is_charged_and_has_no_score() -> None:
    archive = make_archive([0.5, None, 0.7])
    assert archive.n_calls == 3
    assert np.isnan(archive.scores).tolist() == [False, True, False]
    assert np.isnan(archive.energies).tolist() == [False, True, False]


def test_the_best_of_equal_scores_is_the_oldest() -> None:
    best = make_archive([None, 0.2, 0.7, 0.7]).best()
    assert best is not None
    assert best.call == 3


@pytest.mark.parametrize("scores", [[], [None, None]])
def test_there_is_no_best_if_all_evaluations_failed(scores: list[None]) -> None:
    assert make_archive(scores).best() is None


@given(some_scores, st.integers(1, 20))
def test_the_mean_of_the_best_is_that_of_the_sorted_scores(scores: list[float | None], top: int) -> None:
    best = sorted((score for score in scores if score is not None), reverse=True)[:top]
    expected = np.mean(best) if len(best) == top else np.nan
    assert make_archive(scores, top=top).top_mean() == pytest.approx(expected, rel=1e-9, abs=1e-6, nan_ok=True)


@given(st.permutations([0.1, 0.7, 1e-17, None, 0.3, 1 / 3, 0.7, 0.2]))
def test_the_mean_of_the_best_does_not_depend_on_the_order_of_scores(scores: list[float | None]) -> None:
    assert make_archive(scores, top=5).top_mean() == make_archive(sorted(scores, key=str), top=5).top_mean()


def test_there_is_no_mean_of_the_best_unless_requested() -> None:
    assert np.isnan(make_archive([0.5]).top_mean())


def test_an_archive_grows_beyond_its_first_arrays() -> None:
    scores = np.random.default_rng(0).random(2500)
    archive = make_archive(scores.tolist(), top=100)
    assert archive.scores.tolist() == scores.tolist()
    assert archive.energies.tolist() == (-scores).tolist()
    assert archive.top_mean() == pytest.approx(np.sort(scores)[-100:].mean(), rel=1e-12)
