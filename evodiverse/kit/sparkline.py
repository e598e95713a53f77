"""A row of numbers as a row of bars."""

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], low: float | None = None, high: float | None = None) -> str:
    """Return one bar a value, the lowest for ``low`` and the highest for ``high`` (of the values where not given)."""
    low = min(values) if low is None else low
    high = max(values) if high is None else high
    half = (high / 2 - low / 2) or 0.5  # the whole span of two large numbers would be infinite
    return "".join(_BARS[min(int((value / 2 - low / 2) / half * len(_BARS)), len(_BARS) - 1)] for value in values)
