"""The process: its signals, its standard streams and its messages."""

import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

from evodiverse.errors import Interrupted, ServiceError
from evodiverse.text import printable

_SHOW_CURSOR = "\x1b[?25h"


class _Signals:
    """The handler of SIGINT and SIGTERM: raises `Interrupted` at once or, if ``deferred``, when `check` is called."""

    def __init__(self) -> None:
        self.deferred = False
        self.noted: int | None = None

    def receive(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002
        for again in (signal.SIGINT, signal.SIGTERM):
            signal.signal(again, signal.SIG_DFL)  # a second signal ends the process at once
        if not self.deferred:
            raise Interrupted(signum)
        self.noted = signum
        if sys.stderr.isatty():  # show the cursor now, since a second signal leaves the display no time
            sys.stderr.write(_SHOW_CURSOR)
        complain(f"{Interrupted(signum)}: finishing the work in progress; interrupt again to stop at once")

    def check(self) -> None:
        if self.noted is not None:
            raise Interrupted(self.noted)


class _Complaints(logging.Handler):
    """A handler that prints log messages on the current `sys.stderr`, which a display may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(self.format(record))


_signals = _Signals()


def prepare() -> None:
    """Turn signals into `Interrupted`, print log messages, and escape characters that standard output cannot encode.

    In any thread other than the main one, the handling of signals is left unchanged.
    """
    if threading.current_thread() is threading.main_thread():
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, _signals.receive)
    logging.basicConfig(handlers=[_Complaints()], format="%(message)s", level=logging.WARNING)
    logging.getLogger("evodiverse").setLevel(logging.INFO)
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # None if closed
    if isinstance(sys.stdout, io.TextIOWrapper):  # escape letters that the terminal's encoding lacks, such as Greek
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def deferred_signals() -> Iterator[Callable[[], None]]:
    """Remember SIGINT and SIGTERM within this context, instead of raising at once.

    Yields:
        A function that the run calls at each point where it may stop. The function raises `Interrupted` if a signal
        has arrived.
    """
    _signals.deferred = True
    try:
        yield _signals.check
    finally:
        _signals.deferred = False


def say(line: str) -> None:
    """Print a line, with control characters made harmless. A closed pipe does not end the search.

    Raises:
        ServiceError: Standard output cannot be written, for instance to a full disk.
    """
    try:
        sys.stdout.write("".join(f"{printable(each)}\n" for each in line.split("\n")))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails again at exit
        if not isinstance(error, BrokenPipeError):
            raise ServiceError(f"cannot write to standard output ({error.strerror})") from error


def complain(message: str) -> None:
    """Print each line of a message on standard error, unless that is closed."""
    with suppress(OSError):
        sys.stderr.write("".join(f"evodiverse: {printable(line)}\n" for line in message.splitlines()))
        sys.stderr.flush()


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
