"""The adaptation of the powering factor ξ, the power to which the Metropolis acceptance ratio of a swap is raised.

The adaptation is meant to keep the swap rate near its target (paper, detailed algorithm).
"""

from dataclasses import dataclass

from evodiverse.search.settings import Swap

XI_BOUNDS = (1e-3, 1e3)
BAND_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Thermostat:
    """The current ξ, and the swap rates in [0, 1] collected since ξ was last adapted.

    ξ is the power to which the Metropolis acceptance ratio of a swap is raised.
    """

    xi: float
    rates: tuple[float, ...] = ()


def adapt_xi(thermostat: Thermostat, rate: float | None, swap: Swap) -> tuple[Thermostat, bool]:
    """Add the swap rate of an exchange, and adapt ξ once ``swap.window`` rates are collected.

    ξ is the power to which the Metropolis acceptance ratio of a swap is raised. A mean rate of at least τ + ε/2
    multiplies ξ by 1.1, and a mean rate of at most τ - ε/2 multiplies it by 0.9. A mean rate within 1e-9 of one of
    these edges counts as having reached it. After each adaptation, the collected rates are dropped. ξ stays in
    [1e-3, 1e3].

    Args:
        thermostat: The thermostat before the exchange.
        rate: The swap rate of the exchange (see `swap_rate`), or None if no swap was possible. If it is None, nothing
            changes.
        swap: The settings with the target τ, the tolerance ε and the window L.

    Returns:
        The thermostat after the exchange, and whether ξ was clamped to its bounds.
    """
    if rate is None:
        return thermostat, False
    rates = (*thermostat.rates, rate)
    if len(rates) < swap.window:
        return Thermostat(thermostat.xi, rates), False
    excess, edge = sum(rates) / len(rates) - swap.target, swap.tolerance / 2 - BAND_TOLERANCE
    factor = 1.1 if excess >= edge else 0.9 if excess <= -edge else 1.0
    moved = thermostat.xi * factor
    clamped = min(max(moved, XI_BOUNDS[0]), XI_BOUNDS[1])
    return Thermostat(clamped), clamped != moved
