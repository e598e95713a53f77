"""The processor's time that reading hostile text takes."""

import time
from collections.abc import Callable

MAX_SECONDS = 1.0
"""What a runner may spend on anything that a reply holds."""

_NEGLIGIBLE = 0.02


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return how long this process computes, in seconds; what others do meanwhile does not count."""
    began = time.process_time()
    work()
    return time.process_time() - began


def is_linear(read: Callable[[str], object], flood: Callable[[int], str], size: int) -> bool:
    """Tell whether a flood of twice the size takes at most three times as long; quadratic work takes four times.

    Each size is timed up to five times and the fastest counts, as a garbage collection may hit any of them.
    """
    short, long = flood(size), flood(2 * size)
    short_seconds = long_seconds = float("inf")
    for _ in range(5):
        short_seconds = min(short_seconds, cpu_seconds(lambda: read(short)))
        long_seconds = min(long_seconds, cpu_seconds(lambda: read(long)))
        if long_seconds < max(3 * short_seconds, _NEGLIGIBLE):
            return True
    return False
