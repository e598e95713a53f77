"""The lock that admits one writer per run directory."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evodiverse.errors import InputError
from evodiverse.kit.files import lock, refuse_odd_file
from evodiverse.runlog.record import LOCK

_LOG = logging.getLogger("evodiverse.store")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a run directory for as long as the context lasts; the kernel releases the lock if the process dies.

    If the file system has no locks, a warning is logged instead.

    Args:
        path: The run directory, which is created if it is missing.

    Raises:
        InputError: Another process holds the lock (the message names it), the folder is not writable, or the lock file
            is a link.
    """
    refuse_odd_file(path / LOCK)
    try:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"cannot write to {path} ({error.strerror}); choose another folder with outputs=…") from error
    try:
        if _lock(descriptor, path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def check_unlocked(path: Path) -> None:
    """Refuse a run directory that another process has locked; nothing is written.

    Raises:
        InputError: Another process holds the lock (the message names it), or the lock file is a link.
    """
    refuse_odd_file(path / LOCK)
    try:
        descriptor = os.open(path / LOCK, os.O_RDWR)  # NFS locks no file that is open for reading only
    except OSError:  # no such file, or `locked` says what is wrong with it
        return
    try:
        _lock(descriptor, path)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> bool:
    """Lock an open lock file; return False, after a warning, if the file system has no locks.

    Raises:
        InputError: Another process holds the lock, or has just removed the directory.
    """
    try:
        is_mine = lock(descriptor, waits=False)
    except OSError as error:
        _LOG.warning("cannot lock %s (%s); make sure that no other process writes there", path, error.strerror)
        return False
    if not is_mine or not os.fstat(descriptor).st_nlink:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        raise InputError(f"{path} is being written by {holder}; wait for it or choose another seed")
    return True
