"""The files of a task that programs may read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evodiverse.errors import InputError

MAX_FILES: Final = 1_000


def list_files(folder: Path, role: str) -> Mapping[str, Path]:
    """Return the files in a folder and its subfolders that programs may read, by ``role`` and relative path.

    Links are left out, because a program in the sandbox cannot follow them out of the folder. So are compiled modules.

    Raises:
        InputError: The folder does not exist, or has so many files that it hardly is the folder of one task.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; check the path")
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.parent.name != "__pycache__":
            files[f"{role}/{path.relative_to(folder)}"] = path
        if len(files) > MAX_FILES:
            raise InputError(f"{folder} has more than {MAX_FILES:,} files, all of which programs may read; move it")
    return files
