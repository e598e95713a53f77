"""Write a page for the browser about each run, with its settings, its progress and its results."""

from evodiverse.commands.frame import KEPT, add_domain, add_runs, finish, make_parser
from evodiverse.errors import InputError


def main() -> int:
    """Write the HTML reports on the runs named on the command line, and return the exit code.

    It is 2 if a path is not a run or a run is damaged.
    """
    parser = make_parser("report", __doc__)
    add_runs(parser)
    add_domain(parser, "to draw its candidates")
    arguments = parser.parse_args()
    from evodiverse.results.pages.writing import write_reports  # here so that --help stays fast
    from evodiverse.runner.process import say

    def write() -> None:
        written, errors = write_reports(arguments.runs, frozenset(arguments.own))
        for path in written:
            say(str(path))
        if errors:
            raise InputError(*errors)

    return finish(write, KEPT)
