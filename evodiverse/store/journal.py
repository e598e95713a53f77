"""The journal: the evaluations that are not in the log on disk yet, so that a killed run need not repeat them."""

import errno
import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evodiverse.errors import InputError
from evodiverse.kit.files import decode_line, encode_line, write_file
from evodiverse.store.files import writing_to
from evodiverse.text import count_of

_LOG = logging.getLogger("evodiverse.store")
_SYNC_SECONDS = 1.0


class Journal:
    """A file to which JSON records are appended, one per line, each preceded by its CRC-32.

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
        with writing_to(self._path):
            descriptor = self._open(os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                if os.write(descriptor, content) != len(content):
                    raise OSError(errno.ENOSPC, "disk full")
                if time.monotonic() - self._synced > _SYNC_SECONDS:
                    os.fsync(descriptor)
                    self._synced = time.monotonic()
            finally:
                os.close(descriptor)

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
            write_file(self._path, b"".join(map(encode_line, records)))
        elif self._path.exists():
            os.close(self._open(os.O_WRONLY | os.O_TRUNC))

    def _open(self, flags: int) -> int:
        """Return a descriptor of the file. A symbolic link in its place is an error."""
        return os.open(self._path, flags | os.O_NOFOLLOW, 0o666)
