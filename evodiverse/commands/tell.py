"""Pass measured scores on to a run, which continues until it asks for more scores or ends."""

from pathlib import Path

from evodiverse.commands.frame import finish, make_parser


def main() -> int:
    """Pass the scores on to a run and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = make_parser("tell", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("scores", type=Path, metavar="SCORES", help="CSV file with the scores")
    arguments = parser.parse_args()
    from evodiverse.commands.asked_runs import resume  # here so that --help stays fast

    return finish(lambda: resume(arguments.run.absolute(), arguments.scores.absolute()))
