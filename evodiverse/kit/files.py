"""Reading and writing files safely.

Files are written completely or not at all, and never through a link that somebody else has put in their place.
"""

import fcntl
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import yaml

from evodiverse.errors import DataError, InputError, ServiceError, reason

TEMPORARY: Final = ".tmp"
"""The suffix of the names of unfinished files. These names begin with a dot."""

_WRITTEN: Final = ".written"
# The first is six times as fast, but not every build of PyYAML has it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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
        why = f"{path} cannot be written ({reason(error)})"
        raise DataError(f"{why}; set EVODIVERSE_CACHE to a writable folder") from error


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
    for path, folders, files in os.walk(folder):  # unlike rglob, it tolerates that a folder disappears meanwhile
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


def read_shipped(path: Path) -> Any:
    """Return the content of a YAML file that comes with EvoDiverse."""
    return yaml.load(path.read_bytes(), _LOADER)  # noqa: S506 (both loaders are safe)


def encode_line(record: Mapping[str, object]) -> bytes:
    """Return a record as a line of JSON that begins with the CRC-32 of the rest; numpy scalars become numbers."""
    content = json.dumps(record, default=lambda scalar: scalar.item()).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(content), content)


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Return the record in a line, given without its line break; None if the line is damaged."""
    checksum, _, content = line.partition(b" ")
    record: dict[str, Any] | None = json.loads(content) if checksum == b"%08x" % zlib.crc32(content) else None
    return record


def write_listed(folder: Path, contents: Mapping[str, bytes], unlisted: Mapping[str, bytes]) -> None:
    """Write files to a folder, and delete files that an earlier call wrote and this one does not.

    A hidden file in the folder lists the files that a call wrote, with their SHA-256. A listed file that was changed
    since that call is kept, and so is every file that is not listed. Nothing is written through a link.

    Args:
        folder: The folder, which is created if it is missing.
        contents: The content of each file, by name.
        unlisted: The content of files that every call writes, by name. They are not listed, so no call deletes them.

    Raises:
        InputError: The folder is a link, or the list is damaged.
        OSError: A file cannot be written.
    """
    refuse_link(folder)
    manifest = folder / _WRITTEN
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    folder.mkdir(parents=True, exist_ok=True)
    before = _read_manifest(manifest)
    for name, content in {**contents, **unlisted}.items():
        write_file(folder / name, content)
    for path, digest in ((folder / name, digest) for name, digest in before.items() if name not in digests):
        if path.is_file() and not path.is_symlink() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
            path.unlink()
    write_file(manifest, "".join(f"{digest} {name}\n" for name, digest in digests.items()).encode())


def _read_manifest(path: Path) -> Mapping[str, str]:
    """Return the SHA-256 of each file that the last call of `write_listed` listed, by name.

    Names that contain a folder are left out, since somebody else may have written the list.

    Raises:
        InputError: The list is damaged.
    """
    try:
        lines = read_file(path, 1 << 24).decode(errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); delete it") from error
    listed = {name: digest for digest, _, name in (line.partition(" ") for line in lines)}
    return {name: digest for name, digest in listed.items() if Path(name).name == name}
