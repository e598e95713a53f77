"""Starts of Python as a user makes them, each in a process of its own.

On Linux they are forked from a process that has loaded the libraries (`tests.fork_server`): a cold start takes more
than a second of CPU. One whose environment a library reads while it is loaded is cold anyway, and a test whose subject
is the start itself uses `subprocess`.
"""

import atexit
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

from tests.fork_server import HEADER, STATUS, Start

ROOT = Path(__file__).parents[1]
# Variables that are read when something is done, not when a library is loaded.
READ_LATE = re.compile(
    r"(EVODIVERSE|PYTEST)_\w+|\w+_API_KEY|PYTHONPATH|PYTHONSAFEPATH"
    r"|LITELLM_MODE|LITELLM_LOCAL_MODEL_COST_MAP|AIOHTTP_CONNECTOR_LIMIT\w*|TIKTOKEN_CACHE_DIR"  # by `load_litellm`
    r"|RDBASE|KMP_DUPLICATE_LIB_OK|KMP_INIT_AT_FORK"  # by RDKit and scikit-learn, to this alone
    r"|HF_HUB_OFFLINE"  # of a library that is not loaded before the fork
)


class Process:
    """A process that was forked for a start; it offers what `subprocess.Popen` does with text and pipes."""

    def __init__(self, server: socket.socket, start: Start) -> None:
        self.args = start.command
        self.returncode: int | None = None
        self._printed: tuple[IO[str], IO[str]] = (_open(), _open())
        self._texts = ("", "")
        self._status, theirs = socket.socketpair()
        request = json.dumps(asdict(start)).encode()
        with theirs, open(os.devnull) as nothing:
            streams = [nothing.fileno(), *(printed.fileno() for printed in self._printed)]
            socket.send_fds(server, [HEADER.pack(len(request))], [theirs.fileno(), *streams])
            server.sendall(request)
        self.pid = self._receive()

    def _receive(self) -> int:
        message = self._status.recv(STATUS.size)
        if not message:
            raise RuntimeError("the fork server died; run the tests again")
        (number,) = STATUS.unpack(message)
        return int(number)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code as soon as there is one, a signal as a negative number."""
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = self._receive()
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0) from error
            self._status.close()
            self._texts = (_read(self._printed[0]), _read(self._printed[1]))
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code if there is one."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end and return what was printed on standard output and standard error."""
        self.wait(timeout)
        return self._texts

    def send_signal(self, signum: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


def _open() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8")


def _read(printed: IO[str]) -> str:
    with printed:
        printed.seek(0)
        return printed.read()


Started = Process | subprocess.Popen[str]
_started: list[Started] = []


def end_unfinished() -> None:
    """End what a test has started and, because it failed, not seen the end of."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def start(
    *command: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    new_session: bool = False,
    python: str = sys.executable,
) -> Started:
    """Start Python.

    Args:
        command: What follows ``python``: ``-m`` and a module, ``-c`` and code, or a file; then the arguments.
        cwd: The folder it starts in.
        env: The whole environment, if it is not that of this process.
        new_session: Whether it leads a session, and so a process group, of its own.
        python: That of another environment, which has EvoDiverse installed.
    """
    _started.append(_start(command, cwd, dict(os.environ if env is None else env), new_session, python))
    return _started[-1]


def _start(command: Sequence[str], cwd: Path, environment: dict[str, str], new_session: bool, python: str) -> Started:
    if _can_be_forked(environment):
        return Process(_server(python), Start(command, os.path.abspath(cwd), environment, new_session))
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [python, *command],
        cwd=cwd,
        env=environment,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=new_session,
    )


def run(
    *command: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    python: str = sys.executable,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Start Python, as `start` does, and wait for its end."""
    process = start(*command, cwd=cwd, env=env, python=python)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(process.args, process.wait(), stdout, stderr)


def main_of(module: str) -> tuple[str, str]:
    """Return what follows ``python`` to start the command whose function ``main`` is in a module."""
    return "-c", f"import sys; from {module} import main; sys.exit(main())"


_AS_IT_WAS = dict(os.environ)


def _can_be_forked(env: Mapping[str, str]) -> bool:
    differing = {name for name, _ in env.items() ^ _AS_IT_WAS.items()}
    return sys.platform == "linux" and all(READ_LATE.fullmatch(name) for name in differing)


@functools.cache
def _server(python: str) -> socket.socket:
    """Start the process that forks; it ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [python, str(Path(__file__).with_name("fork_server.py")), str(theirs.fileno())]
        environment = {**_AS_IT_WAS, "PYTHONPATH": str(ROOT) if python == sys.executable else ""}
        pipe = subprocess.PIPE  # as the streams of what it forks, which Python must not take for a terminal
        process = subprocess.Popen(
            command, env=environment, pass_fds=[theirs.fileno()], stdin=pipe, stdout=pipe, stderr=pipe
        )

    def end() -> None:
        ours.close()
        process.communicate()

    atexit.register(end)
    return ours
