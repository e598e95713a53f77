"""Tell a run what was measured; it goes on until it asks again or ends."""

import argparse
import sys
from pathlib import Path

from evodiverse.version import VERSION

_DETAILS = """\
SCORES is a table of comma-separated values with a column score and a column key, genotype or smiles, such as the
run's own asked.csv with the scores filled in. A line without a score is one that is not measured yet; nan is a
measurement that failed. Lines may come in any order and in several files; the run goes on when it has all."""


def main() -> int:
    """Tell and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = argparse.ArgumentParser(
        "evodiverse-tell",
        description=__doc__,
        epilog=_DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("scores", type=Path, metavar="SCORES", help="what was measured")
    arguments = parser.parse_args()
    from evodiverse.commands.asked_runs import go_on  # here: --help does without the libraries of these
    from evodiverse.commands.ending import ended

    return ended(lambda: go_on(arguments.run.absolute(), arguments.scores.absolute()))


if __name__ == "__main__":
    sys.exit(main())
