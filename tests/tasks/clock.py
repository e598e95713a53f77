"""The processor's time that reading hostile text takes."""

import gc
import time
from collections.abc import Callable

from evodiverse.llm.client import MAX_CHARACTERS as MAX_REPLY

MAX_SECONDS = 5.0
"""What a slow and busy machine may spend on anything that a reply holds: the slowest takes 0.6 s on a quiet one.

What these texts do to a reader that does not look first takes minutes.
"""

_NEGLIGIBLE = 0.02


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return how long this process computes, in seconds.

    What other processes do meanwhile does not count, nor garbage collection, which goes through all that tests hold.
    """
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def is_read_in_time(read: Callable[[str], object], flood: Callable[[int], str], size: int = MAX_REPLY) -> bool:
    """Tell whether a flood takes less than `MAX_SECONDS`, and at most eight times as long as a quarter of it.

    Work that is quadratic takes sixteen times as long. Each is timed up to five times and the fastest counts.

    Args:
        read: What is timed.
        flood: Makes a text of about so many characters.
        size: Characters.
    """
    quarter, whole = flood(size // 4), flood(size)
    quarter_seconds = whole_seconds = float("inf")
    for _ in range(5):
        quarter_seconds = min(quarter_seconds, cpu_seconds(lambda: read(quarter)))
        whole_seconds = min(whole_seconds, cpu_seconds(lambda: read(whole)))
        if whole_seconds < min(max(8 * quarter_seconds, _NEGLIGIBLE), MAX_SECONDS):
            return True
    return False
