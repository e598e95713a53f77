"""The files that a user names, which must be regular files: inputs, prompt templates and the programs of commands."""

import errno
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from string import Template

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


def read_templates(
    folder: Path, fields: Mapping[str, Sequence[str]], shipped: Mapping[str, Path] | None = None
) -> dict[str, str]:
    """Return the text of each prompt template by name; the template ``NAME`` is read from ``NAME.txt`` in the folder.

    A template has fields such as ``$name``.

    Args:
        folder: The folder that ``task.prompts.dir`` names, or the one with the templates of EvoDiverse.
        fields: The fields that each template must contain, by the name of the template. ``field?`` marks an optional
            field, and ``one|other`` two fields of which at least one is required.
        shipped: The files to use for templates that are missing from the folder, by the name of the template.

    Raises:
        InputError: A template is missing, a required field is missing, or a field is unknown; the messages name every
            problem.
    """
    templates, violations = {}, []
    for name in fields:
        path = folder / f"{name}.txt"
        if shipped and name in shipped and folder.is_dir() and not path.exists():
            path = shipped[name]
        try:
            templates[name] = read_text_input(path, "utf-8")
        except OSError as error:
            violations.append(f"task.prompts.dir: cannot read {path} ({reason(error)}); check the path")
        except ValueError:
            violations.append(f"task.prompts.dir: {path} is not UTF-8; save it as text in UTF-8")
        else:
            problems = _find_problems(templates[name], fields[name])
            violations += [f"task.prompts.dir: {path} {problem}" for problem in problems]
    if violations:
        raise InputError(*violations)
    return templates


def _find_problems(text: str, fields: Sequence[str]) -> list[str]:
    template = Template(text)
    if not template.is_valid():
        return ["has a $ without the name of a field; write $$ for the character itself"]
    known = [name for field in fields for name in field.rstrip("?").split("|")]
    used = template.get_identifiers()
    unknown = [field for field in used if field not in known]
    problems = [f"has the unknown field ${field}; expected ${', $'.join(known)}" for field in unknown]
    needed = [field.split("|") for field in fields if not field.endswith("?")]
    return problems + [f"is missing ${' or $'.join(names)}" for names in needed if not set(names) & set(used)]
