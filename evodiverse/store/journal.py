"""The journal: what was evaluated since the last commit, so that a killed run need not evaluate it again."""

import errno
import json
import logging
import os
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evodiverse.errors import InputError, ServiceError, reason
from evodiverse.kit.files import write_file

_LOG = logging.getLogger("evodiverse.store")
_SYNC_SECONDS = 1.0


class Journal:
    """An append-only file of JSON records, one a line, each behind its CRC-32.

    Any number of processes may append at once: a call is one write. It survives the death of the process at once, a
    power cut after a second at most.

    Args:
        path: The file; made by the first append.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced = 0.0

    def append(self, records: Sequence[Mapping[str, object]]) -> None:
        """Add records at the end.

        Raises:
            ServiceError: The disk is full or gone.
        """
        content = b"".join(map(_encode, records))
        try:
            descriptor = self._open(os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                if os.write(descriptor, content) != len(content):
                    raise OSError(errno.ENOSPC, "disk full")
                if time.monotonic() - self._synced > _SYNC_SECONDS:
                    os.fsync(descriptor)
                    self._synced = time.monotonic()
            finally:
                os.close(descriptor)
        except OSError as error:
            raise ServiceError(
                f"cannot write {self._path} ({reason(error)}); mend that and start the same command to resume"
            ) from error

    def read(self) -> list[dict[str, Any]]:
        """Return all sound records; a torn one at the end is cut off, a damaged one elsewhere is named.

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
        records = [_decode(line) for line in lines]
        damaged = [number for number, record in enumerate(records, start=1) if record is None]
        if damaged:
            numbers = ", ".join(map(str, damaged[:5])) + (" …" if len(damaged) > 5 else "")
            _LOG.warning(
                "%s: record %s is damaged; %d evaluations are lost and made again", self._path, numbers, len(damaged)
            )
        return [record for record in records if record is not None]

    def replace(self, records: Sequence[Mapping[str, object]]) -> None:
        """Drop all records, which the log holds now, but for these."""
        if records:
            write_file(self._path, b"".join(map(_encode, records)))
        elif self._path.exists():
            os.close(self._open(os.O_WRONLY | os.O_TRUNC))

    def _open(self, flags: int) -> int:
        """Return a descriptor of the file; a link in its place is an error."""
        return os.open(self._path, flags | os.O_NOFOLLOW, 0o666)


def _encode(record: Mapping[str, object]) -> bytes:
    content = json.dumps(record, default=lambda scalar: scalar.item()).encode("ascii")  # numpy's numbers
    return b"%08x %s\n" % (zlib.crc32(content), content)


def _decode(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, None if it is not what was written."""
    checksum, _, content = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(content):
        return None
    record: dict[str, Any] = json.loads(content)
    return record
