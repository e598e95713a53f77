"""Reading the files that a user names, which must be regular files of limited size."""

import hashlib
import stat
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Final

from evodiverse.errors import InputError, reason

TEXT_BYTES: Final = 10_000_000
"""The size of the largest text file that is read, such as a program or a template, in bytes."""
DATA_BYTES: Final = 4_000_000_000
"""The size of the largest data file that is read into memory, in bytes."""


def expanded(path: str | Path) -> Path:
    """Return a path with ``~`` expanded. The ``~`` of an unknown user stays, so the path will not be found."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError):  # ValueError: a name that no user can have, such as one with a null byte
        return Path(path)


def open_input(path: Path, at_most: int | None) -> BufferedReader:
    """Open a user-specified file for reading, without blocking on a pipe or a device.

    Args:
        path: The path of the file, or of a link to it.
        at_most: The largest allowed size, in bytes; None for any size.

    Raises:
        OSError: The file cannot be opened, is not a regular file or is too large; `errors.reason` gives the reason.
    """
    try:
        status = path.stat()
    except ValueError as error:  # a null byte or a lone surrogate, which no path can have
        raise OSError(str(error)) from error
    is_file = stat.S_ISREG(status.st_mode)
    if not is_file and not stat.S_ISDIR(status.st_mode):
        raise OSError("it is a device or a pipe, expected a file")
    if is_file and at_most is not None and status.st_size > at_most:
        raise OSError(f"it has {status.st_size:,} bytes, expected at most {at_most:,}")
    return path.open("rb")  # which refuses a folder


def read_input(path: Path, at_most: int) -> bytes:
    """Return the content of a file that a user names; see `open_input`.

    Raises:
        OSError: The file cannot be read, is not a regular file or is too large.
    """
    with open_input(path, at_most) as file:
        return file.read()


def read_text_input(path: Path, at_most: int, encoding: str) -> str:
    """Return the text of a file that a user names, with all line endings converted to newlines; see `open_input`.

    Raises:
        OSError: The file cannot be read, is not a regular file or is too large.
        ValueError: The content is not text in this encoding.
    """
    with open_input(path, at_most) as file, TextIOWrapper(file, encoding) as text:
        return text.read()


def input_sha256(path: Path, key: str, at_most: int | None = DATA_BYTES) -> str:
    """Return the SHA-256 of a file that a user names.

    Args:
        path: The path of the file.
        key: The configuration key that names the file, for the error message.
        at_most: The largest allowed size, in bytes; None for any size.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        with open_input(path, at_most) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{key}: cannot read {path} ({reason(error)}); check the path") from error
