"""Functions for processes of their own; a named pipe shows whether any program that they have started is left."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from evodiverse.kit.apart import Apart


def hold(pipe: str) -> None:
    """Start a program that holds a named pipe open."""
    subprocess.Popen(["sh", "-c", "exec 9>$0; exec sleep 1000", pipe])


def call_and_die(held: str, function: Callable[[], object]) -> None:
    """Let another thread call a function, which may never return, and be killed when its process has begun."""
    apart = Apart(1000.0, partial(hold, held))
    threading.Thread(target=apart.call, args=(function,), daemon=True).start()
    with Path(held).open("rb"):
        os.kill(os.getpid(), signal.SIGKILL)


class Closing:
    """An answer that closes `CLOSED` when it arrives."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return close, ()


def close() -> None:
    CLOSED.close()


CLOSED = Apart(60.0, Closing)
