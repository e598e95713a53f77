"""Write the files of a small but complete task, to be turned into your own step by step."""

import shlex
import sys
from pathlib import Path
from typing import Final

from evodiverse.commands.frame import finish, make_parser
from evodiverse.errors import InputError, reason
from evodiverse.text import printable

_TEMPLATES: Final = Path(__file__).with_name("templates")
_KINDS: Final = ("program",)
_FIRST_RUN: Final = (
    "evodiverse task=program task.evaluator=evaluator.py task.initial.path=start.py budget.oracle_calls=300"
)

_DETAILS: Final = """\
files:
  evaluator.py  calls and scores programs, describes the task to a language model, and draws the best program
  start.py      the program that the search starts from
  README.md     the commands that run the task and show the results

The task works out of the box: it searches for rules that give short round trips through cities. Replace it with
your own, step by step; comments explain how. Existing files are never overwritten.

example:
  evodiverse-new program mytask
  cd mytask
  evodiverse task=program task.evaluator=evaluator.py task.initial.path=start.py budget.oracle_calls=300
  evodiverse-show outputs
"""


def main() -> int:
    """Write the files and return the exit code: 2 if they cannot be written."""
    parser = make_parser("new", __doc__, _DETAILS)
    parser.add_argument(
        "kind", choices=_KINDS, help="kind of task; the candidates of a program task are Python programs"
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder for the files, created if it does not exist")
    arguments = parser.parse_args()

    def write() -> None:
        for path in write_template(arguments.kind, arguments.folder):
            print(f"wrote {printable(str(path))}")
        print(f"next: cd {shlex.quote(str(arguments.folder))} && {_FIRST_RUN}")

    return finish(write)


def write_template(kind: str, folder: Path) -> list[Path]:
    """Write the files of a new task and return their paths.

    Args:
        kind: The kind of task, which is the name of a folder of templates.
        folder: The folder for the files, created if it does not exist.

    Raises:
        InputError: One of the files exists, in which case none is written, or a file cannot be written.
    """
    contents = {path.name: path.read_bytes() for path in sorted((_TEMPLATES / kind).iterdir()) if path.is_file()}
    existing = [name for name in contents if (folder / name).is_symlink() or (folder / name).exists()]
    if existing:
        raise InputError(f"{folder} already has {', '.join(existing)}; nothing was written, name another folder")
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            with (folder / name).open("xb") as file:
                file.write(content)
            written.append(folder / name)
    except OSError as error:
        raise InputError(f"cannot write to {folder} ({reason(error)}); name another folder") from error
    return written


if __name__ == "__main__":
    sys.exit(main())
