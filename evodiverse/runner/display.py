"""What a person sees while a run goes on."""

import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from math import inf
from typing import TextIO

from evodiverse.ports import Snapshot


class PlainDisplay:
    """One line that says how the run stands: rewritten in place on a terminal, else printed anew now and then.

    Args:
        stream: Where it is written.
        clock: Seconds, for instance `time.monotonic`.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._interval = 0.5 if self._is_terminal else 10.0
        self._last: float | None = None
        self._width = 0

    def update(self, snapshot: Callable[[], Snapshot], *, final: bool = False) -> None:
        """Write the line if the last one is old enough, and in any case the first and the ``final`` one."""
        now = self._clock()
        if not final and self._last is not None and now - self._last < self._interval:
            return
        self._last = now
        line = format_snapshot(snapshot())
        if self._is_terminal:
            line = line[: shutil.get_terminal_size().columns - 1]  # one that wraps cannot be rewritten
        text = f"\r{line.ljust(self._width)}" + ("\n" if final else "") if self._is_terminal else f"{line}\n"
        self._width = len(line)
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # nobody reads any more, which is no reason to end a search
            self._interval = inf


def format_snapshot(snapshot: Snapshot) -> str:
    """Return a snapshot as one line; what is not known is left out or shown as ``-``."""
    parts = [
        f"iteration {snapshot.iteration}",
        f"{snapshot.oracle_calls:,}/{snapshot.budget:,} calls",
        f"best {_number(snapshot.best)}",
    ]
    if snapshot.summary_name is not None:
        parts.append(f"{snapshot.summary_name} {_number(snapshot.summary)}")
    if snapshot.xi is not None:
        parts.append(f"swaps {_number(snapshot.swap_rate)}, ξ {snapshot.xi:.3g}")
    elif snapshot.swap_rate is not None:
        parts.append(f"swaps {_number(snapshot.swap_rate)}")
    parts.append(f"{snapshot.calls_per_second:,.0f} calls/s")
    if snapshot.seconds_left is not None:
        parts.append(f"{timedelta(seconds=round(snapshot.seconds_left))} left")
    return " | ".join(parts)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
