"""Writing generated files to a folder, and deleting those of earlier writes that are no longer generated."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evodiverse.errors import InputError
from evodiverse.kit.files import read_file, refuse_link, write_file

_WRITTEN: Final = ".written"
_MOST_BYTES: Final = 1 << 24


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
        lines = read_file(path, _MOST_BYTES).decode(errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); delete it") from error
    listed = {name: digest for digest, _, name in (line.partition(" ") for line in lines)}
    return {name: digest for name, digest in listed.items() if Path(name).name == name}
