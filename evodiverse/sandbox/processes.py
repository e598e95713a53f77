"""The sandbox as the rest of EvoDiverse sees it (`evodiverse.ports.Sandbox`)."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evodiverse.errors import ServiceError, reason
from evodiverse.sandbox import wire
from evodiverse.vocabulary import Execution, Job, Reason, Rejection

PRELOAD = ("numpy", "scipy.optimize", "scipy.spatial")
# Over the wall-clock limit, by which the warm parent itself ends a program.
_GRACE_SECONDS = 30.0
# What a job is worth if the warm parent dies of it, or beside it.
ATTEMPTS = 2
_READY_SECONDS = 120.0


class ProcessSandbox:
    """Runs each program in a confined process of its own, forked from a warm parent that has the libraries loaded.

    Each thread that runs programs has a parent of its own, which starts with its first job and ends with the thread,
    the object, or the process that holds it. The object can be sent to other processes.

    Args:
        preload: Modules that a parent loads beside numpy and scipy.
    """

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self._preload = tuple(preload)
        self._of_thread = threading.local()
        self._parents: weakref.WeakSet[_WarmParent] = weakref.WeakSet()
        self._is_closed = False
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        return ProcessSandbox, (self._preload,)

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        """Return how each call ended.

        Raises:
            ServiceError: The sandbox itself failed.
        """
        return [self._run(job) for job in jobs]

    def prepare(self) -> None:
        """Start this thread's warm parent.

        Raises:
            ServiceError: It does not start.
        """
        self._parent()

    def close(self) -> None:
        """End the warm parents of all threads and the programs that they run, for good."""
        with self._lock:
            self._is_closed = True
            parents = list(self._parents)
        for parent in parents:
            parent.close()

    def _run(self, job: Job) -> Execution:
        for _ in range(ATTEMPTS):
            parent = self._parent()
            try:
                return parent.run(job)
            except (EOFError, OSError):  # it was killed, by the kernel's hunt for memory perhaps
                self._give_up(parent)
            except BaseException:  # its answer, if there will be one, must not be taken for that to another job
                self._give_up(parent)
                raise
        raise ServiceError(
            "the sandbox's process died twice (killed, or out of memory); start the same command to resume"
        )

    def _give_up(self, parent: "_WarmParent") -> None:
        parent.close()
        del self._of_thread.parent

    def _parent(self) -> "_WarmParent":
        if not self._is_closed and not hasattr(self._of_thread, "parent"):
            self._of_thread.parent = _WarmParent((*PRELOAD, *self._preload))
            with self._lock:
                self._parents.add(self._of_thread.parent)
        if self._is_closed:  # now, or while that one started
            self.close()
            raise ServiceError("the sandbox was closed while a program ran; start the same command to resume")
        parent: _WarmParent = self._of_thread.parent
        return parent


class _WarmParent:
    """One warm parent and the socket to it."""

    def __init__(self, preload: Sequence[str]) -> None:
        own = str(Path(__file__).parents[2])
        path = [entry for entry in sys.path if os.path.isabs(entry) and entry not in {os.getcwd(), own}]
        start = (
            f"import sys; sys.path[:] = {[own, *path]!r}; from evodiverse.sandbox.parent import main; "
            "sys.path.append(sys.path.pop(0)); main()"  # a file beside the package must not shadow a library's
        )
        try:
            here, there = socket.socketpair()
            with there:
                self._process = subprocess.Popen(
                    [sys.executable, "-s", "-P", "-B", "-X", "utf8", "-c", start, str(there.fileno()), *preload],
                    pass_fds=[there.fileno()],
                    env=_environment(),
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except OSError as error:
            raise ServiceError(f"the sandbox does not start ({reason(error)})") from error
        self._connection = here
        self._finalizer = weakref.finalize(self, _end, here, self._process)
        here.settimeout(_READY_SECONDS)
        try:
            header, _ = wire.receive(here)
        except (EOFError, OSError):
            self._process.kill()
            _, messages = self._process.communicate()
            header = {"broken": wire.clean(messages.decode(errors="replace")[-300:])}
        if "broken" in header:
            raise ServiceError(f"the sandbox does not start ({header['broken']})")

    def run(self, job: Job) -> Execution:
        """Return how a call ended.

        Raises:
            EOFError: The parent is gone.
            OSError: It does not answer.
            ServiceError: A child could not be confined.
        """
        self._connection.settimeout(job.limits.wall_seconds + _GRACE_SECONDS)
        wire.send(self._connection, *wire.pack_job(job))
        header, blobs = wire.receive(self._connection)
        if "broken" in header:
            raise ServiceError(
                f"the sandbox failed ({header['broken']}); mend that and start the same command to resume"
            )
        return _read(header, blobs, job)

    def close(self) -> None:
        """End it."""
        self._finalizer()


def _read(header: dict[str, Any], blobs: Sequence[bytes], job: Job) -> Execution:
    """Return what the parent says of a call, and what the program's process sent."""
    stdout, stderr, sent = blobs
    first, sent = sent[:1], sent[1:]
    if first != wire.READY and header["ended"] is None:
        raise ServiceError(f"a program's process cannot be confined ({wire.clean(sent.decode(errors='replace'))})")
    value, failure = None, _find_failure(header)
    if failure is None:
        try:
            value = wire.read_result(sent, job.returns)
        except wire.UnusableError as error:
            failure = error.rejection
    return Execution(
        value=value,
        failure=failure,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
        cpu_seconds=header["cpu_seconds"],
        wall_seconds=header["wall_seconds"],
    )


def _find_failure(header: dict[str, Any]) -> Rejection | None:
    if header["ended"] is not None:
        why, detail = header["ended"]
        return Rejection(Reason(why), detail)
    status = os.waitstatus_to_exitcode(header["status"])
    if status < 0:
        return Rejection(Reason.CRASHED, f"it was ended by {_name_signal(-status)}")
    return Rejection(Reason.CRASHED, f"it exited with status {status}") if status else None


def _name_signal(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _environment() -> dict[str, str]:
    """Return what the warm parent needs to start; it empties it before there are programs."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    kept = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")  # where a cluster's Python finds its libraries
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        **dict.fromkeys(threads, "1"),
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
    }


def _end(connection: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for an answer
    connection.close()
    if process.stderr is not None:
        process.stderr.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
