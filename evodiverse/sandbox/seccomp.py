"""A filter of system calls (seccomp), which refuses all calls except those in ``syscalls.txt``."""

import ctypes
import platform
import struct
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from evodiverse.sandbox.kernel import PR_SET_SECCOMP, prctl

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000  # marks x32 calls on x86_64, whose numbers would pass a filter that ignores this bit
_NEWEST = 463  # the newest call considered for the tables; the C library copes without newer ones
_CLONE3 = 435  # its arguments cannot be inspected; the C library falls back to clone

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets of a call's number, architecture, arguments
_INSTRUCTION = struct.Struct("=HBBI")
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE, _ABSENT = 0x00050000 | 1, 0x00050000 | 38  # EPERM, ENOSYS

# The calls that are allowed only with some values of an argument: the place of the argument, and the values.
_CHECKED = {
    # The flags with which the C libraries (glibc, musl) create threads, which share everything.
    "clone": (_FIRST, (0x3D0F00, 0x7D0F00)),
    "prlimit64": (_FIRST, (0,)),
    # The options that set and get the name of a thread.
    "prctl": (_FIRST, (15, 16)),
    # The commands that duplicate a descriptor or concern its flags or the size of a pipe. None of them affects other
    # processes, as signals and file locks would.
    "fcntl": (_SECOND, (0, 1, 2, 3, 4, 1030, 1031, 1032)),
    # The requests about terminals (whether a file is one, its size), the bytes available to read, and flags.
    "ioctl": (_SECOND, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),
}


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def is_available() -> bool:
    """Return whether the kernel can filter system calls and this package knows their numbers on this machine."""
    if sys.platform == "linux":
        with suppress(OSError):
            prctl(21)  # PR_GET_SECCOMP
            return platform.machine() in _AUDIT
    return False


def read_numbers() -> dict[str, dict[str, int]]:
    """Return the number of each system call in ``syscalls.txt``, by architecture and then by name."""
    lines = Path(__file__).with_name("syscalls.txt").read_text("ascii").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {
        machine: {row[0]: int(row[column]) for row in rows if row[column] != "-"}
        for column, machine in enumerate(_AUDIT, start=1)
    }


def build_filter(machine: str) -> bytes:
    """Return the filter for an architecture, in the format of the kernel.

    Args:
        machine: The name of the architecture, as `platform.machine` returns it.

    Raises:
        KeyError: The numbers of the system calls are not known for this architecture.
    """
    numbers = read_numbers()[machine]
    instructions = _instruction(_LOAD, _ARCHITECTURE) + _unless(_EQUAL, _AUDIT[machine], _KILL)
    instructions += _instruction(_LOAD, _NUMBER) + _if(_AT_LEAST, _X32, _KILL)
    instructions += _if(_EQUAL, _CLONE3, _ABSENT) + _if(_AT_LEAST, _NEWEST + 1, _ABSENT)
    for name, (place, values) in _CHECKED.items():
        instructions += _argument(numbers.pop(name), place, values)
    for first, last in _runs(sorted(numbers.values())):
        instructions += _unless(_AT_LEAST, first, _REFUSE) + _unless(_AT_LEAST, last + 1, _ALLOW)
    return instructions + _instruction(_RETURN, _REFUSE)


def install(instructions: bytes) -> None:
    """Filter the system calls of this process from now on. ``PR_SET_NO_NEW_PRIVS`` must already be set.

    Args:
        instructions: The filter, as `build_filter` returns it.

    Raises:
        OSError: The kernel returned an error.
    """
    program = _Program(len(instructions) // _INSTRUCTION.size, instructions)
    prctl(PR_SET_SECCOMP, 2, ctypes.byref(program))


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last number of each run of consecutive numbers.

    The filter compares the number of a system call with the ends of the runs, not with every allowed number. This keeps
    the filter short, which matters because the kernel, when it installs a filter, executes it once for each number that
    a system call can have.
    """
    firsts = [number for number in numbers if number - 1 not in numbers]
    lasts = [number for number in numbers if number + 1 not in numbers]
    return list(zip(firsts, lasts, strict=True))


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_true, if_false, value)


def _if(test: int, value: int, action: int) -> bytes:
    return _instruction(test, value, 0, 1) + _instruction(_RETURN, action)


def _unless(test: int, value: int, action: int) -> bytes:
    return _instruction(test, value, 1, 0) + _instruction(_RETURN, action)


def _argument(number: int, place: int, values: Iterable[int]) -> bytes:
    """Return instructions that allow a system call only with some values of one of its arguments.

    Args:
        number: The number of the system call.
        place: The offset of the argument. Only its low half (32 bits) is examined.
        values: The allowed values. All other values are refused.
    """
    body = _instruction(_LOAD, place) + b"".join(_if(_EQUAL, value, _ALLOW) for value in values)
    body += _instruction(_RETURN, _REFUSE)
    return _instruction(_EQUAL, number, 0, len(body) // _INSTRUCTION.size) + body
