"""The control of a warm parent (see `parent`): starting it, asking it for processes, and ending it.

This module runs in the process that uses the sandbox. It keeps jobs and results out of the warm parent, so that no
program can reach those of another.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from evodiverse.errors import ServiceError, reason
from evodiverse.kit.environment import THREADS
from evodiverse.sandbox import wire
from evodiverse.sandbox.disk import CountedFolder, program_folder, remove
from evodiverse.sandbox.kernel import Ending
from evodiverse.sandbox.running import TOO_MUCH_DISK, Running, timed_out
from evodiverse.vocabulary import Execution, Job, Reason, Rejection

# How long the warm parent may take to start, to answer, and to end.
_READY_SECONDS: Final = 120.0
_ANSWER_SECONDS: Final = 30.0
_END_SECONDS: Final = 5.0
_FOR_LIBRARIES: Final = {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR"}  # where a cluster's Python finds libraries
_SECRET: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
"""Parts of the names of environment variables that programs do not get even if they are not confined."""


class DiedError(Exception):
    """A warm parent has ended unexpectedly or does not answer; the message says which.

    A warm parent is a process that has loaded libraries and forks a process for each program.
    """


class WarmParent:
    """Starts and controls a warm parent: a process that has loaded libraries and forks a process for each program.

    One program runs at a time.

    Args:
        preload: The modules that the warm parent loads.
        mounts: Whether the warm parent may mount a disk for each program; see `ProcessSandbox`.
        confines: Whether the programs are confined. If not, they have your account's rights, and your environment
            variables except those that seem to hold secrets.

    Attributes:
        pid: The process id of the warm parent.

    Raises:
        DiedError: The warm parent ended while it started.
        ServiceError: The warm parent does not start.
    """

    def __init__(self, preload: Sequence[str], *, mounts: bool, confines: bool = True) -> None:
        root = os.path.realpath(tempfile.mkdtemp(prefix="evodiverse-sandbox-"))
        os.mkdir(program_folder(root))
        self._connection, there = socket.socketpair()
        try:
            with there:
                self._process = _start(there, [root, str(mounts), str(confines), *preload], confines=confines)
        except OSError as error:
            self._connection.close()
            remove(root)
            raise ServiceError(f"the sandbox does not start ({reason(error)})") from error
        self.pid = self._process.pid
        self._finalizer = weakref.finalize(self, _end, self._connection, self._process, root)
        self._connection.settimeout(_READY_SECONDS)
        try:
            kind, _ = self._ask(b"", 1)
        except BaseException:
            self.close()
            raise
        self._connection.settimeout(_ANSWER_SECONDS)
        self._folder = CountedFolder(root, self.pid) if kind == wire.COUNTED else None
        self._measured = self._folder if confines else None

    def run(self, job: Job) -> Execution:
        """Run a job in a new process, and return how it ended.

        The process is forked by the warm parent, a process that has already loaded the libraries.

        Raises:
            DiedError: The warm parent is gone or does not answer.
            ServiceError: A process for the program cannot be created or confined.
        """
        began = time.monotonic()
        if self._folder is not None:
            self._folder.clear()
        with ExitStack() as stack:
            answer, fds = self._ask(wire.FORK, wire.PID_BYTES)
            for fd in fds:
                stack.callback(os.close, fd)
            running = Running(int.from_bytes(answer), fds, wire.pack_job(job), job.limits)
            try:
                failure = running.watch(self._connection.fileno(), self._measured)
            except EOFError:
                raise DiedError(self._explain_death()) from None
            answer, _ = self._ask(wire.END, ctypes.sizeof(Ending))
            stdout, stderr, sent = running.read_rest()
        ending = Ending.from_buffer_copy(answer)
        if failure is None and sent[:1] != wire.READY:
            why = wire.clean(sent[1:].decode(errors="replace"))
            raise ServiceError(f"the sandbox could not restrict a program's process ({why}); run evodiverse-doctor")
        failure = failure or self._judge(job, ending)
        value = None
        if failure is None:
            try:
                value = wire.read_result(sent[1:], job.returns)
            except wire.UnusableError as error:
                failure = Rejection(*error.args)
        return Execution(
            value=value,
            failure=failure,
            stdout=stdout.decode(errors="replace"),
            stderr=stderr.decode(errors="replace"),
            cpu_seconds=ending.cpu_seconds,
            wall_seconds=time.monotonic() - began,
        )

    def close(self) -> None:
        """End the warm parent and its running program, and delete the warm parent's temporary folder.

        The warm parent is the process that forks a process for each program.
        """
        self._finalizer()

    def _judge(self, job: Job, ending: Ending) -> Rejection | None:
        """Return a rejection if a program's process exceeded its CPU time or disk space, or crashed; None otherwise.

        The result of the program is not judged.
        """
        if ending.cpu_seconds > job.limits.cpu_seconds:
            return timed_out(job.limits)
        if self._measured is not None and self._measured.is_too_large(None):
            return TOO_MUCH_DISK
        status = os.waitstatus_to_exitcode(ending.status)
        if status < 0:
            return Rejection(Reason.CRASHED, f"it was killed by {_name_signal(-status)}")
        return Rejection(Reason.CRASHED, f"it exited with status {status}") if status else None

    def _ask(self, request: bytes, size: int) -> tuple[bytes, list[int]]:
        """Send a request, and return the body of the answer and the file descriptors that came with it.

        Args:
            request: The request, a single byte; empty to wait for the start.
            size: The number of bytes of the body, which follows `wire.READY`.

        Raises:
            DiedError: There is no answer.
            ServiceError: The warm parent, which forks a process for each program, answered that it cannot continue.
        """
        try:
            self._connection.sendall(request)
            kind, fds, _, _ = socket.recv_fds(self._connection, 1, 4)  # the pipes of a program
            body = self._connection.recv(size, socket.MSG_WAITALL) if kind == wire.READY else b""
            if len(body) == size:
                return body, fds
            parts = list(iter(lambda: self._connection.recv(1 << 12), b"")) if kind == wire.BROKEN else []
        except OSError:
            parts = []
        if parts:
            message = wire.clean(b"".join(parts).decode(errors="replace"))
            raise ServiceError(f"the sandbox failed ({message}); fix that, then run the same command again to resume")
        raise DiedError(self._explain_death())

    def _explain_death(self) -> str:
        """Return what happened to the warm parent, the process that forks a process for each program.

        This method is for a warm parent that did not answer. It waits up to `_END_SECONDS` for the process to end.
        """
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return "it does not answer"
        if status < 0:
            return f"{_name_signal(-status)}: killed, or out of memory"
        messages = self._process.communicate()[1] if status else b""
        return f"exit status {status} {wire.clean(messages.decode(errors='replace')[-300:])}".rstrip()


def _start(connection: socket.socket, arguments: Sequence[str], *, confines: bool) -> "subprocess.Popen[bytes]":
    """Start a warm parent, the process that forks a process for each program.

    Args:
        connection: The warm parent's end of the connection.
        arguments: The command-line arguments of the warm parent, as `parent.main` reads them. The first argument, the
            file descriptor of the connection, is omitted here.
        confines: Whether the programs will be confined. If so, the warm parent gets fewer environment variables, and
            clears them before any program runs.

    Raises:
        OSError: The operating system could not start the process.
    """
    own = str(Path(__file__).parents[2])
    path = [entry for entry in sys.path if os.path.isabs(entry) and entry not in {os.getcwd(), own}]
    start = (
        f"import sys; sys.path[:] = {[own, *path]!r}; from evodiverse.sandbox.parent import main; "
        "sys.path.append(sys.path.pop(0)); main()"  # a file next to the package must not shadow a library
    )
    secret = {name for name in os.environ if any(part in name.upper() for part in _SECRET)}
    inherited = os.environ.keys() & _FOR_LIBRARIES if confines else os.environ.keys() - secret
    fixed = {**dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
    return subprocess.Popen(
        [sys.executable, "-s", "-P", "-B", "-X", "utf8", "-c", start, str(connection.fileno()), *arguments],
        pass_fds=[connection.fileno()],
        env={name: os.environ[name] for name in inherited} | fixed,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _end(connection: socket.socket, process: "subprocess.Popen[bytes]", root: str) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for an answer
    connection.close()
    if process.stderr is not None:
        process.stderr.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    remove(root)


def _name_signal(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
