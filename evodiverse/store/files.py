"""Files that are either there whole or not at all."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evodiverse.errors import InputError


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file and put it in the place of ``path`` at one stroke, even in a power cut."""
    temporary = path.with_name(f".{path.name}.tmp")
    write(temporary)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(path)


def sync_folder(path: Path) -> None:
    """Make the renames within a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace ``path`` by ``content``."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    replace_file(path, lambda temporary: temporary.write_bytes(text.encode("utf-8", "backslashreplace")))
    sync_folder(path.parent)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the content of ``path``, None if there is no such file.

    Raises:
        InputError: It cannot be read or is not a JSON object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise InputError(f"outputs: {path.parent} is no folder; choose another one with outputs=…") from error
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}); make it readable or use overwrite=true") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({error}); use overwrite=true to start afresh") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged (no JSON object); use overwrite=true to start afresh")
    return content
