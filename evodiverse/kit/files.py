"""Reading and writing files safely.

Files are written completely or not at all, and never through a link that somebody else has put in their place.
"""

import fcntl
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

from evodiverse.errors import DataError, InputError, reason

TEMPORARY: Final = ".tmp"
"""The suffix of the names of unfinished files. These names begin with a dot."""


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Replace the file at ``path`` atomically, so that a power cut leaves either the old or the new file.

    A link at ``path`` or at the temporary name is replaced, not followed. If writing fails, no temporary file is left.

    Args:
        path: The path of the file.
        write: A function that is called with the open new file and writes the content to it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("xb") as file:  # x: fails if anything exists there, including a link
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_file(path: Path, content: bytes) -> None:
    """Replace the file at ``path`` with one that has this content, as `replace_file` does."""
    replace_file(path, lambda file: file.write(content))


def write_cached(path: Path, content: bytes) -> None:
    """Write a file of the cache atomically, and create its folder if necessary.

    Raises:
        DataError: The file cannot be written; the message names it and says what to do.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({reason(error)}); set EVODIVERSE_CACHE to a writable folder"
        ) from error


def sync_folder(path: Path) -> None:
    """Write the names in a folder to disk, so that files renamed in it keep their new names after a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int, *, waits: bool) -> bool:
    """Lock an open file; the kernel releases the lock when the file is closed or the process dies.

    Args:
        descriptor: The descriptor of the file.
        waits: Whether to wait for the lock if another process holds it.

    Returns:
        Whether the lock was acquired; always True with ``waits``.

    Raises:
        OSError: The file is on a network file system without locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def refuse_link(path: Path) -> None:
    """Refuse a path that is a link.

    If somebody else made the folder that contains the path, writing through a link could change files elsewhere.

    Raises:
        InputError: The path is a link.
    """
    if path.is_symlink():
        raise InputError(f"{path} is a link, and nothing is written through links; remove it or choose another folder")


def refuse_odd_file(path: Path) -> None:
    """Refuse a path that is a link, a device or a pipe; a file, a folder or a missing path is accepted.

    Raises:
        InputError: The path is a link, a device or a pipe.
    """
    refuse_link(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path} is neither a file nor a folder; remove it or choose another folder")


def refuse_odd_files(folder: Path) -> None:
    """Refuse a folder that contains a link, a device or a pipe at any depth; the folder itself may be a link.

    Raises:
        InputError: The folder contains a link, a device or a pipe; the message names it.
    """
    for path, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            refuse_odd_file(Path(path, name))


def check_regular(path: Path) -> None:
    """Refuse a path that is a link, a device or a pipe. Reading a device or a pipe might never end.

    Raises:
        FileNotFoundError: The path does not exist.
        ValueError: The path is a link, a device or a pipe.
    """
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        raise ValueError("it is a link")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ValueError("it is not a regular file")


def read_file(path: Path, most_bytes: int) -> bytes:
    """Return the content of a file that somebody else may have written.

    Raises:
        OSError: The file cannot be read.
        ValueError: The path is a link, a device or a pipe, or the file is longer than ``most_bytes``.
    """
    check_regular(path)
    if path.stat().st_size > most_bytes:
        raise ValueError(f"it has more than {most_bytes:,} bytes")
    return path.read_bytes()


def read_json(path: Path, most_bytes: int) -> dict[str, Any]:
    """Return the JSON object in a file that somebody else may have written.

    Raises:
        OSError: The file cannot be read.
        ValueError: `read_file` refuses the file, or the content is not a JSON object or contains NaN or infinity.
    """
    try:
        content = json.loads(read_file(path, most_bytes).decode(), parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 (the error is about the file's content)
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")
