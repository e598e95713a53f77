"""A disk for each program: a file system in memory whose size the kernel limits and that nobody else sees.

It needs a user namespace, in which an ordinary account may mount file systems. Many containers and some systems refuse
that.
"""

import os
import sys
from typing import Final

from evodiverse.sandbox import kernel
from evodiverse.sandbox.disk import MAX_DISK_BYTES, MAX_FILES

_OPTIONS: Final = f"size={MAX_DISK_BYTES},nr_inodes={MAX_FILES},mode=700"


def can_mount(folder: str) -> bool:
    """Return whether this process can `enter` new namespaces and mount a disk on ``folder`` within them.

    A child process tries both: a kernel may grant the namespaces and then refuse to mount in them, and a process cannot
    leave them again.
    """
    if sys.platform != "linux" or len(os.listdir("/proc/self/task")) > 1:  # a process with several threads cannot
        return False
    pid = os.fork()
    if pid == 0:
        try:
            enter()
            mount_disk(folder)
            kernel.unmount(folder)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return status == 0


def enter() -> None:
    """Move this process, which must have a single thread, into a new user namespace and a new mount namespace.

    The process keeps its user ID and group ID. What it mounts from now on disappears when it and its children have
    ended.

    Raises:
        OSError: The kernel returned an error.
    """
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
    for name, text in {"setgroups": "deny", "uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}.items():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    kernel.mount("none", "/", kernel.MS_REC | kernel.MS_PRIVATE)


def mount_disk(folder: str) -> None:
    """Mount an empty disk on a folder, for at most ``MAX_DISK_BYTES`` bytes and ``MAX_FILES`` files.

    Raises:
        OSError: The kernel returned an error.
    """
    kernel.mount("tmpfs", folder, kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC, _OPTIONS)
