"""Write the files of a task of your own, a small complete one to be replaced step by step."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Final

from evodiverse.errors import InputError, reason
from evodiverse.kit.text import printable
from evodiverse.version import VERSION

_TEMPLATES: Final = Path(__file__).with_name("templates")
_KINDS: Final = ("program",)
_FIRST_RUN: Final = (
    "evodiverse task=program task.evaluator=evaluator.py task.initial.path=start.py budget.oracle_calls=300"
)

_DETAILS: Final = """\
what is written:
  evaluator.py  how a program is called, how its result is scored, what a language model is told, a picture of the best
  start.py      the program that the search starts from
  README.md     the commands that run the task and show what came out

The task runs as it is written: rules for short round trips through cities. Replace it step by step by your own;
comments say how. Files that exist are never overwritten.

example:
  evodiverse-new program mytask
  cd mytask
  evodiverse task=program task.evaluator=evaluator.py task.initial.path=start.py budget.oracle_calls=300
  evodiverse-show outputs
"""


def main() -> int:
    """Write the files and return the exit code: 2 if they cannot be written."""
    parser = argparse.ArgumentParser(
        "evodiverse-new",
        description=__doc__,
        epilog=_DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("kind", choices=_KINDS, help="a task whose candidates are Python programs")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files go; it is made if it does not exist")
    arguments = parser.parse_args()
    try:
        written = write_template(arguments.kind, arguments.folder)
    except InputError as error:
        sys.stderr.write(f"evodiverse-new: {error}\n")
        return error.exit_code
    for path in written:
        print(f"wrote {printable(str(path))}")
    print(f"next: cd {shlex.quote(str(arguments.folder))} && {_FIRST_RUN}")
    return 0


def write_template(kind: str, folder: Path) -> list[Path]:
    """Write the files of a new task and return their paths.

    Args:
        kind: Of the task, the name of a folder of templates.
        folder: Where they go; it is made if it does not exist.

    Raises:
        InputError: One of them exists, then none is written, or one cannot be written.
    """
    contents = {path.name: path.read_bytes() for path in sorted((_TEMPLATES / kind).iterdir()) if path.is_file()}
    existing = [name for name in contents if (folder / name).is_symlink() or (folder / name).exists()]
    if existing:
        raise InputError(f"{folder} has {', '.join(existing)} already; nothing was written, name another folder")
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
