"""The command ``evodiverse-data``: bring the data that EvoDiverse needs to this machine, or make it of one's own."""

import argparse
import io
import logging
import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console

from evodiverse.cache_folder import cache_folder
from evodiverse.data.artifacts import ARTIFACTS, artifact_names
from evodiverse.data.cache import State, fetch, inspect_artifact, present_path
from evodiverse.data.environment import fetch_command
from evodiverse.data.listing import draw_table, format_table
from evodiverse.data.progress import show_bar
from evodiverse.errors import DataError, EvoDiverseError
from evodiverse.kit.text import printable
from evodiverse.version import VERSION

_ENVIRONMENT = """\
environment:
  EVODIVERSE_CACHE=FOLDER  where the files are kept, instead of the platform's cache folder
  EVODIVERSE_OFFLINE=1     keep off the network: what is absent is an error, also in a run
  HTTPS_PROXY, PIP_*       and pip's configuration hold, as pip does the downloading

examples:
  evodiverse-data fetch && evodiverse-data verify                   # once, on a machine with a network
  evodiverse-data train-forest data.csv --output forest.npz         # an oracle from your own molecules and labels
  evodiverse task=jnk3 task.oracle.path=forest.npz                  # a search with it
"""

_TRAINING = """\
evodiverse-data train-forest assays.csv --threshold 6.5 --output forest.npz
  evodiverse task=jnk3 task.oracle.path=forest.npz

table (CSV in UTF-8, a header, the case of its names is free, other columns are ignored):
  smiles  the molecule
  label   0 or 1; with --threshold any number
  Split   train or test, if you have a division of your own; else a quarter is held out

The forest is that of scikit-learn's defaults, 100 trees, over Morgan fingerprints (radius 2, 2048 bits, no chirality).
The same table and seed give the same file. Molecules with the same fingerprint stay in one part unless Split says
otherwise. Needs pip install 'evodiverse[screen]'."""
_MAX_SEED = 2**32 - 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code.

    Args:
        argv: The arguments after the command's name; None takes them from the command line.

    Returns:
        0 when done, 2 for an unknown name or an artifact that cannot be had, after a line on standard error for each
        thing that is wrong, 130 when interrupted.
    """
    arguments = _parser().parse_args(argv)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("evodiverse.data")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without Greek gets its letters as numbers
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        arguments.command(arguments)
        sys.stdout.flush()
    except EvoDiverseError as error:
        _complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _complain(f"interrupted; {arguments.interrupted}")
        return 128 + signal.SIGINT
    except BrokenPipeError:  # nobody reads on, as in `evodiverse-data list | head -1`
        _discard_output()
    finally:
        logger.removeHandler(handler)
    return 0


def _discard_output() -> None:
    """Send the rest of the standard output nowhere; otherwise Python would try to write it once more as it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> None:
    sys.stderr.write("".join(f"evodiverse-data: {line}\n" for line in message.splitlines()))


def _parser() -> argparse.ArgumentParser:
    """Build the parser; each subcommand sets ``command``, a function of the arguments."""
    parser = argparse.ArgumentParser(
        prog="evodiverse-data",
        description="Bring the data that EvoDiverse needs to this machine, without accounts, or make it of your own.",
        epilog=_ENVIRONMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    def add(
        name: str, command: Callable[[argparse.Namespace], None], summary: str, example: str
    ) -> argparse.ArgumentParser:
        subcommand = subcommands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subcommand.set_defaults(command=command, interrupted="what was fetched completely is kept")
        return subcommand

    known = ", ".join(_short(ARTIFACTS))
    optional = ", ".join(_short(name for name, artifact in ARTIFACTS.items() if artifact.is_optional))
    names = f"{known}; all if none is given, but for those marked optional ({optional})"
    add(
        "list",
        _list,
        "show what there is, its size, license and source, and what the cache has",
        "evodiverse-data list",
    )
    subcommand = add(
        "fetch",
        _fetch,
        "download what is absent, replace what is damaged",
        "evodiverse-data fetch jnk3 zinc250k\n\n"
        "A connection that breaks is resumed; what a killed fetch had not completed is fetched anew.",
    )
    subcommand.add_argument("names", nargs="*", metavar="NAME", help=names)
    subcommand.add_argument("--offline", action="store_true", help="only say whether everything is there already")
    subcommand = add(
        "verify",
        _verify,
        "check the SHA-256 of what the cache has; exit code 2 unless all are there and right",
        "evodiverse-data verify || evodiverse-data fetch",
    )
    subcommand.add_argument("names", nargs="*", metavar="NAME", help=names)
    subcommand = add(
        "path",
        _path,
        "print where a file or a folder of files is, for scripts; fetches nothing",
        'head -3 "$(evodiverse-data path zinc250k)"',
    )
    subcommand.add_argument("name", metavar="NAME", help=known)
    subcommand = add(
        "train-forest",
        _train_forest,
        "train a forest on your own molecules and labels, to score molecules with (task.oracle.path)",
        _TRAINING,
    )
    _add_training(subcommand)
    return parser


def _add_training(subcommand: argparse.ArgumentParser) -> None:
    """Add the arguments of ``train-forest``."""
    subcommand.set_defaults(interrupted="no forest was written")
    add = subcommand.add_argument
    add("data", metavar="DATA.csv", type=Path, help="table with the columns smiles, label and, if you like, Split")
    add("--output", metavar="FOREST.npz", type=Path, required=True, help="where the forest goes")
    add("--threshold", metavar="T", type=_threshold, help="molecules with a label of at least T are active")
    add("--seed", type=_seed, default=0, help="of the forest and of the held-out quarter (default: 0)")
    add("--skip-invalid", action="store_true", help="pass over lines whose SMILES is none, and count them")
    add("--force", action="store_true", help="replace the output if it exists")


def _threshold(text: str) -> float:
    try:
        threshold = float(text)
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}")
    return threshold


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text[:20]) > _MAX_SEED:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {_MAX_SEED}, got {text!r}")
    return int(text)


