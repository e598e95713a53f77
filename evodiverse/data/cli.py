"""The command ``evodiverse-data``: bring the data that EvoDiverse needs to this machine, without accounts."""

import argparse
import logging
import sys
from collections.abc import Sequence

from evodiverse.data.artefacts import ARTEFACTS
from evodiverse.data.cache import fetch
from evodiverse.errors import EvoDiverseError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code.

    Args:
        argv: The arguments after the command's name; None takes them from the command line.

    Returns:
        0 when done, 2 for an unknown name or an artefact that cannot be had, after one line on standard error.
    """
    arguments = _parser().parse_args(argv)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("evodiverse.data")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        return int(arguments.command(arguments))
    except EvoDiverseError as error:
        sys.stderr.write(f"evodiverse-data: {error}\n")
        return error.exit_code
    finally:
        logger.removeHandler(handler)


def _parser() -> argparse.ArgumentParser:
    """Build the parser; each subcommand sets ``command``, a function from the arguments to the exit code."""
    parser = argparse.ArgumentParser(prog="evodiverse-data", description=__doc__)
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")
    fetch_parser = subcommands.add_parser("fetch", help="download what is absent, replace what is damaged")
    fetch_parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(ARTEFACTS)}; all of them if none is given"
    )
    fetch_parser.set_defaults(command=_fetch)
    return parser


def _fetch(arguments: argparse.Namespace) -> int:
    for fetched in fetch(list(dict.fromkeys(arguments.names)) or list(ARTEFACTS)):
        sys.stdout.write(f"{fetched.name}: {fetched.outcome} ({fetched.path})\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
