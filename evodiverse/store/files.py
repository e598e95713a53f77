"""Reading and writing the JSON files in a run directory, and the lock that admits one writer to it."""

import json
import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import InputError, ServiceError, reason
from evodiverse.kit import files as kit
from evodiverse.kit.files import lock, refuse_odd_file
from evodiverse.runlog.record import LOCK

_LOG = logging.getLogger("evodiverse.store")
_MOST_BYTES: Final = 1 << 28  # a checkpoint holds all members of all pools


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turn a disk error into a `ServiceError` whose one-line message names a remedy.

    Raises:
        ServiceError: The disk is full or no longer available.
    """
    try:
        yield
    except OSError as error:
        raise ServiceError(
            f"cannot write to {path} ({reason(error)}); fix that, then run the same command again to resume"
        ) from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace the file at ``path`` with one that has this content."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    kit.write_file(path, text.encode("utf-8", "backslashreplace"))
    kit.sync_folder(path.parent)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the content of ``path``; None if the file does not exist.

    Raises:
        InputError: The file cannot be read or is not a JSON object.
    """
    try:
        return kit.read_json(path, _MOST_BYTES)
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise InputError(f"outputs: {path.parent} is not a folder; choose another one with outputs=…") from error
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}); make it readable or use overwrite=true") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); use overwrite=true to start over") from error


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
