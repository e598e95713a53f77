"""Files that are written whole or not at all, and never through a link that somebody else put in their way."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from evodiverse.errors import InputError

TEMPORARY: Final = ".tmp"
"""What the names of unfinished files end with; they begin with a dot."""


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a new file and put it in the place of ``path`` in one step, which survives a power cut.

    A link at ``path`` is replaced, not followed, and so is whatever stands at the temporary name.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    temporary.unlink(missing_ok=True)
    with temporary.open("xb") as file:  # x: fails on anything that is there, a link included
        write(file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_file(path: Path, content: bytes) -> None:
    """Put a new file with this content in the place of ``path``, as `replace_file` does."""
    replace_file(path, lambda file: file.write(content))


def sync_folder(path: Path) -> None:
    """Make the renames within a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_link(path: Path) -> None:
    """Refuse a path that is a link, such as one in a folder from somebody else that leads out of it.

    Raises:
        InputError: It is one.
    """
    if path.is_symlink():
        raise InputError(f"{path} is a link, through which nothing is written; remove it or choose another folder")
