"""The commands that a user names: whether their programs exist, and which of the user's files they consist of."""

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path


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
