"""Write a page for the browser about each run, with its settings, its progress and its results."""

import os
import sys

from evodiverse.commands.frame import add_runs, make_parser
from evodiverse.errors import EvoDiverseError


def main() -> int:
    """Write the HTML reports on the runs named on the command line, and return the exit code.

    It is 2 if a path is not a run or a run is damaged.
    """
    parser = make_parser("report", __doc__)
    add_runs(parser)
    parser.add_argument(
        "--domain", action="append", default=[], help="package of your own domain, to draw its candidates"
    )
    arguments = parser.parse_args()
    from evodiverse.results.pages.writing import write_reports  # here so that --help stays fast

    sys.path.append(os.getcwd())  # where a user's own domain may be
    try:
        written, errors = write_reports(arguments.runs, frozenset(arguments.domain))
    except EvoDiverseError as error:
        sys.stderr.write(f"report: {error}\n")
        return error.exit_code
    for path in written:
        print(path)
    for complaint in errors:
        sys.stderr.write(f"report: {complaint}\n")
    return 2 if errors else 0
