"""The warm parent: a process that has the libraries loaded and forks a process for each program.

It is started by a `supervisor.WarmParent` with an empty environment, and ends when that is gone. All programs inherit
its memory, so nothing of a program ever enters it: neither a job nor an output, not even how much time one took.
"""

import ctypes
import gc
import importlib
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from evodiverse.errors import describe
from evodiverse.sandbox import child, namespaces, wire
from evodiverse.sandbox.confinement import Confinement
from evodiverse.sandbox.disk import program_folder, remove
from evodiverse.sandbox.kernel import PR_SET_CHILD_SUBREAPER, Ending, prctl, reap, unmount


def main() -> None:
    """Serve a socket until the other side is gone.

    The command line gives the socket's number, the folder, whether the kernel may be asked for disks of the programs'
    own, and the modules to load.
    """
    fd, root, mounts, *preload = map(str, sys.argv[1:])
    connection = socket.socket(fileno=os.dup(int(fd)))  # a low number, within what a child closes
    os.close(int(fd))
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    try:
        for name in preload:
            importlib.import_module(name)
        _serve(connection, root, mounts=mounts == "True")
    except ConnectionError:  # nobody is there any more
        pass
    except Exception as error:  # noqa: BLE001 (the other side says it)
        with suppress(ConnectionError):
            connection.sendall(wire.BROKEN + describe(error).encode())
    finally:
        remove(root)


def _serve(connection: socket.socket, root: str, *, mounts: bool) -> None:
    folder = program_folder(root)
    has_own_disk = mounts and namespaces.can_mount(folder)
    if has_own_disk:
        namespaces.enter()
    if sys.platform == "linux":
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    forker = Forker(folder, has_own_disk=has_own_disk)
    connection.sendall(wire.READY + (wire.LIMITED if has_own_disk else wire.COUNTED))
    os.environ.clear()
    gc.collect()
    gc.freeze()
    try:
        while request := connection.recv(1):
            if request == wire.FORK:
                pid, fds = forker.fork()
                socket.send_fds(connection, [wire.FORKED + wire.PID.pack(pid)], fds)
                _close(fds)
            else:
                connection.sendall(wire.ENDED)
                connection.sendall(forker.end())
                forker.renew()  # while the other side reads the answer
    finally:
        forker.close()


class Forker:
    """Forks processes for programs, one at a time.

    Args:
        folder: The one that a program may write to.
        has_own_disk: Whether each program gets a disk of its own there.
    """

    def __init__(self, folder: str, *, has_own_disk: bool) -> None:
        self._folder = folder
        self._has_own_disk = has_own_disk
        self._confinement = Confinement()
        self._own_pid = os.getpid()
        self._pid: int | None = None
        self._ending = Ending()
        if has_own_disk:
            namespaces.mount_disk(folder)

    def fork(self) -> tuple[int, list[int]]:
        """Fork a process for a program.

        Returns:
            The process, and the ends of the pipes to it: where its job is written, and where its stdout, stderr and
            result are read.
        """
        source, job = os.pipe()
        reads, writes = zip(*(os.pipe() for _ in range(3)), strict=True)
        pid = os.fork()
        if pid == 0:
            try:
                child.run(source, writes, self._confinement, self._folder, self._own_pid)
            finally:  # whatever a program has done to this process
                os._exit(1)
        self._pid = pid
        _close([source, *writes])
        return pid, [job, *reads]

    def end(self) -> Ending:
        """Kill what `fork` forked, if it did, with all that belongs to it; how it ended stands until `renew`."""
        if self._pid is not None:
            end(self._pid, self._ending)
            self._pid = None
        return self._ending

    def close(self) -> None:
        """End the process that there may be, and take its disk away."""
        self.end()
        if self._has_own_disk:
            unmount(self._folder)

    def renew(self) -> None:
        """Forget how the last process ended and give the next one a disk that is empty."""
        ctypes.memset(ctypes.byref(self._ending), 0, ctypes.sizeof(self._ending))
        if self._has_own_disk:
            unmount(self._folder)
            namespaces.mount_disk(self._folder)


def end(pid: int, ending: Ending) -> None:
    """Kill a child, its process group and whatever it left behind, and say in ``ending`` how it ended."""
    for kill in (os.killpg, os.kill):  # it may not have come to its own group yet
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    reap(pid, ending)
    while True:
        try:
            left, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not left:  # grandchildren, which became this process's children
            _kill_children()


def _kill_children() -> None:
    if sys.platform != "linux":  # where they do not become this process's children
        return
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        for pid in children.read().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    time.sleep(0.001)


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)
