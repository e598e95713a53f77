"""Write a page for the browser about each run, with its settings, its progress and its results."""

import sys

from evodiverse.commands.frame import add_domain, add_runs, finish_reading, make_parser


def main() -> int:
    """Write the HTML reports on the runs named on the command line, and return the exit code.

    It is 2 if a path is not a run or a run is damaged.
    """
    parser = make_parser("report", __doc__)
    add_runs(parser)
    add_domain(parser, "to draw its candidates")
    arguments = parser.parse_args()
    from evodiverse.results.pages.writing import write_reports  # here so that --help stays fast

    def write() -> int:
        written, errors = write_reports(arguments.runs, frozenset(arguments.own))
        print("".join(f"{path}\n" for path in written), end="")
        sys.stderr.write("".join(f"report: {error}\n" for error in errors))
        return 2 if errors else 0

    return finish_reading("report", write)
