"""Dock the best molecules of runs into a protein with AutoDock Vina."""

import sys
from pathlib import Path

from evodiverse.commands.frame import add_runs, finish, make_parser, whole_number
from evodiverse.docking import PUBLISHED


def main() -> int:
    """Dock and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = make_parser("dock", __doc__)
    add = parser.add_argument
    add_runs(parser)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--receptor", metavar="FILE", help=f"rigid receptor in PDBQT format, or {PUBLISHED}, which comes with a box"
    )
    where.add_argument("--targets", type=Path, metavar="FILE", help="YAML file with the receptor and box of each task")
    add(
        "--box",
        metavar="X,Y,Z,SX,SY,SZ",
        help="center and sides of the box around the pocket, in Å, or a Vina configuration file",
    )
    add("--exhaustiveness", type=whole_number(1, 9_999), default=8, metavar="N", help="searches for the best pose (8)")
    add("--jobs", type=whole_number(1, 9_999), metavar="N", help="molecules to dock at the same time (one per core)")
    add("--overwrite", action="store_true", help="replace a docking that used other settings")
    arguments = parser.parse_args(_attach_box(sys.argv[1:]))
    from evodiverse.commands.dock_runs import Order, dock_all  # here so that --help stays fast

    return finish(lambda: dock_all(Order(**vars(arguments))), interrupted="; run the same command again to resume")


def _attach_box(words: list[str]) -> list[str]:
    """Replace ``--box VALUE`` with ``--box=VALUE``.

    Otherwise argparse would mistake a value with a leading minus for an option.
    """
    if "--box" not in words[:-1]:
        return words
    at = words.index("--box")
    return [*words[:at], f"--box={words[at + 1]}", *words[at + 2 :]]
