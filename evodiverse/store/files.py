"""The files in a run directory besides its datasets: JSON files, the lock that admits one writer, and the journal."""

import errno
import json
import logging
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import InputError, damaged
from evodiverse.kit import files as kit
from evodiverse.kit.files import decode_line, encode_line, writing_to
from evodiverse.runlog.record import LOCK
from evodiverse.text import count_of

_LOG = logging.getLogger("evodiverse.store")
_MOST_BYTES: Final = 1 << 28  # a checkpoint holds all members of all pools


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
        raise damaged(path, error) from error


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
    kit.refuse_odd_file(path / LOCK)
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = (path / LOCK).open("ab+", buffering=0)
    except OSError as error:
        raise InputError(f"cannot write to {path} ({error.strerror}); choose another folder with outputs=…") from error
    with file:
        if _lock(file.fileno(), path):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield


def check_unlocked(path: Path) -> None:
    """Refuse a run directory that another process has locked; nothing is written.

    Raises:
        InputError: Another process holds the lock (the message names it), or the lock file is a link.
    """
    kit.refuse_odd_file(path / LOCK)
    # NFS locks no file that is open for reading only. If it cannot be opened, there is none, or `locked` says why.
    with suppress(OSError), (path / LOCK).open("rb+", buffering=0) as file:
        _lock(file.fileno(), path)


def _lock(descriptor: int, path: Path) -> bool:
    """Lock an open lock file; return False, after a warning, if the file system has no locks.

    Raises:
        InputError: Another process holds the lock, or has just removed the directory.
    """
    try:
        is_mine = kit.lock(descriptor, waits=False)
    except OSError as error:
        _LOG.warning("cannot lock %s (%s); make sure that no other process writes there", path, error.strerror)
        return False
    if not is_mine or not os.fstat(descriptor).st_nlink:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        raise InputError(f"{path} is being written by {holder}; wait for it or choose another seed")
    return True


class Journal:
    """The evaluations that are not in the log on disk yet, so that a killed run need not repeat them.

    It is a file to which JSON records are appended, one per line, each preceded by its CRC-32.

    Any number of processes may append at the same time, since each call is a single write. A record survives the death
    of the process as soon as the call returns. To limit the loss in a power cut, an append also syncs the file if this
    process last did so more than a second ago.

    Args:
        path: The path of the file, which the first append creates.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced = 0.0

    def append(self, records: Sequence[Mapping[str, object]]) -> None:
        """Add records at the end.

        Raises:
            ServiceError: The disk is full or no longer available.
        """
        content = b"".join(map(encode_line, records))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with writing_to(self._path), os.fdopen(self._open(flags), "ab", buffering=0) as file:
            if file.write(content) != len(content):
                raise OSError(errno.ENOSPC, "disk full")
            if time.monotonic() - self._synced > 1.0:
                os.fsync(file.fileno())
                self._synced = time.monotonic()

    def read(self) -> list[dict[str, Any]]:
        """Return all intact records.

        An incomplete record at the end is cut off. A damaged record elsewhere is skipped with a warning.

        Raises:
            InputError: The file cannot be read.
        """
        try:
            with os.fdopen(self._open(os.O_RDWR), "rb+") as file:
                content = file.read()
                *lines, torn = content.split(b"\n")
                if torn:
                    file.truncate(len(content) - len(torn))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"cannot read {self._path} ({error.strerror}); make it readable and writable") from error
        records = [decode_line(line) for line in lines]
        if n_damaged := records.count(None):
            _LOG.warning("%s is damaged; %s lost, and will be repeated", self._path, count_of(n_damaged, "record"))
        return [record for record in records if record is not None]

    def replace(self, records: Sequence[Mapping[str, object]]) -> None:
        """Replace all records with these. Every record that is dropped must already be in the log."""
        if records:
            kit.write_file(self._path, b"".join(map(encode_line, records)))
        elif self._path.exists():
            os.close(self._open(os.O_WRONLY | os.O_TRUNC))

    def _open(self, flags: int) -> int:
        """Return a descriptor of the file. A symbolic link in its place is an error."""
        return os.open(self._path, flags | os.O_NOFOLLOW, 0o666)
