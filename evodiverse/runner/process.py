"""The process as its surroundings see it: signals, standard streams, messages."""

import io
import logging
import os
import signal
import sys
from types import FrameType

from evodiverse.errors import Interrupted, ServiceError


def prepare() -> None:
    """Make signals an `Interrupted`, warnings one line each, and standard output fit for any terminal."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, _interrupt)
    logging.basicConfig(format="evodiverse: %(message)s", level=logging.WARNING)
    logging.getLogger("evodiverse").setLevel(logging.INFO)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without Greek gets its letters as numbers
        sys.stdout.reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """Print a line; that nobody reads it any more is no reason to end a search.

    Raises:
        ServiceError: Standard output cannot be written.
    """
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries once more as it exits
        if not isinstance(error, BrokenPipeError):
            raise ServiceError(f"cannot write to standard output ({error.strerror})") from error


def complain(message: str) -> None:
    """Print each line of a message on standard error."""
    sys.stderr.write("".join(f"evodiverse: {line}\n" for line in message.splitlines()))


def _interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_DFL)  # whoever asks twice means it
    raise Interrupted(signum)
