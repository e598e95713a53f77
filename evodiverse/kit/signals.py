"""Postponing signals during work that must not be interrupted."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def postponed_signals() -> Iterator[None]:
    """Postpone SIGINT and SIGTERM until the end of the context.

    The first signal that arrived in the context is then raised again. If an exception leaves the context, the
    signals are dropped.

    Blocking the signals in this thread would not be enough, because the threads of libraries would receive them.
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
