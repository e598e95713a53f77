"""The paper's metrics of molecule runs, by hand."""

from pathlib import Path

import pytest
from evodiverse.analysis.molecules import (
    count_full_iterations,
    diverse_top10_auc,
    diverse_top10_average,
    diverse_top10_curve,
    swap_acceptance,
)

from evodiverse.analysis.runs import Run
from tests.analysis.builders import SETTINGS, evaluated_row, initial_row, swap_row, write_parts, write_run

# Calls 1 to 4. The first three have no fingerprint bit in common; the last is too like the third.
SCORES = {"c1ccccc1": 0.9, "ClCCl": 0.8, "CCO": 0.3, "CCCO": 0.2}


def run_with_swaps(path: Path, *swaps: object) -> Run:
    return write_run(path, SCORES, [[[1], [2]]], swaps)


def run_with_budget(path: Path, budget: int, **settings: object) -> Run:
    """A run of four initial calls."""
    return write_run(path, SCORES, [[[1, 2], [3, 4]]], budget__oracle_calls=budget, **settings)


# The curve


def test_the_curve_has_the_mean_of_each_iteration_the_initial_one_first(tmp_path: Path) -> None:
    run = write_run(tmp_path, SCORES, [[[3], []], [[2, 3], []], [[1, 2], []]])
    assert diverse_top10_curve(run) == pytest.approx([0.3, 0.55, 0.85])


def test_the_curve_is_of_all_pools_together(tmp_path: Path) -> None:
    run = write_run(tmp_path, SCORES, [[[1], [3]], [[2], [1, 3]]])
    assert diverse_top10_curve(run) == pytest.approx([(0.9 + 0.3) / 2, (0.9 + 0.8 + 0.3) / 3])


def test_a_molecule_in_both_pools_is_counted_once(tmp_path: Path) -> None:
    # A second ethanol would pass the selection: its average similarity to the three taken is 1/3.
    run = write_run(tmp_path, SCORES, [[[1, 2, 3], [3]]])
    assert diverse_top10_curve(run) == pytest.approx([(0.9 + 0.8 + 0.3) / 3])


def test_the_curve_is_of_different_molecules(tmp_path: Path) -> None:
    run = write_run(tmp_path, SCORES, [[[3], [4]], [[1, 3, 4], []]])
    assert diverse_top10_curve(run) == pytest.approx([0.3, (0.9 + 0.3 + 0.2) / 3])


def test_molecules_that_left_the_pools_do_not_count(tmp_path: Path) -> None:
    run = write_run(tmp_path, SCORES, [[[1, 2], []], [[2, 3], []]])
    assert diverse_top10_curve(run)[1] == pytest.approx((0.8 + 0.3) / 2)


def test_the_curve_follows_the_numbers_of_the_iterations(tmp_path: Path) -> None:
    run = write_run(tmp_path, SCORES, [[[1 + iteration % 3], []] for iteration in range(12)])
    assert diverse_top10_curve(run) == pytest.approx([0.9, 0.8, 0.3] * 4)


# Iterations of a budget


@pytest.mark.parametrize(("budget", "n_iterations"), [(8, 1), (9, 2), (12, 2), (13, 3), (10_000, 2499)])
def test_a_full_iteration_charges_every_slot_and_the_last_may_be_cut(
    tmp_path: Path, budget: int, n_iterations: int
) -> None:
    assert count_full_iterations(run_with_budget(tmp_path, budget)) == n_iterations


def test_a_budget_that_the_initial_molecules_use_up_counts_as_one_iteration(tmp_path: Path) -> None:
    assert count_full_iterations(run_with_budget(tmp_path, 4)) == 1


@pytest.mark.parametrize(("ladder", "offspring", "n_iterations"), [([0.8], 2, 30), ([3, 2, 1], 5, 4)])
def test_slots_are_the_offspring_of_all_pools(
    tmp_path: Path, ladder: list[float], offspring: int, n_iterations: int
) -> None:
    run = run_with_budget(tmp_path, 64, method__ladder=ladder, method__offspring=offspring)
    assert count_full_iterations(run) == n_iterations


def test_initial_molecules_that_were_drawn_twice_cost_nothing(tmp_path: Path) -> None:
    initial = [initial_row(1, "C", 0.1), {"iteration": 0, "outcome": "reused", "reused_call": 1, "key": "C"}]
    write_parts(tmp_path, "evaluations", [initial, [evaluated_row(1, 2, "CC", 0.2)]])
    run = Run(tmp_path, {"settings": SETTINGS | {"budget.oracle_calls": 10}})
    assert count_full_iterations(run) == 3  # (10 - 1) / 4, rounded up


# Area under the curve


def test_the_area_is_the_mean_over_the_iterations_without_the_initial_one() -> None:
    assert diverse_top10_auc([0.7, 0.1, 0.3, 0.8], 3) == pytest.approx(0.4)


def test_a_curve_that_stopped_early_goes_on_at_its_last_value() -> None:
    assert diverse_top10_auc([0.0, 0.2, 0.4], 5) == pytest.approx((0.2 + 4 * 0.4) / 5)


def test_a_curve_that_goes_on_for_longer_counts_over_its_own_length() -> None:
    assert diverse_top10_auc([0.0, 0.2, 0.4, 0.9, 1.0], 2) == pytest.approx(0.625)


def test_a_curve_that_never_left_its_start_has_its_value() -> None:
    assert diverse_top10_auc([0.25], 3) == pytest.approx(0.25)


def test_the_area_leaves_the_curve_alone() -> None:
    curve = [0.1, 0.2]
    diverse_top10_auc(curve, 4)
    assert curve == [0.1, 0.2]


# Average of the last iterations


def test_the_average_is_of_the_last_five_iterations() -> None:
    assert diverse_top10_average([0.9, 0.9, 0.1, 0.2, 0.3, 0.4, 0.6]) == pytest.approx(0.32)


def test_the_average_of_a_shorter_curve_is_of_all_of_it() -> None:
    assert diverse_top10_average([0.2, 0.5]) == pytest.approx(0.35)


# Swaps


def test_the_acceptance_is_the_accepted_share_of_the_swaps_tried(tmp_path: Path) -> None:
    run = run_with_swaps(tmp_path, *[swap_row(accepted=accepted) for accepted in (True, False, False, False)])
    assert swap_acceptance(run) == 0.25


def test_blocked_swaps_do_not_count_in_the_acceptance(tmp_path: Path) -> None:
    tried = [swap_row(accepted=True), swap_row(accepted=False), swap_row(accepted=True)]
    run = run_with_swaps(tmp_path, *tried, *[swap_row(accepted=False, blocked=True)] * 5)
    assert swap_acceptance(run) == pytest.approx(2 / 3)


@pytest.mark.parametrize("n_blocked", [0, 3])
def test_without_a_swap_tried_there_is_no_acceptance(tmp_path: Path, n_blocked: int) -> None:
    run = run_with_swaps(tmp_path, *[swap_row(accepted=False, blocked=True)] * n_blocked)
    assert swap_acceptance(run) is None


def test_an_acceptance_of_none_is_zero(tmp_path: Path) -> None:
    assert swap_acceptance(run_with_swaps(tmp_path, swap_row(accepted=False))) == 0.0
