"""Signals that must wait until something is whole."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def postponed_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM take effect at the end, not within.

    Blocking them would not do: other threads, of libraries, would get them.
    """
    noted: list[int] = []

    def note(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        noted.append(signum)

    handlers = {signum: signal.signal(signum, note) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
    if noted:
        signal.raise_signal(noted[0])
