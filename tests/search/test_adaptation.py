"""The adaptation of ξ, event by event."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.adaptation import XI_BOUNDS, Thermostat, adapt_xi
from tests.search.builders import make_method


def run(rates: list[float | None], *, xi: float = 2.5, **changes: object) -> list[Thermostat]:
    """Return the thermostat after each event."""
    swap, thermostat, history = make_method(**changes).swap, Thermostat(xi), []
    for rate in rates:
        thermostat, _ = adapt_xi(thermostat, rate, swap)
        history.append(thermostat)
    return history


def factors(rates: list[float | None], **changes: object) -> list[float]:
    """Return the factor by which each event multiplied ξ."""
    xis = [2.5, *(thermostat.xi for thermostat in run(rates, **changes))]
    return [round(after / before, 12) for before, after in pairwise(xis)]


def test_each_event_moves_xi_when_the_window_is_one() -> None:
    assert factors([1.0, 0.6, 0.4, 0.2, 0.0]) == [1.1, 1.1, 1.0, 0.9, 0.9]


@pytest.mark.parametrize("edge", [0.5, 0.1 + 0.4, 0.5 - 1e-10, 0.5 + 1e-10, sum([0.1] * 5), 1 - 0.5 - 1e-16])
def test_the_upper_edge_of_the_band_counts_as_reached_despite_rounding(edge: float) -> None:
    assert factors([edge]) == [1.1]


@pytest.mark.parametrize("edge", [0.3, 0.1 + 0.2, 0.1 * 3, 0.3 - 1e-10, 0.3 + 1e-10, 1 - 0.7, 3 / 10])
def test_the_lower_edge_of_the_band_counts_as_reached_despite_rounding(edge: float) -> None:
    assert factors([edge]) == [0.9]


@pytest.mark.parametrize("rate", [0.3 + 1e-8, 0.35, 0.4, 0.5 - 1e-8])
def test_a_rate_inside_the_band_does_not_change_xi(rate: float) -> None:
    assert factors([rate]) == [1.0]


@pytest.mark.parametrize(("rate", "factor"), [(0.4, 1.1), (0.2, 0.9), (0.3, 1.0), (0.39, 1.0), (0.21, 1.0)])
def test_the_band_lies_around_the_target(rate: float, factor: float) -> None:
    assert factors([rate], target=0.3) == [factor]


def test_a_window_of_five_uses_the_mean_of_five_rates_and_is_then_emptied() -> None:
    high, low = [1.0, 0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0, 0.0]
    assert factors([*high, *low, 1.0], window=5, target=0.4) == [1.0] * 4 + [1.1] + [1.0] * 4 + [0.9, 1.0]


def test_means_that_round_to_the_edge_count_as_reached() -> None:
    assert factors([0.1, 0.2, 0.3, 0.4, 0.5], window=5) == [1, 1, 1, 1, 0.9]
    assert factors([0.3, 0.4, 0.5, 0.6, 0.7], window=5) == [1, 1, 1, 1, 1.1]


def test_a_window_collects_rates_in_order() -> None:
    assert [thermostat.rates for thermostat in run([0.2, 1.0, 0.4], window=3)] == [(0.2,), (0.2, 1.0), ()]


def test_an_event_without_a_rate_changes_neither_xi_nor_the_window() -> None:
    assert factors([None, 1.0, None, None, 1.0, None], window=2) == [1.0, 1.0, 1.0, 1.0, 1.1, 1.0]


def test_a_scripted_sequence_is_followed_exactly() -> None:
    rates = [0.8, 0.5, 0.45, 0.3, None, 0.0, 0.4, 1.0]
    xi, expected = 2.5, []
    for factor in [1.1, 1.1, None, 0.9, None, 0.9, None, 1.1]:
        xi = xi if factor is None else xi * factor
        expected.append(xi)
    assert [thermostat.xi for thermostat in run(rates)] == expected


@pytest.mark.parametrize(
    ("xi", "rate", "bound"), [(990.0, 1.0, 1e3), (1e3, 1.0, 1e3), (1.05e-3, 0.0, 1e-3), (1e-3, 0.0, 1e-3)]
)
def test_xi_is_clamped_to_its_bounds(xi: float, rate: float, bound: float) -> None:
    assert adapt_xi(Thermostat(xi), rate, make_method().swap) == (Thermostat(bound), True)


@pytest.mark.parametrize(
    ("xi", "rate"), [(900.0, 1.0), (1e3, 0.4), (1e3, 0.0), (1.2e-3, 0.0), (1e-3, 0.4), (1e-3, 1.0)]
)
def test_xi_within_its_bounds_is_not_clamped(xi: float, rate: float) -> None:
    _, clamped = adapt_xi(Thermostat(xi), rate, make_method().swap)
    assert not clamped


@given(st.lists(st.none() | st.floats(0, 1), max_size=200), st.integers(1, 6))
def test_xi_never_leaves_its_bounds_and_the_window_never_overflows(rates: list[float | None], window: int) -> None:
    for thermostat in run(rates, window=window):
        assert XI_BOUNDS[0] <= thermostat.xi <= XI_BOUNDS[1]
        assert len(thermostat.rates) < window