def _short(names: Iterable[str]) -> list[str]:
    """Return names with that of a folder instead of its files."""
    return list(dict.fromkeys(name.partition("/")[0] for name in names))


def _named(arguments: argparse.Namespace) -> list[str]:
    """Return the names asked for, each once; all but the optional ones if none is."""
    needed = [name for name, artifact in ARTIFACTS.items() if not artifact.is_optional]
    return list(dict.fromkeys(known for name in arguments.names for known in artifact_names(name))) or needed


def _list(arguments: argparse.Namespace) -> None:  # noqa: ARG001 (it has none)
    entries = [inspect_artifact(name) for name in ARTIFACTS]
    if sys.stdout.isatty():
        Console().print(draw_table(entries))
    else:
        sys.stdout.write(format_table(entries))
    sys.stdout.write(f"cache folder: {cache_folder()}\n")


def _fetch(arguments: argparse.Namespace) -> None:
    show = show_bar(Console(stderr=True))
    for fetched in fetch(_named(arguments), offline=arguments.offline, show=show):
        sys.stdout.write(f"{fetched.name}: {fetched.outcome} ({fetched.path})\n")


def _verify(arguments: argparse.Namespace) -> None:
    entries = [inspect_artifact(name) for name in _named(arguments)]
    for entry in entries:
        words = f"is right (SHA-256 {entry.artifact.sha256[:12]}…)" if entry.state is State.PRESENT else entry.problem
        sys.stdout.write(f"{entry.artifact.name}: {entry.path} {words}\n")
    sys.stdout.flush()  # before what is said on standard error
    wrong = [entry for entry in entries if entry.state is not State.PRESENT]
    remedies = [f"{entry.path}: {entry.remedy}" for entry in wrong if not entry.is_fetchable]
    fetchable = [entry.artifact for entry in wrong if entry.is_fetchable]
    if fetchable:
        remedies.append(f"{len(fetchable)} of {len(entries)} absent or damaged; run `{fetch_command(fetchable)}`")
    if remedies:
        raise DataError(*remedies)


def _path(arguments: argparse.Namespace) -> None:
    paths = {name: present_path(name) for name in artifact_names(arguments.name)}
    first = next(iter(paths.values()))
    sys.stdout.write(f"{paths.get(arguments.name, first.parent)}\n")


def _train_forest(arguments: argparse.Namespace) -> None:
    from evodiverse.tasks.molecules.train_forest import Order, train_forest  # here: the other commands need no RDKit

    order = Order(
        data=arguments.data,
        output=arguments.output,
        threshold=arguments.threshold,
        seed=arguments.seed,
        skip_invalid=arguments.skip_invalid,
        force=arguments.force,
    )
    for line in train_forest(order):
        try:
            sys.stdout.write(f"{printable(line)}\n")
            sys.stdout.flush()
        except BrokenPipeError:  # a closed pipe does not end the training
            _discard_output()


if __name__ == "__main__":
    sys.exit(main())
