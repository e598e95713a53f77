"""Write the files of a small but complete task, to be turned into your own step by step."""

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

from evodiverse.commands.frame import finish, make_parser
from evodiverse.errors import InputError, describe, reason
from evodiverse.text import printable

_COPY: Final = "task"
_README: Final = "README.md"
_LEFT_OUT: Final = ("__pycache__", "openevolve_output")
_TEMPLATES: Final = Path(__file__).with_name("templates")
_FIRST_RUN: Final = (
    "evodiverse task=program task.evaluator=evaluator.py task.initial.path=start.py budget.oracle_calls=300"
)


def main() -> int:
    """Write the files and return the exit code: 2 if they cannot be written."""
    parser = make_parser("new", __doc__)
    add = parser.add_argument
    add("kind", choices=("program",), help="kind of task; the candidates of a program task are Python programs")
    add("folder", type=Path, metavar="DIR", help="folder for the files, created if it does not exist")
    add(
        "--from-openevolve",
        type=Path,
        metavar="FOLDER",
        help="make the task from a folder with evaluator.py and initial_program.py of OpenEvolve",
    )
    add(
        "--trust",
        action="store_true",
        help="with --from-openevolve: run the evaluator and all programs with the rights of your account",
    )
    arguments = parser.parse_args()
    if arguments.from_openevolve is not None:
        return finish(lambda: adopt(arguments.from_openevolve, arguments.folder, is_trusted=arguments.trust))
    if arguments.trust:
        parser.error("--trust needs --from-openevolve")
    return finish(lambda: write_template(arguments.kind, arguments.folder))


def write_template(kind: str, folder: Path) -> None:
    """Write the files of a new task, and print their paths and the command to start with.

    Args:
        kind: The kind of task, which is the name of a folder of templates.
        folder: The folder for the files, created if it does not exist.

    Raises:
        InputError: One of the files exists, in which case none is written, or a file cannot be written.
    """
    sources = sorted(path for path in (_TEMPLATES / kind).iterdir() if path.is_file())
    _check_absent(folder, [path.name for path in sources])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources:
            print(f"wrote {printable(str(shutil.copyfile(source, folder / source.name)))}")
    except OSError as error:
        raise InputError(f"cannot write to {folder} ({reason(error)}); name another folder") from error
    print(f"next: cd {shlex.quote(str(folder))} && {_FIRST_RUN}")


def adopt(source: Path, folder: Path, *, is_trusted: bool) -> None:
    """Copy a folder of OpenEvolve into a new task, and print the paths of the files and the command to start with.

    Hidden files, links and OpenEvolve's own output are left out.

    Args:
        source: The folder with ``evaluator.py`` and ``initial_program.py``.
        folder: The folder for the task, created if it does not exist.
        is_trusted: Whether the evaluator and the programs are to run outside of the sandbox.

    Raises:
        InputError: The folder has no such evaluator, a file exists already, or a file cannot be read or written.
    """
    from evodiverse.tasks.programs.openevolve import CONFIG, has_interface, read_config  # here: --help stays fast
    from evodiverse.tasks.programs.settings import OPENEVOLVE_START

    evaluator = source / "evaluator.py"
    if not has_interface(evaluator):
        raise InputError(f"{evaluator} does not exist or defines no evaluate(program_path); name OpenEvolve's folder")
    if not (source / OPENEVOLVE_START).is_file():
        raise InputError(f"{source} has no {OPENEVOLVE_START}, the program that the search starts from; add it")
    if folder.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{folder} is in {source}, which is copied there; name a folder elsewhere")
    _check_absent(folder, [_COPY, _README])
    seconds = read_config(source / CONFIG)["evaluator"].get("timeout")
    settings = ["task=program", f"task.evaluator={_COPY}/evaluator.py"]
    settings += [f"task.timeout={seconds}"] if isinstance(seconds, (int, float)) and seconds > 0 else []
    settings += ["task.trust=true"] if is_trusted else []
    readme, access = (
        (_TEMPLATES / "openevolve" / name).read_text(encoding="utf-8")
        for name in (_README, "trusted.txt" if is_trusted else "confined.txt")
    )
    text = Template(readme).substitute(settings=" ".join(settings), access=access.strip())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, folder / _COPY, ignore=_find_ignored)
        (folder / _README).write_text(text, encoding="utf-8")
    except OSError as error:
        told = reason(error) if error.errno else describe(error)  # an error of shutil lists all files
        raise InputError(f"cannot copy {source} to {folder} ({told}); name another folder") from error
    for name in (_COPY, _README):
        print(f"wrote {printable(str(folder / name))}")
    print(f"next: cd {shlex.quote(str(folder))} && evodiverse {' '.join(settings)} budget.oracle_calls=300")


def _check_absent(folder: Path, names: Sequence[str]) -> None:
    if existing := [name for name in names if os.path.lexists(folder / name)]:
        raise InputError(f"{folder} already has {', '.join(existing)}; nothing was written, name another folder")


def _find_ignored(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(".") or name in _LEFT_OUT or Path(folder, name).is_symlink()]
