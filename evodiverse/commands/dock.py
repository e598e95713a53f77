"""Dock the best molecules of runs into a protein with AutoDock Vina."""

import argparse
import sys
from pathlib import Path

from evodiverse.errors import EvoDiverseError, InputError, Interrupted
from evodiverse.version import VERSION

PUBLISHED = "mapk14"

_DETAILS = f"""\
What is docked are the diversity-aware ten of the last iteration and of the four before it, those that the table
docking_top10 counts. Results are kept in the cache: after a stop the same command goes on where it was.

examples:
  evodiverse-dock outputs/jnk3 --receptor jnk3.pdbqt --box 22.5,12.1,31.0,24,24,24
  evodiverse-dock outputs --targets targets.yaml
  evodiverse-dock outputs/jnk3/pt/off/default/seed0 --receptor {PUBLISHED}     # fetched; to try it out

targets.yaml, by task, paths relative to it, boxes in Å (or the path of a file of Vina's with center_x and so on):
  jnk3:  {{receptor: jnk3.pdbqt, box: [22.5, 12.1, 31.0, 24, 24, 24]}}
  gsk3b: {{receptor: gsk3b.pdbqt, box: [10.2, 5.3, -7.7, 24, 24, 24]}}

It writes docking/ in each run: part-000000.parquet (key, score in kcal/mol, error), poses.sdf and docking.json, which
says how. It needs pip install 'evodiverse[docking]'; docs/docking.md says how to prepare a receptor."""


def main() -> int:
    """Dock and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = argparse.ArgumentParser(
        "evodiverse-dock",
        description=__doc__,
        epilog=_DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directory, or a folder above several")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--receptor", metavar="FILE", help=f"rigid receptor in PDBQT format, or {PUBLISHED}, which has a box"
    )
    where.add_argument("--targets", type=Path, metavar="FILE", help="YAML file with receptor and box of each task")
    parser.add_argument(
        "--box",
        metavar="X,Y,Z,SX,SY,SZ",
        help="center and sides of the box around the pocket, in Å, or a file of Vina's",
    )
    parser.add_argument("--exhaustiveness", type=_count, default=8, metavar="N", help="searches for a best pose (8)")
    parser.add_argument("--jobs", type=_count, metavar="N", help="molecules docked at once (as many as cores)")
    parser.add_argument("--overwrite", action="store_true", help="replace a docking that was made otherwise")
    arguments = parser.parse_args(_attach_box(sys.argv[1:]))
    from evodiverse.commands.dock_runs import Order, dock_all  # here: --help does without the libraries of these
    from evodiverse.runner.process import complain, prepare

    prepare()
    try:
        return dock_all(
            Order(
                arguments.runs,
                arguments.receptor,
                arguments.box,
                arguments.targets,
                arguments.exhaustiveness,
                arguments.jobs,
                arguments.overwrite,
            )
        )
    except Interrupted as error:
        complain(f"{error}; the same command goes on where it was")
        return error.exit_code
    except EvoDiverseError as error:
        complain(str(error))
        return error.exit_code
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}")
        return InputError.exit_code


def _attach_box(words: list[str]) -> list[str]:
    """Write ``--box VALUE`` as ``--box=VALUE``: a value that begins with a minus argparse takes for an option."""
    if "--box" not in words[:-1]:
        return words
    at = words.index("--box")
    return [*words[:at], f"--box={words[at + 1]}", *words[at + 2 :]]


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:20]) < 10_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 9,999, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
