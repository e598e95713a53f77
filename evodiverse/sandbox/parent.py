"""The warm parent: a process that has the libraries loaded and forks a child for each program.

It is started by `sandbox.ProcessSandbox` with an empty environment, serves one job at a time over a socket, and ends
when the other side of the socket is gone. It sees to it that nothing of a program outlives its job.
"""

import contextlib
import gc
import importlib
import itertools
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
from evodiverse.sandbox.confinement import MAX_FILE_BYTES, Confinement
from evodiverse.sandbox.kernel import PR_SET_CHILD_SUBREAPER, prctl
from evodiverse.vocabulary import Job, Limits, Reason

# How often a program that goes on is looked at.
TICK_SECONDS = 0.1
MAX_FILES = 1_000
MAX_DISK_BYTES = 64_000_000
MAX_THREADS = 256
_READ_BYTES = 1 << 16

Ended = tuple[str, str] | None
_TOO_MUCH_DISK = (Reason.CRASHED, "it wrote more files than it may")


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
            del self.data[: max(0, len(self.data) - self.keep)]
        return part


def main() -> None:
    """Serve the socket whose number the command line gives, with the modules loaded that it names."""
    fd, *preload = map(str, sys.argv[1:])
    connection = socket.socket(fileno=os.dup(int(fd)))  # a low number, within what a child closes
    os.close(int(fd))
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    root = os.path.realpath(tempfile.mkdtemp(prefix="evodiverse-sandbox-"))
    try:
        for name in preload:
            importlib.import_module(name)
        server = Server(connection, root)
        wire.send(connection, {})
        os.environ.clear()
        gc.collect()
        gc.freeze()
        while True:
            server.serve()
    except (EOFError, ConnectionError):  # nobody is there any more
        pass
    except Exception as error:  # noqa: BLE001 (the other side says it)
        wire.send(connection, {"broken": describe(error)})
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
        self._pid = os.getpid()
        if sys.platform == "linux":
            prctl(PR_SET_CHILD_SUBREAPER, 1)

    def serve(self) -> None:
        """Run a job; when this returns, nothing of it is left for the program of the next one to look at.

        Raises:
            EOFError: The other side is gone.
        """
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
            try:
                child.run(job, driver, self._confinement, self._folder, [pipe.write_fd for pipe in pipes], self._pid)
            finally:  # whatever a program has done to this process
                os._exit(1)
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
        if ended is None and _is_too_large(self._folder):
            ended = _TOO_MUCH_DISK
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
        if wall_seconds > limits.wall_seconds:
            return Reason.TIMED_OUT, f"it was still there after {limits.wall_seconds:g} s"
        if _is_too_large(self._folder, _unlinked_bytes(pid, self._folder)):
            return _TOO_MUCH_DISK
        if _count_threads(pid) > MAX_THREADS:
            return Reason.CRASHED, f"it started more than {MAX_THREADS} threads"
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
    """Delete what is in a folder, whatever a program made of it.

    What lies deeper is moved up first, so that neither the depth of a tree nor the length of its paths matters.
    """
    moved = itertools.count()
    prefix = os.urandom(8).hex()
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while names := _list_opened(top):
            for name, is_folder in names:
                if not is_folder:
                    os.unlink(name, dir_fd=top)
                    continue
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                try:
                    for deeper, _ in _list_opened(inner):
                        os.rename(deeper, f"{prefix}-{next(moved)}", src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


def _list_opened(folder: int) -> list[tuple[str, bool]]:
    """Return the names in an open folder, and which are folders, which are opened up for their owner."""
    with os.scandir(folder) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in names:
        if is_folder:
            os.chmod(name, stat.S_IRWXU, dir_fd=folder)
    return names


def _kill_children() -> None:
    if sys.platform != "linux":  # where they do not become this process's children
        return
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


def _is_too_large(folder: str, n_bytes: int = 0) -> bool:
    """Return whether a folder with ``n_bytes`` beside it is more than a program may write, or cannot be looked into."""
    n_files = 0
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    n_files += 1
                    if n_files > MAX_FILES:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        n_bytes += entry.stat(follow_symlinks=False).st_blocks * 512
        except FileNotFoundError:  # which the program is deleting
            continue
        except OSError:
            return True
    return n_bytes > MAX_DISK_BYTES


def _unlinked_bytes(pid: int, folder: str) -> int:
    """Return how large the files may be that a process has deleted from a folder and still holds, on Linux."""
    held = 0
    with contextlib.suppress(OSError):  # it is gone, or the system has no /proc
        with open(f"/proc/{pid}/maps", errors="replace") as maps:
            held += sum(folder in line and line.rstrip().endswith("(deleted)") for line in maps)
        for fd in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
            held += target.startswith(folder) and target.endswith("(deleted)")
    return held * MAX_FILE_BYTES


def _count_threads(pid: int) -> int:
    """Return the threads of another process, 0 where that cannot be told."""
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _compile(driver: str) -> CodeType:
    return compile(driver, "driver.py", "exec")
