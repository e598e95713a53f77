"""The powering factor ξ: a thermostat that keeps the swap rate near its target (paper, detailed algorithm)."""

from dataclasses import dataclass

from evodiverse.search.settings import Swap

XI_BOUNDS = (1e-3, 1e3)
BAND_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Thermostat:
    """The present ξ, and the swap rates (0 to 1) gathered since it was last judged."""

    xi: float
    rates: tuple[float, ...] = ()


def adapt_xi(thermostat: Thermostat, rate: float | None, swap: Swap) -> tuple[Thermostat, bool]:
    """Take in the rate of one exchange event and move ξ once ``swap.window`` rates are there.

    The mean rate at or above τ + ε/2 multiplies ξ by 1.1, at or below τ - ε/2 by 0.9 (edges within 1e-9 count as
    reached); the gathered rates are then dropped. ξ stays in [1e-3, 1e3].

    Args:
        thermostat: Before the event.
        rate: Accepted over unblocked pairs of the event; None, when there was no unblocked pair, changes nothing.
        swap: Target τ, tolerance ε and window L.

    Returns:
        The thermostat after the event, and whether ξ was clamped to its bounds.
    """
    if rate is None:
        return thermostat, False
    rates = (*thermostat.rates, rate)
    if len(rates) < swap.window:
        return Thermostat(thermostat.xi, rates), False
    mean = sum(rates) / len(rates)
    factor = 1.0
    if mean >= swap.target + swap.tolerance / 2 - BAND_TOLERANCE:
        factor = 1.1
    elif mean <= swap.target - swap.tolerance / 2 + BAND_TOLERANCE:
        factor = 0.9
    moved = thermostat.xi * factor
    low, high = XI_BOUNDS
    clamped = min(max(moved, low), high)
    return Thermostat(clamped), clamped != moved
