"""System calls for which Python has no function."""

import ctypes
import errno
import os
import sys

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 18
_MNT_DETACH = 2


class _Time(ctypes.Structure):
    _fields_ = [
        ("seconds", ctypes.c_long),
        ("microseconds", ctypes.c_long if sys.platform == "linux" else ctypes.c_int),
    ]


class Ending(ctypes.Structure):
    """The end of a process, as `reap` records it: its wait ``status`` and the CPU time of all its threads."""

    _fields_ = [("status", ctypes.c_int), ("user", _Time), ("system", _Time), ("_rest", ctypes.c_long * 14)]

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of the process in user and kernel mode, in seconds."""
        return float(sum(time.seconds + time.microseconds / 1e6 for time in (self.user, self.system)))


def syscall(number: int, *arguments: object) -> int:
    """Make a system call and return its result. Integers are passed as 64-bit values.

    Raises:
        OSError: The kernel returned an error.
    """
    wide = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_LIBC.syscall(ctypes.c_long(number), *wide))


def prctl(option: int, *arguments: object) -> int:
    """Read or set an attribute of this process, and return the result; see the manual page of prctl.

    Raises:
        OSError: The kernel returned an error.
    """
    wide = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    padded = wide + [ctypes.c_ulong(0)] * (4 - len(wide))
    return _checked(_LIBC.prctl(ctypes.c_int(option), *padded))


def unshare(flags: int) -> None:
    """Move this process into new namespaces of these kinds (``CLONE_NEW…``).

    Raises:
        OSError: The kernel returned an error.
    """
    _checked(_LIBC.unshare(ctypes.c_int(flags)))


def mount(kind: str, folder: str, flags: int, options: str = "") -> None:
    """Mount a file system on a folder, or change how the existing one is mounted.

    Args:
        kind: The type of the file system, such as tmpfs.
        folder: The folder to mount it on.
        flags: The mount flags (``MS_…``).
        options: The options of this type of file system.

    Raises:
        OSError: The kernel returned an error.
    """
    _checked(_LIBC.mount(kind.encode(), os.fsencode(folder), kind.encode(), ctypes.c_ulong(flags), options.encode()))


def unmount(folder: str) -> None:
    """Unmount the file system on a folder, even if it is still in use.

    Raises:
        OSError: The kernel returned an error.
    """
    _checked(_LIBC.umount2(os.fsencode(folder), ctypes.c_int(_MNT_DETACH)))


def reap(pid: int, ending: Ending) -> None:
    """Wait for a child to end, and write how it ended into ``ending``, but nowhere else in memory.

    The process that calls this also forks the programs that start later, and they inherit its memory. They could read a
    copy that was left there.

    Raises:
        OSError: There is no such child.
    """
    usage = ctypes.byref(ending, Ending.user.offset)
    while _LIBC.wait4(ctypes.c_int(pid), ctypes.byref(ending), 0, usage) < 0:
        _checked(-1 if ctypes.get_errno() != errno.EINTR else 0)


def drop_capabilities() -> None:
    """Give up every privilege of root. The account's own files stay accessible.

    Raises:
        OSError: The kernel returned an error.
    """
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    _checked(_LIBC.capset(header, (ctypes.c_uint32 * 6)()))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)
