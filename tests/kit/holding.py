"""Functions for processes of their own; a named pipe shows whether any program that they have started is left."""

import os
import signal
import subprocess
import threading
from functools import partial
from pathlib import Path

from evodiverse.kit.apart import Apart


def hold(pipe: str) -> None:
    """Start a program that holds a named pipe open."""
    subprocess.Popen(["sh", "-c", "exec 9>$0; exec sleep 1000", pipe])


def hang_and_die(held: str) -> None:
    """Let another thread wait for a call that never returns, and be killed when that call has begun."""
    apart = Apart(1000.0, partial(hold, held))
    threading.Thread(target=apart.call, args=(signal.pause,), daemon=True).start()
    with Path(held).open("rb"):
        os.kill(os.getpid(), signal.SIGKILL)
