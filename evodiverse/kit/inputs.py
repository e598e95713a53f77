"""The files that a user names, which must be regular files, and the commands."""

import errno
import hashlib
import os
import shutil
from collections.abc import Sequence
from io import BufferedReader, TextIOWrapper
from pathlib import Path

from evodiverse.errors import InputError, reason


def expanded(path: str | Path) -> Path:
    """Return a path with ``~`` expanded. The ``~`` of an unknown user stays, so the path will not be found."""
    return Path(os.path.expanduser(path))  # pathlib would raise an error for an unknown user


def open_input(path: Path) -> BufferedReader:
    """Open a user-specified file for reading, without blocking on a pipe or a device.

    Args:
        path: The path of the file, or of a link to it.

    Raises:
        OSError: The file cannot be opened or is not a regular file; `errors.reason` gives the reason.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError("it is a device or a pipe, expected a file")
    return path.open("rb")  # which refuses a folder


def read_input(path: Path) -> bytes:
    """Return the content of a file that a user names; see `open_input`.

    Raises:
        OSError: The file cannot be read or is not a regular file.
    """
    with open_input(path) as file:
        return file.read()


def read_text_input(path: Path, encoding: str) -> str:
    """Return the text of a file that a user names, with all line endings converted to newlines; see `open_input`.

    Raises:
        OSError: The file cannot be read or is not a regular file.
        ValueError: The content is not text in this encoding.
    """
    with open_input(path) as file, TextIOWrapper(file, encoding) as text:
        return text.read()


def input_sha256(path: Path, key: str) -> str:
    """Return the SHA-256 of a file that a user names.

    Args:
        path: The path of the file.
        key: The configuration key that names the file, for the error message.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        with open_input(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{key}: cannot read {path} ({reason(error)}); check the path") from error


def find_fault(program: str) -> str | None:
    """Return why a program cannot be started, in the words of the operating system, or None if it can."""
    if shutil.which(program) is not None:
        return None
    return os.strerror(errno.EACCES if Path(program).is_file() else errno.ENOENT)


def find_files(command: Sequence[str], role: str) -> dict[str, Path]:
    """Return the files that are words of a command, by role: ``role`` with a number, or with ``program``.

    The first word, the program, counts only if it is a script or has a relative path, so an interpreter does not count.
    """
    files = [Path(word) for word in command[1:] if Path(word).is_file()]
    found = {f"{role}/{place}": path for place, path in enumerate(files)}
    program = Path(command[0]) if command and os.sep in command[0] else None
    if program is not None and program.is_file() and (not program.is_absolute() or _is_script(program)):
        found[f"{role}/program"] = program
    return found


def _is_script(program: Path) -> bool:
    with program.open("rb") as file:
        return file.read(2) == b"#!"
