"""Sparklines: numbers drawn as a row of bars in text."""

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], low: float | None = None, high: float | None = None) -> str:
    """Return one bar per value.

    Args:
        values: The values, at least one.
        low: The value of the lowest bar; by default the smallest of the values.
        high: The value of the highest bar; by default the largest of the values.
    """
    low = min(values) if low is None else low
    high = max(values) if high is None else high
    half = (high / 2 - low / 2) or 0.5  # halved, since the difference of two large numbers could overflow
    return "".join(_BARS[min(int((value / 2 - low / 2) / half * len(_BARS)), len(_BARS) - 1)] for value in values)
