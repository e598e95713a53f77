"""Lines of JSON that each begin with their checksum, so that damage to a line is noticed."""

import json
import zlib
from collections.abc import Mapping
from typing import Any


def encode_line(record: Mapping[str, object]) -> bytes:
    """Return a record as a line that begins with the CRC-32 of the rest; numpy scalars become numbers."""
    content = json.dumps(record, default=lambda scalar: scalar.item()).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(content), content)


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Return the record in a line, given without its line break; None if the line is damaged."""
    checksum, _, content = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(content):
        return None
    record: dict[str, Any] = json.loads(content)
    return record
