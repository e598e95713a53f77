"""A program that runs: the pipes to its process, and the limits that are watched from outside."""

import os
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from evodiverse.sandbox.disk import CountedFolder
from evodiverse.vocabulary import Limits, Reason, Rejection

MAX_THREADS: Final = 256
TOO_MUCH_DISK: Final = Rejection(Reason.CRASHED, "it wrote more files than it may")
# How often a program that goes on is looked at.
_TICK_SECONDS: Final = 0.1
# The longest time between two looks that counts; if more has passed, this process was stopped itself.
_MAX_TICK_SECONDS: Final = 0.2
_READ_BYTES: Final = 1 << 16
# Of a result, over what it may have: the line before its arrays.
_HEADER_BYTES: Final = 1_000


class Running:
    """A program's process.

    Args:
        pid: Its id.
        fds: Ends of the pipes to it: where its job is written, and where its stdout, stderr and result are read.
        job: What is written.
        limits: What it may use.
    """

    def __init__(self, pid: int, fds: Sequence[int], job: bytes, limits: Limits) -> None:
        for fd in fds:
            os.set_blocking(fd, False)
        feed, stdout, stderr, result = fds
        self._pid = pid
        self._limits = limits
        self._feed = _Feed(feed, memoryview(job))
        self._outputs = (
            _Output(stdout, limits.output_bytes),
            _Output(stderr, limits.output_bytes),
            _Output(result, limits.result_bytes + _HEADER_BYTES, is_result=True),
        )

    def watch(self, connection: int, folder: CountedFolder | None) -> Rejection | None:
        """Write the job and read the outputs until the result ends, or the process must be ended; return why it must.

        Args:
            connection: Socket on which nothing arrives but the end of the warm parent.
            folder: The program's folder if what it writes there must be counted.

        Raises:
            EOFError: Something arrived on the connection.
        """
        poll = select.poll()
        outputs = {output.fd: output for output in self._outputs}
        for fd in [*outputs, connection]:
            poll.register(fd, select.POLLIN)
        if not self._feed.write():
            poll.register(self._feed.fd, select.POLLOUT)
        looked, wall_seconds = time.monotonic(), 0.0
        while True:
            for fd, _ in poll.poll(max(0.0, looked + _TICK_SECONDS - time.monotonic()) * 1_000):
                if fd == connection:
                    raise EOFError
                if fd == self._feed.fd:
                    is_done = self._feed.write()
                else:
                    is_done = outputs[fd].read() == b""
                    if is_done and outputs[fd].is_result:
                        return None
                    if outputs[fd].is_full:
                        most = self._limits.result_bytes
                        return Rejection(Reason.WRONG_RESULT, f"a result of more than {most} bytes")
                if is_done:
                    poll.unregister(fd)
            now = time.monotonic()
            if now >= looked + _TICK_SECONDS:
                wall_seconds += min(now - looked, _MAX_TICK_SECONDS)
                looked = now
                excess = self._find_excess(wall_seconds, folder)
                if excess is not None:
                    return excess

    def read_rest(self) -> tuple[bytes, bytes, bytes]:
        """Return the whole stdout, stderr and result of a process that has ended, as far as they are kept."""
        for output in self._outputs:
            while not output.is_full and output.read():
                pass
        stdout, stderr, result = (bytes(output.data) for output in self._outputs)
        return stdout, stderr, result

    def _find_excess(self, wall_seconds: float, folder: CountedFolder | None) -> Rejection | None:
        """Return what the program has used too much of."""
        if _cpu_seconds(self._pid) > self._limits.cpu_seconds:
            return timed_out(self._limits)
        if wall_seconds > self._limits.wall_seconds:
            return Rejection(Reason.TIMED_OUT, f"it was still there after {self._limits.wall_seconds:g} s")
        if folder is not None and folder.is_too_large(self._pid):
            return TOO_MUCH_DISK
        if _count_threads(self._pid) > MAX_THREADS:
            return Rejection(Reason.CRASHED, f"it started more than {MAX_THREADS} threads")
        return None


@dataclass
class _Feed:
    """The pipe from which a program's process reads its job, and what is still to be written."""

    fd: int
    left: memoryview

    def write(self) -> bool:
        """Write what the pipe takes now; return whether that was the rest, or nobody reads it."""
        try:
            self.left = self.left[os.write(self.fd, self.left) :]
        except BlockingIOError:
            return False
        except BrokenPipeError:
            return True
        return not self.left


@dataclass
class _Output:
    """An output of a program's process, of which the last ``keep`` bytes are kept, or the first if ``is_result``."""

    fd: int
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
            part = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return None
        self.data += part
        if not self.is_result:
            del self.data[: max(0, len(self.data) - self.keep)]
        return part


def timed_out(limits: Limits) -> Rejection:
    """Return the rejection of a program that used too much CPU time."""
    return Rejection(Reason.TIMED_OUT, f"it used more than {limits.cpu_seconds:g} s of CPU")


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of another process and its threads."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:  # it is gone
        return 0.0


def _count_threads(pid: int) -> int:
    """Return the threads of another process, 0 where that cannot be told."""
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2
    except OSError:
        return 0
