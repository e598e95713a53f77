"""A running program: the pipes to its process, and the limits that are enforced from outside."""

import os
import select
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from evodiverse.sandbox.disk import CountedFolder
from evodiverse.vocabulary import Limits, Reason, Rejection

MAX_THREADS: Final = 256
TOO_MUCH_DISK: Final = Rejection(Reason.CRASHED, "it wrote more files or bytes than it may")
# The time between two checks of a running program.
_TICK_SECONDS: Final = 0.1
# The most time that counts between two checks. If more has passed, this process itself was stopped.
_MAX_TICK_SECONDS: Final = 0.2


class Running:
    """The process of a running program.

    Args:
        pid: The id of the process.
        fds: Our ends of its pipes, in this order: one to write the job to, and three to read its stdout, its stderr and
            the result from.
        job: The packed job to write.
        limits: The limits of the program.
    """

    def __init__(self, pid: int, fds: Sequence[int], job: bytes, limits: Limits) -> None:
        for fd in fds:
            os.set_blocking(fd, False)
        self._feed, stdout, stderr, result = fds
        self._pid = pid
        self._limits = limits
        self._left = memoryview(job)
        texts = (_Output(fd, limits.output_bytes) for fd in (stdout, stderr))
        # The result may be longer by 1,000 bytes, for the line before its arrays.
        self._outputs = (*texts, _Output(result, limits.result_bytes + 1_000, is_result=True))

    def watch(self, connection: int, folder: CountedFolder | None) -> Rejection | None:
        """Write the job and read the outputs until the process closes its result pipe or must be killed.

        Args:
            connection: The file descriptor of the socket to the warm parent, which is the process that forked the
                program's process. It sends nothing unless it ends.
            folder: The program's folder if its size must be measured; otherwise None.

        Returns:
            A rejection that names the limit that the process has exceeded, in which case it must be killed; None if the
            process has closed its result pipe.

        Raises:
            EOFError: Something arrived on the connection: the warm parent has ended.
        """
        poll = select.poll()
        outputs = {output.fd: output for output in self._outputs}
        for fd in [*outputs, connection]:
            poll.register(fd, select.POLLIN)
        poll.register(self._feed, select.POLLOUT)
        checked, wall_seconds = time.monotonic(), 0.0
        while True:
            for fd, _ in poll.poll(max(0.0, checked + _TICK_SECONDS - time.monotonic()) * 1_000):
                if fd == connection:
                    raise EOFError
                if fd == self._feed:
                    is_done = self._write_job()
                else:
                    is_done = outputs[fd].read() == b""
                    if is_done and outputs[fd].is_result:
                        return None
                    if outputs[fd].is_full:
                        most = self._limits.result_bytes
                        return Rejection(Reason.WRONG_RESULT, f"the result has more than {most} bytes")
                if is_done:
                    poll.unregister(fd)
            now = time.monotonic()
            if now >= checked + _TICK_SECONDS:
                wall_seconds += min(now - checked, _MAX_TICK_SECONDS)
                checked = now
                if excess := self._find_excess(wall_seconds, folder):
                    return excess

    def read_rest(self) -> tuple[bytes, bytes, bytes]:
        """Read the rest of the output of a process that has ended, and return its stdout, stderr and result."""
        for output in self._outputs:
            while not output.is_full and output.read():
                pass
        stdout, stderr, result = (bytes(output.data) for output in self._outputs)
        return stdout, stderr, result

    def _write_job(self) -> bool:
        """Write as much of the job as the pipe accepts now.

        Returns:
            Whether writing is over, because everything is written or the process has closed its end of the pipe.
        """
        try:
            self._left = self._left[os.write(self._feed, self._left) :]
        except BlockingIOError:
            return False
        except BrokenPipeError:
            return True
        return not self._left

    def _find_excess(self, wall_seconds: float, folder: CountedFolder | None) -> Rejection | None:
        """Return the limit that the program has exceeded, as a rejection; None if it has exceeded none."""
        if _cpu_seconds(self._pid) > self._limits.cpu_seconds:
            return timed_out(self._limits)
        if wall_seconds > self._limits.wall_seconds:
            return Rejection(Reason.TIMED_OUT, f"it was still running after {self._limits.wall_seconds:g} s")
        if folder is not None and folder.is_too_large(self._pid):
            return TOO_MUCH_DISK
        if _count_threads(self._pid) > MAX_THREADS:
            return Rejection(Reason.CRASHED, f"it started more than {MAX_THREADS} threads")
        return None


@dataclass
class _Output:
    """One output of a program's process: its stdout, its stderr or its result.

    Of stdout and stderr, only the last ``keep`` bytes are stored. The result is stored whole. Once it has more than
    ``keep`` bytes, it is too large, and the caller stops reading it.
    """

    fd: int
    keep: int
    is_result: bool = False
    data: bytearray = field(default_factory=bytearray)

    @property
    def is_full(self) -> bool:
        """Whether this output is the program's result and has more than ``keep`` bytes; false for stdout and stderr."""
        return self.is_result and len(self.data) > self.keep

    def read(self) -> bytes | None:
        """Read the bytes that are available, and return them.

        Returns:
            The bytes, empty at the end of the output; None if nothing is available yet.
        """
        try:
            part = os.read(self.fd, 1 << 16)
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
    """Return the CPU time of all threads of another process, in seconds; 0 if it is gone."""
    with suppress(OSError):
        return time.clock_gettime(~pid << 3 | 2)
    return 0.0


def _count_threads(pid: int) -> int:
    """Return the number of threads of another process; 0 if it is unknown."""
    with suppress(OSError):
        return os.stat(f"/proc/{pid}/task").st_nlink - 2
    return 0
