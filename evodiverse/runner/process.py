"""The process as its surroundings see it: signals, standard streams, messages."""

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
from evodiverse.kit.text import printable

_SHOW_CURSOR = "\x1b[?25h"


class _Signals:
    """SIGINT and SIGTERM: raised at once, or noted while a run goes on, to be raised where nothing is lost."""

    def __init__(self) -> None:
        self.deferred = False
        self.noted: int | None = None

    def receive(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002
        for again in (signal.SIGINT, signal.SIGTERM):
            signal.signal(again, signal.SIG_DFL)  # whoever asks twice means it
        if not self.deferred:
            raise Interrupted(signum)
        self.noted = signum
        if sys.stderr.isatty():  # a second signal ends the process before a display could
            sys.stderr.write(_SHOW_CURSOR)
        complain(f"{Interrupted(signum)}: what is under way is ending; ask again to stop at once")

    def check(self) -> None:
        if self.noted is not None:
            raise Interrupted(self.noted)


class _Complaints(logging.Handler):
    """Prints log messages where standard error is now: a display may stand in for it."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(self.format(record))


_signals = _Signals()


def prepare() -> None:
    """Make signals an `Interrupted`, warnings one line each, and standard output fit for any terminal.

    In another thread than the main one signals stay as they are.
    """
    if threading.current_thread() is threading.main_thread():
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, _signals.receive)
    logging.basicConfig(handlers=[_Complaints()], format="%(message)s", level=logging.WARNING)
    logging.getLogger("evodiverse").setLevel(logging.INFO)
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # None where it was closed
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without Greek gets its letters as numbers
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def deferred_signals() -> Iterator[Callable[[], None]]:
    """Note SIGINT and SIGTERM instead of raising at once.

    Yields:
        A function that raises `Interrupted` if one was noted.
    """
    _signals.deferred = True
    try:
        yield _signals.check
    finally:
        _signals.deferred = False


def say(line: str) -> None:
    """Print a line, in which nothing controls the terminal; that nobody reads it any more is no reason to end a search.

    Raises:
        ServiceError: Standard output cannot be written.
    """
    try:
        sys.stdout.write("".join(f"{printable(each)}\n" for each in line.split("\n")))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries once more as it exits
        if not isinstance(error, BrokenPipeError):
            raise ServiceError(f"cannot write to standard output ({error.strerror})") from error


def complain(message: str) -> None:
    """Print each line of a message on standard error, if anybody reads it."""
    with suppress(OSError):
        sys.stderr.write("".join(f"evodiverse: {printable(line)}\n" for line in message.splitlines()))
        sys.stderr.flush()


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
