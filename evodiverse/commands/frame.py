"""What the commands have in common: their parsers, their exit codes and their error lines."""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from evodiverse import __version__
from evodiverse.errors import EvoDiverseError, InputError, Interrupted

KEPT: Final = "; finished measurements are stored"
"""What a command that measures runs says after an interruption."""


def make_parser(name: str, description: str | None) -> ArgumentParser:
    """Return the parser of the command ``evodiverse-<name>``, with the option ``--version``.

    At the end, ``--help`` prints the command's file in ``help_texts``, if there is one.

    Args:
        name: The name of the command.
        description: What the command does.
    """
    file = Path(__file__).with_name("help_texts") / f"{name}.txt"
    parser = ArgumentParser(
        f"evodiverse-{name}",
        description=description,
        epilog=file.read_text(encoding="utf-8") if file.exists() else None,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"evodiverse {__version__}")
    return parser


def add_runs(parser: ArgumentParser) -> None:
    """Let a command take one run or more."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directory, or a folder of runs")


def add_domain(parser: ArgumentParser, purpose: str) -> None:
    """Let a command import the user's own domains, named with ``--domain``, also from the working directory."""
    sys.path.append(os.getcwd())
    shown = f"package of your own domain, {purpose}"
    parser.add_argument("--domain", action="append", default=[], dest="own", help=shown)


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Return the type of an option that takes a whole number from ``least`` to ``most`` (of up to 19 digits)."""

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text[:20]) <= most:
            raise ArgumentTypeError(f"expected a whole number from {least} to {most:,}, got {text!r}")
        return int(text)

    return read


def finish(work: Callable[[], int | None], interrupted: str = "", unwritable: str = "") -> int:
    """Do the work of a command, print its error if it fails, and return the exit code.

    Args:
        work: A function that does the work and may return the exit code, which is otherwise 0.
        interrupted: How to go on after an interruption, printed after the name of the signal.
        unwritable: What to do about a file or folder that cannot be written, printed after its name.

    Returns:
        0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM.
    """
    from evodiverse.runner.process import complain, prepare  # here so that --help stays fast

    prepare()
    try:
        return work() or 0
    except (EvoDiverseError, Interrupted) as error:
        complain(f"{error}{interrupted}" if isinstance(error, Interrupted) else str(error))
        return error.exit_code
    except OSError as error:
        if error.filename is None:
            complain(f"cannot write to standard output ({error.strerror})")
            return EvoDiverseError.exit_code
        complain(f"{error.filename}: {error.strerror}{unwritable}")
        return InputError.exit_code
