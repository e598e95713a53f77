"""Write the files of a small but complete task, to be turned into your own step by step."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Final

from evodiverse.commands.frame import finish, make_parser
from evodiverse.errors import InputError, reason
from evodiverse.text import printable

_TEMPLATES: Final = Path(__file__).with_name("templates")
_FIRST_RUN: Final = (
    "evodiverse task=program task.evaluator=evaluator.py task.initial.path=start.py budget.oracle_calls=300"
)


def main() -> int:
    """Write the files and return the exit code: 2 if they cannot be written."""
    parser = make_parser("new", __doc__)
    parser.add_argument(
        "kind", choices=("program",), help="kind of task; the candidates of a program task are Python programs"
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder for the files, created if it does not exist")
    arguments = parser.parse_args()
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
    existing = [path.name for path in sources if os.path.lexists(folder / path.name)]
    if existing:
        raise InputError(f"{folder} already has {', '.join(existing)}; nothing was written, name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources:
            print(f"wrote {printable(str(shutil.copyfile(source, folder / source.name)))}")
    except OSError as error:
        raise InputError(f"cannot write to {folder} ({reason(error)}); name another folder") from error
    print(f"next: cd {shlex.quote(str(folder))} && {_FIRST_RUN}")
