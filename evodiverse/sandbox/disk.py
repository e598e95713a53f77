"""The folder that a program may write to: a disk in memory whose size the kernel limits, or one that is measured.

A disk in memory is seen by nobody else. It needs a user namespace, in which an ordinary account may mount file systems.
Many containers and some systems refuse that.
"""

import errno
import itertools
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from evodiverse.sandbox import kernel

MAX_FILES: Final = 1_000
MAX_DISK_BYTES: Final = 64_000_000
MAX_FILE_BYTES: Final = 16_000_000
_OPTIONS: Final = f"size={MAX_DISK_BYTES},nr_inodes={MAX_FILES},mode=700"
_BLOCK: Final = 512
# The name under which /proc lists shared memory without a file.
_SHARED_MEMORY: Final = b"/dev/zero (deleted)"
# How many times to check whether a process has stopped, and the seconds between two checks.
_STOP_CHECKS, _STOP_SECONDS = 50, 0.0005


def program_folder(root: str) -> str:
    """Return the folder of the running program.

    It is inside ``root``, the folder of the warm parent, which is the process that forks a process for each program.
    """
    return os.path.join(root, "job")


def can_mount(folder: str) -> bool:
    """Return whether this process can enter new namespaces and mount a disk on ``folder`` within them.

    A child process tries both: a kernel may grant the namespaces and then refuse to mount in them, and a process cannot
    leave them again.
    """
    if sys.platform != "linux" or len(os.listdir("/proc/self/task")) > 1:  # a process with several threads cannot
        return False
    pid = os.fork()
    if pid == 0:
        try:
            enter_namespaces()
            mount_disk(folder)
            kernel.unmount(folder)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return status == 0


def enter_namespaces() -> None:
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


class CountedFolder:
    """A program's folder whose size is measured, since it is on an ordinary disk.

    Args:
        root: The folder that contains the program's folder and nothing else.
        warm_parent: The id of the process that forks the programs. Deleted files that it has mapped itself do not
            count, since each program inherits them.
    """

    def __init__(self, root: str, warm_parent: int) -> None:
        self._root = root
        self._folder = program_folder(root)
        self._warm_parent = warm_parent

    def clear(self) -> None:
        """Replace the folder with an empty one, whatever a program has left there."""
        empty(self._root)
        os.mkdir(self._folder, stat.S_IRWXU)

    def is_too_large(self, pid: int | None) -> bool:
        """Return whether a program has written more than it may, or made a folder that cannot be read.

        Args:
            pid: The id of the program's process; None if it has ended. The process is stopped for a moment, so that it
                neither renames nor deletes files while they are counted.
        """
        if pid is None:
            return _is_too_large(self._folder, 0)
        with _stopped(pid):
            return _is_too_large(self._folder, _deleted_bytes(pid, self._folder, self._warm_parent))


def remove(root: str) -> None:
    """Delete a folder and its content. A folder that does not exist is not an error."""
    with suppress(FileNotFoundError):
        while True:
            empty(root)
            try:
                return os.rmdir(root)
            except OSError as error:
                if error.errno != errno.ENOTEMPTY:  # a program that is being killed has written to it again
                    raise


def empty(folder: str) -> None:
    """Delete the content of a folder, whatever a program has left there.

    Nested content is moved up first, so that neither the depth of a tree nor the length of its paths matters.
    """
    moved = itertools.count()
    prefix = os.urandom(8).hex()
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while names := _list_accessible(top):
            for name, is_folder in names:
                if not is_folder:
                    os.unlink(name, dir_fd=top)
                    continue
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                try:
                    for deeper, _ in _list_accessible(inner):
                        os.rename(deeper, f"{prefix}-{next(moved)}", src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


def _list_accessible(folder: int) -> list[tuple[str, bool]]:
    """Return each name in an open folder, and whether it is a folder. Folders are made accessible to their owner."""
    with os.scandir(folder) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in names:
        if is_folder:
            os.chmod(name, stat.S_IRWXU, dir_fd=folder)
    return names


def _is_too_large(folder: str, n_bytes: int) -> bool:
    """Return whether a program's folder cannot be read, or holds too many files or bytes.

    Args:
        folder: The folder.
        n_bytes: The bytes of deleted files, which are added to those in the folder.
    """
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
                        n_bytes += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
        except FileNotFoundError:  # the program has deleted it in the meantime
            continue
        except OSError:
            return True
    return n_bytes > MAX_DISK_BYTES


def _deleted_bytes(pid: int, folder: str, warm_parent: int) -> int:
    """Return an upper bound on the bytes of the deleted files that a process still uses; 0 without ``/proc``.

    Open files are measured. A deleted file that is mapped but not open counts as `MAX_FILE_BYTES`, the largest size
    that a file may have.
    """
    sizes: dict[int, int] = {}
    device = os.stat(folder).st_dev
    for descriptor in _list(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed in the meantime
            status = os.stat(f"/proc/{pid}/fd/{descriptor}")
            if status.st_dev == device and status.st_nlink == 0:
                sizes[status.st_ino] = status.st_blocks * _BLOCK
    mapped = _deleted_mappings(pid) - _deleted_mappings(warm_parent)
    return sum(sizes.values()) + MAX_FILE_BYTES * len(mapped - set(sizes))


def _deleted_mappings(pid: int) -> set[int]:
    """Return the inodes of the deleted files that a process has mapped."""
    entries: list[bytes] = []
    with suppress(OSError), open(f"/proc/{pid}/maps", "rb") as maps:  # the process is gone, or there is no /proc
        entries = maps.read().split(b"\n")  # the kernel escapes a line feed in a name, and nothing else
    parts = [entry.split(None, 5) for entry in entries if entry.endswith(b" (deleted)")]
    return {int(inode) for *_, inode, path in parts if path != _SHARED_MEMORY}


def _list(folder: str) -> list[str]:
    with suppress(OSError):  # the process is gone, or the system has no /proc
        return os.listdir(folder)
    return []


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    """Suspend a process within this context. If it does not stop soon, the context begins anyway."""
    _signal(pid, signal.SIGSTOP)
    try:
        for _ in range(_STOP_CHECKS):
            if all(_is_stopped(f"/proc/{pid}/task/{thread}/stat") for thread in _list(f"/proc/{pid}/task")):
                break
            time.sleep(_STOP_SECONDS)
        yield
    finally:
        _signal(pid, signal.SIGCONT)


def _is_stopped(path: str) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] not in b"RSD"
    return True  # the thread has ended


def _signal(pid: int, signum: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signum)
