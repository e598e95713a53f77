"""The warm parent: a process that has loaded the libraries and forks a process for each program.

A `supervisor.WarmParent` starts it with a minimal environment. The process ends when that object is gone. All programs
inherit the memory of the warm parent, so nothing about a program may stay there. Jobs and outputs never enter that
memory, and how a program ended, including the time that it took, is erased before the next fork.
"""

import ctypes
import gc
import importlib
import os
import signal
import socket
import sys
import time
from contextlib import suppress

from evodiverse.errors import describe
from evodiverse.sandbox import child, wire
from evodiverse.sandbox.confinement import Confinement
from evodiverse.sandbox.disk import can_mount, enter_namespaces, mount_disk, program_folder, remove
from evodiverse.sandbox.kernel import PR_SET_CHILD_SUBREAPER, Ending, prctl, reap, unmount


def main() -> None:
    """Serve requests on a socket until the other side is gone.

    The command line gives the file descriptor of the socket, the folder, whether to mount a disk for each program if
    the kernel allows it, whether to confine programs, and the modules to load.
    """
    fd, root, mounts, confines, *preload = map(str, sys.argv[1:])
    connection = socket.socket(fileno=os.dup(int(fd)))  # a low number, which a child closes
    os.close(int(fd))
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    try:
        for name in preload:
            importlib.import_module(name)
        _serve(connection, root, mounts=mounts == "True", confines=confines == "True")
    except ConnectionError:  # the other side is gone
        pass
    except Exception as error:  # noqa: BLE001 (the other side reports it)
        with suppress(ConnectionError):
            connection.sendall(wire.BROKEN + describe(error).encode())
    finally:
        remove(root)


def _serve(connection: socket.socket, root: str, *, mounts: bool, confines: bool) -> None:
    folder = program_folder(root)
    has_own_disk = mounts and confines and can_mount(folder)
    if sys.platform == "linux":
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    if has_own_disk:
        enter_namespaces()
        mount_disk(folder)
    confinement, ending, pid = Confinement() if confines else None, Ending(), None
    connection.sendall(wire.READY + (wire.LIMITED if has_own_disk else wire.COUNTED))
    if confines:
        os.environ.clear()
    gc.collect()
    gc.freeze()
    try:
        while request := connection.recv(1):
            if request == wire.FORK:
                pid, fds = _fork(confinement, folder)
                socket.send_fds(connection, [wire.READY + pid.to_bytes(wire.PID_BYTES)], fds)
                for fd in fds:
                    os.close(fd)
            elif pid is not None:
                end(pid, ending)
                pid = None
                connection.sendall(wire.READY)
                connection.sendall(ending)
                # While the other side reads the answer, the traces of the program are erased.
                ctypes.memset(ctypes.byref(ending), 0, ctypes.sizeof(ending))
                if has_own_disk:
                    unmount(folder)
                    mount_disk(folder)
    finally:
        if pid is not None:
            end(pid, ending)
        if has_own_disk:
            unmount(folder)


def _fork(confinement: Confinement | None, folder: str) -> tuple[int, list[int]]:
    """Fork a process for a program.

    Returns:
        The process id, and the parent's file descriptors in this order: job (write), stdout, stderr and result (read).
    """
    source, job = os.pipe()
    reads, writes = zip(*(os.pipe() for _ in range(3)), strict=True)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            child.run(source, writes, confinement, folder, parent)
        finally:  # even if the program has changed this process
            os._exit(1)
    for fd in (source, *writes):
        os.close(fd)
    return pid, [job, *reads]


def end(pid: int, ending: Ending) -> None:
    """Kill a child, its process group and all processes that it left behind, and write how it ended into ``ending``."""
    for kill in (os.killpg, os.kill):  # it may not have created its own group yet
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    reap(pid, ending)
    while True:
        try:
            left, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not left and sys.platform == "linux":  # elsewhere, orphans do not become children of this process
            _kill_children()


def _kill_children() -> None:
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        for pid in children.read().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    time.sleep(0.001)
