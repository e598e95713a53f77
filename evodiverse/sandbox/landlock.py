"""Landlock, which limits the files that a confined program may open (Linux 5.13 and later)."""

import ctypes
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from evodiverse.sandbox.kernel import syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every architecture
_VERSION = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
REFER, TRUNCATE = 1 << 13, 1 << 14
_READ = READ_FILE | READ_DIR
_OWN = _READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
_DEVICE = READ_FILE | WRITE_FILE | TRUNCATE
# What each version of the interface can deny: files; TCP; abstract Unix sockets and signals to other processes.
_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP, _TCP_SINCE = 0b11, 4
_SCOPES, _SCOPES_SINCE = 0b11, 6


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def version() -> int:
    """Return the version of the kernel's Landlock interface; 0 if the kernel has none."""
    if sys.platform != "linux":
        return 0
    try:
        return syscall(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


class FileRules:
    """The files that a process may open: some to read, some devices, and one folder to read and write.

    The warm parent, which is the process that forks a process for each program, creates the rules once, before any
    program runs. The process of each program then calls `restrict`, which takes effect permanently in that process.

    Args:
        readable: The files and folders that may be read. Those that do not exist are skipped.
        devices: The device files that may be read and written.
    """

    def __init__(self, readable: Sequence[str], devices: Sequence[str]) -> None:
        supported = min(version(), _SCOPES_SINCE)
        self._handled = _FILES[min(supported, max(_FILES))]
        tcp = _TCP if supported >= _TCP_SINCE else 0
        self._ruleset = _Ruleset(self._handled, tcp, _SCOPES if supported >= _SCOPES_SINCE else 0)
        self._size = 24 if supported >= _SCOPES_SINCE else 16 if supported >= _TCP_SINCE else 8
        self._places: list[tuple[int, int]] = []
        for paths, rights in ((readable, _READ), (devices, _DEVICE)):
            for path in paths:
                with suppress(FileNotFoundError, NotADirectoryError):
                    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
                    allowed = rights if os.path.isdir(path) else rights & ~READ_DIR
                    self._places.append((place, allowed & self._handled))

    def restrict(self, folder: str, readable: str | None) -> None:
        """Deny this process all files except those that the rules allow and those in two folders.

        Args:
            folder: The folder that the process may read and write.
            readable: The folder that the process may only read; None for no such folder.

        Raises:
            OSError: The kernel returned an error.
        """
        ruleset = syscall(_CREATE_RULESET, ctypes.byref(self._ruleset), self._size, 0)
        folders = {folder: _OWN} if readable is None else {readable: _READ, folder: _OWN}
        own = [(os.open(path, os.O_PATH), rights & self._handled) for path, rights in folders.items()]
        for place, rights in [*self._places, *own]:
            rule = _Rule(rights, place)
            syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        syscall(_RESTRICT_SELF, ruleset, 0)
