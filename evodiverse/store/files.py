"""Reading and writing the JSON files in a run directory."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import InputError, ServiceError, reason
from evodiverse.kit import files as kit

_MOST_BYTES: Final = 1 << 28  # a checkpoint holds all members of all pools


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


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace the file at ``path`` with one that has this content."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    kit.write_file(path, text.encode("utf-8", "backslashreplace"))
    kit.sync_folder(path.parent)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the content of ``path``; None if the file does not exist.

    Raises:
        InputError: The file cannot be read or is not a JSON object.
    """
    try:
        return kit.read_json(path, _MOST_BYTES)
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise InputError(f"outputs: {path.parent} is not a folder; choose another one with outputs=…") from error
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}); make it readable or use overwrite=true") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); use overwrite=true to start over") from error
