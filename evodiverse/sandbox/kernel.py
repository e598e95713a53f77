"""System calls for which Python has no function."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def syscall(number: int, *arguments: object) -> int:
    """Make a system call; numbers are passed as 64 bits.

    Raises:
        OSError: The kernel refused.
    """
    wide = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_LIBC.syscall(ctypes.c_long(number), *wide))


def prctl(option: int, *arguments: object) -> int:
    """Set something of this process.

    Raises:
        OSError: The kernel refused.
    """
    wide = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    padded = wide + [ctypes.c_ulong(0)] * (4 - len(wide))
    return _checked(_LIBC.prctl(ctypes.c_int(option), *padded))


def drop_capabilities() -> None:
    """Give up every privilege of root; the files of one's own remain.

    Raises:
        OSError: The kernel refused.
    """
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    _checked(_LIBC.capset(header, (ctypes.c_uint32 * 6)()))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)
