"""Write the candidates that a run wants evaluated next, and end."""

import argparse
import shutil
import sys
from pathlib import Path

from evodiverse.version import VERSION

_DETAILS = """\
The run is one that was started with evaluator=ask, which has ended with its first question. What it asks stands in
RUN/asked.csv: a line for each candidate, with an empty column for its score.

examples:
  evodiverse task=mine evaluator=ask name=lab      # starts the run, which asks and ends
  evodiverse-ask outputs/lab -o round1.csv         # the same question once more, into a file
  evodiverse-tell outputs/lab round1.csv           # what was measured; the run goes on and asks again"""


def main() -> int:
    """Ask and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = argparse.ArgumentParser(
        "evodiverse-ask",
        description=__doc__,
        epilog=_DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write (RUN/asked.csv)")
    arguments = parser.parse_args()
    from evodiverse.commands.asked_runs import go_on  # here: --help does without the libraries of these
    from evodiverse.commands.ending import ended
    from evodiverse.errors import InputError, reason
    from evodiverse.runlog.record import ASKED

    run, output = arguments.run.absolute(), arguments.output and arguments.output.absolute()

    def ask() -> None:
        go_on(run)
        if output is not None and (run / ASKED).exists():
            try:
                shutil.copyfile(run / ASKED, output)
            except OSError as error:
                raise InputError(f"cannot write {output} ({reason(error)}); choose another file") from error

    return ended(ask)


if __name__ == "__main__":
    sys.exit(main())
