"""The rules that end a search, on scripted histories."""

import math
from dataclasses import replace

import pytest

from evodiverse.search.settings import EarlyStop, Search
from evodiverse.search.state import Progress
from evodiverse.search.stopping import StopReason, count_progress, stop_reason

EARLY = Search(attempts=3, patience=4, early_stop=EarlyStop(top=100, gain=0.125, patience=3))
OFF = Search(attempts=3, patience=4, early_stop=None)


def stops(
    top_means: list[float],
    charges: list[bool] | None = None,
    search: Search = EARLY,
    n_slots: int = 10,
    period: int = 0,
) -> list[StopReason | None]:
    """The stop reason after each iteration; the first mean is that of the initial candidates."""
    progress = Progress(top_mean=top_means[0])
    reasons = []
    for top_mean, charged in zip(top_means[1:], charges or [True] * (len(top_means) - 1), strict=True):
        progress = count_progress(progress, top_mean, n_slots, period, search, charged=charged)
        reasons.append(stop_reason(progress, 1, None, search))
    return reasons


def test_stalling_for_exactly_the_patience_stops_early() -> None:
    assert stops([1.0, 1.1, 1.2, 1.3]) == [None, None, StopReason.EARLY_STOP]


def test_a_gain_resets_the_count() -> None:
    assert stops([1.0, 1.1, 1.2, 1.5, 1.6, 1.7, 1.8]) == [None] * 5 + [StopReason.EARLY_STOP]


def test_a_gain_of_exactly_the_threshold_is_not_a_stall() -> None:
    assert stops([1.0, 1.125, 1.25, 1.375, 1.5]) == [None] * 4


def test_a_gain_is_measured_from_the_previous_iteration_not_from_the_start() -> None:
    assert stops([0.0, 0.1, 0.2, 0.3])[-1] == StopReason.EARLY_STOP


def test_a_falling_mean_of_few_candidates_is_a_stall() -> None:
    assert stops([1.0, 0.9, 0.8, 0.7])[-1] == StopReason.EARLY_STOP


def test_iterations_without_a_score_do_not_count_as_stalled() -> None:
    assert stops([math.nan] * 6) == [None] * 5


def test_early_stop_can_be_turned_off() -> None:
    assert stops([1.0] * 10, search=OFF) == [None] * 9


def test_idle_iterations_in_a_row_stop_at_the_patience() -> None:
    charges = [False, False, False, True, False, False, False, False]
    assert stops([1.0] * 9, charges, OFF) == [None] * 7 + [StopReason.PATIENCE]


def test_small_iterations_count_together() -> None:
    stop = StopReason.EARLY_STOP
    assert stops([1.0] * 10, period=30) == [None] * 8 + [stop]
    assert stops([1.0] * 8, period=25) == [None] * 6 + [None]
    gains = [1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45]  # below the threshold of 0.125, but not in three
    assert stops(gains, period=30) == [None] * 9
    assert stops(gains)[2] == stop


def test_an_idle_period_has_no_charge_at_all() -> None:
    charges = [True, *[False] * 3, *[False] * 8]
    assert stops([1.0] * 13, charges, OFF, period=20) == [None] * 9 + [StopReason.PATIENCE] * 3


@pytest.mark.parametrize(("best", "reason"), [(-0.5, StopReason.TARGET), (-1.0, None), (-2.0, None), (None, None)])
def test_a_score_above_the_target_ends_a_search(best: float | None, reason: StopReason | None) -> None:
    assert stop_reason(Progress(), 1, best, replace(OFF, target=-1.0)) == reason


def test_a_target_reached_with_the_last_call_is_the_reason() -> None:
    assert stop_reason(Progress(), 0, 1.0, replace(EARLY, target=0.0)) == StopReason.TARGET


def test_the_budget_comes_before_all_other_reasons() -> None:
    assert stop_reason(Progress(idle=9, stalled=9), 0, 1.0, EARLY) == StopReason.BUDGET


def test_early_stop_comes_before_patience() -> None:
    assert stop_reason(Progress(idle=9, stalled=9), 1, 1.0, EARLY) == StopReason.EARLY_STOP


@pytest.mark.parametrize("calls_left", [0, -1])
def test_a_search_without_calls_left_ends(calls_left: int) -> None:
    assert stop_reason(Progress(), calls_left, 1.0, OFF) == StopReason.BUDGET


def test_a_search_with_calls_left_continues() -> None:
    assert stop_reason(Progress(), 1, 1.0, EARLY) is None
