"""Mean curves over runs."""

import numpy as np
import pytest

from evodiverse.results.figures.curves import hold, make_band, make_iteration_band


def test_a_curve_holds_its_value_until_the_next_call() -> None:
    found = hold([2, 5], [0.1, 0.4], np.array([1.0, 2, 4.9, 5, 9]))
    assert found.tolist() == pytest.approx([np.nan, 0.1, 0.1, 0.4, 0.4], nan_ok=True)


def test_a_run_that_ended_early_keeps_its_last_value() -> None:
    band = make_band([([1], [0.2]), ([1, 3], [0.4, 0.8])], end=6)
    assert band.x.tolist() == [1, 3, 6]
    assert band.mean.tolist() == pytest.approx([0.3, 0.5, 0.5])


def test_iterations_are_at_the_mean_of_the_calls_of_their_runs() -> None:
    band = make_iteration_band([([2, 4], [0.2, 0.4]), ([2, 6, 8], [0.4, 0.6, 0.8])])
    assert band.x.tolist() == [2, 5, 8]
    assert band.mean.tolist() == pytest.approx([0.3, 0.5, 0.6])


def test_the_calls_never_fall_when_a_run_ends() -> None:
    band = make_iteration_band([([10, 20, 30], [0.1, 0.2, 0.3]), ([2, 4, 6, 8, 10], [0.1, 0.2, 0.3, 0.4, 0.5])])
    assert band.x.tolist() == [6, 12, 18, 18, 18]


def test_runs_without_a_value_at_an_iteration_do_not_count_there() -> None:
    band = make_iteration_band([([1, 2], [None, 0.4]), ([1, 2], [None, None])])
    assert band.mean.tolist() == pytest.approx([np.nan, 0.4], nan_ok=True)
