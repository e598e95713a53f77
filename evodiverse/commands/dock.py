"""Dock the best molecules of runs into a protein with AutoDock Vina."""

import sys
from itertools import pairwise
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
    shown = "center and sides of the box around the pocket, in Å, or a Vina configuration file"
    add("--box", type=str.strip, metavar="X,Y,Z,SX,SY,SZ", help=shown)
    add("--exhaustiveness", type=whole_number(1, 9_999), default=8, metavar="N", help="searches for the best pose (8)")
    add("--jobs", type=whole_number(1, 9_999), metavar="N", help="molecules to dock at the same time (one per core)")
    add("--overwrite", action="store_true", help="replace a docking that used other settings")
    # With a space before its minus, argparse does not mistake a box for an option.
    words = [f" {word}" if before == "--box" else word for before, word in pairwise(["", *sys.argv[1:]])]
    arguments = parser.parse_args(words)
    from evodiverse.commands.dock_runs import Order, dock_all  # here so that --help stays fast

    return finish(lambda: dock_all(Order(**vars(arguments))), interrupted="; run the same command again to resume")
