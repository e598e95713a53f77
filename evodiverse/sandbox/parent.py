"""The warm parent: a process that has the libraries loaded and forks a child for each program.

It is started by `sandbox.ProcessSandbox` with an empty environment, serves one job at a time over a socket, and ends
when the other side of the socket is gone. It sees to it that nothing of a program outlives its job.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any

from evodiverse.errors import describe
from evodiverse.sandbox import child, wire
from evodiverse.sandbox.confinement import Confinement, find_gaps
from evodiverse.sandbox.kernel import PR_SET_CHILD_SUBREAPER, prctl
from evodiverse.vocabulary import Job, Limits, Reason

# How often a program that goes on is looked at.
TICK_SECONDS = 0.1
WALL_FACTOR = 3
MAX_FILES = 1_000
MAX_DISK_BYTES = 64_000_000
_READ_BYTES = 1 << 16

Ended = tuple[str, str] | None


@dataclass
class Pipe:
    """One of the child's outputs, of which the last ``keep`` bytes are kept, or the first where ``is_result``."""

    read_fd: int
    write_fd: int
    keep: int
    is_result: bool = False
    data: bytearray = field(default_factory=bytearray)

    @property
    def is_full(self) -> bool:
        """Whether a result has more bytes than it may have."""
        return self.is_result and len(self.data) > self.keep

    def read(self) -> bytes | None:
        """Take what is there and return it, empty at the end, None where nothing is there yet."""
        try:
            part = os.read(self.read_fd, _READ_BYTES)
        except BlockingIOError:
            return None
        self.data += part
        if not self.is_result:
            del self.data[: -self.keep]
        return part


def main() -> None:
    """Serve the socket whose number, packages and search path the command line names."""
    fd, *preload = sys.argv[1:]
    connection = socket.socket(fileno=int(fd))
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    try:
        root = tempfile.mkdtemp(prefix="evodiverse-sandbox-")
        for name in preload:
            importlib.import_module(name)
        server = Server(connection, root)
        wire.send(connection, {"gaps": find_gaps()})
    except Exception as error:  # noqa: BLE001 (the other side says it)
        wire.send(connection, {"broken": describe(error)})
        return
    os.environ.clear()
    gc.collect()
    gc.freeze()
    try:
        server.serve()
    except (EOFError, OSError):  # nobody is there any more
        pass
    finally:
        empty(root)
        os.rmdir(root)


class Server:
    """Serves jobs until the other side is gone."""

    def __init__(self, connection: socket.socket, root: str) -> None:
        self._connection = connection
        self._root = root
        self._folder = os.path.join(root, "job")
        self._confinement = Confinement()
        self._null = os.open(os.devnull, os.O_RDONLY)
        if sys.platform == "linux":
            prctl(PR_SET_CHILD_SUBREAPER, 1)

    def serve(self) -> None:
        """Run job after job.

        Raises:
            EOFError: The other side is gone.
        """
        while True:
            job = wire.unpack_job(*wire.receive(self._connection))
            os.mkdir(self._folder, 0o700)
            try:
                header, blobs = self._run(job)
            finally:
                empty(self._root)
            wire.send(self._connection, header, blobs)

    def _run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        driver = None if job.driver is None else _compile(job.driver)
        limits = job.limits
        pipes = [
            Pipe(*os.pipe(), limits.output_bytes),
            Pipe(*os.pipe(), limits.output_bytes),
            Pipe(*os.pipe(), limits.result_bytes + 1_000, is_result=True),
        ]
        began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            fds = [self._null, *(pipe.write_fd for pipe in pipes)]
            child.run(job, driver, self._confinement, self._folder, fds)
        try:
            for pipe in pipes:
                os.close(pipe.write_fd)
                os.set_blocking(pipe.read_fd, False)
            ended = self._watch(pid, {pipe.read_fd: pipe for pipe in pipes}, limits, began)
        finally:
            status, cpu_seconds = end(pid)
            for pipe in pipes:
                while not pipe.is_full and pipe.read():
                    pass
                os.close(pipe.read_fd)
        if ended is None and cpu_seconds > limits.cpu_seconds:
            ended = _timed_out(limits)
        header = {
            "ended": ended,
            "status": status,
            "cpu_seconds": cpu_seconds,
            "wall_seconds": time.monotonic() - began,
        }
        return header, [bytes(pipe.data) for pipe in pipes]

    def _watch(self, pid: int, pipes: Mapping[int, Pipe], limits: Limits, began: float) -> Ended:
        """Read the child's outputs until its result ends or it must be ended; return why it must be.

        Raises:
            EOFError: The other side is gone.
        """
        poll = select.poll()
        for fd in [*pipes, self._connection.fileno()]:
            poll.register(fd, select.POLLIN)
        due = began + TICK_SECONDS
        while True:
            for fd, _ in poll.poll(max(0.0, due - time.monotonic()) * 1_000):
                if fd not in pipes:
                    raise EOFError
                if pipes[fd].read() == b"":
                    if pipes[fd].is_result:
                        return None
                    poll.unregister(fd)
                if pipes[fd].is_full:
                    return Reason.WRONG_RESULT, f"a result of more than {limits.result_bytes} bytes"
            now = time.monotonic()
            if now >= due:
                due = now + TICK_SECONDS
                excess = self._find_excess(pid, limits, now - began)
                if excess is not None:
                    return excess

    def _find_excess(self, pid: int, limits: Limits, wall_seconds: float) -> Ended:
        """Return what a program has used too much of."""
        if _cpu_seconds(pid) > limits.cpu_seconds:
            return _timed_out(limits)
        if wall_seconds > WALL_FACTOR * limits.cpu_seconds:
            return Reason.TIMED_OUT, f"it was still there after {WALL_FACTOR * limits.cpu_seconds:g} s"
        if _is_too_large(self._folder):
            return Reason.CRASHED, "it wrote more files than it may"
        return None


def end(pid: int) -> tuple[int, float]:
    """Kill a child, its process group and whatever it left behind; return its status and the CPU seconds it used."""
    for kill in (os.killpg, os.kill):  # it may not have come to its own group yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    while True:
        try:
            left, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, usage.ru_utime + usage.ru_stime
        if not left:  # grandchildren, which became this process's children
            _kill_children()


def empty(folder: str) -> None:
    """Delete what is in a folder, whatever a program made of it."""
    for entry in os.scandir(folder):
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
            continue
        os.chmod(entry.path, stat.S_IRWXU)
        empty(entry.path)
        os.rmdir(entry.path)


def _kill_children() -> None:
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        for pid in children.read().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    time.sleep(0.001)


def _timed_out(limits: Limits) -> tuple[str, str]:
    return Reason.TIMED_OUT, f"it used more than {limits.cpu_seconds:g} s of CPU"


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of another process and its threads."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:  # it is gone
        return 0.0


def _is_too_large(folder: str) -> bool:
    """Return whether a folder holds more than a program may write."""
    n_files = n_bytes = 0
    folders = [folder]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:  # which the program may be deleting
            for entry in entries:
                n_files += 1
                if n_files > MAX_FILES:
                    return True
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    n_bytes += entry.stat(follow_symlinks=False).st_blocks * 512
    return n_bytes > MAX_DISK_BYTES


@lru_cache(maxsize=16)
def _compile(driver: str) -> CodeType:
    return compile(driver, "driver.py", "exec")


if __name__ == "__main__":
    main()
