"""Write out the candidates that a run wants evaluated next."""

import shutil
from pathlib import Path

from evodiverse.commands.frame import finish, make_parser


def main() -> int:
    """Write a CSV file of the candidates that a run wants evaluated, and return the exit code.

    The exit codes are 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM.
    """
    parser = make_parser("ask", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="file to copy the candidates to, besides RUN/asked.csv"
    )
    arguments = parser.parse_args()
    from evodiverse.commands.asked_runs import resume  # here so that --help stays fast
    from evodiverse.errors import InputError, reason
    from evodiverse.runlog.record import ASKED

    run, output = arguments.run.absolute(), arguments.output and arguments.output.absolute()

    def ask() -> None:
        resume(run)
        if output is not None and (run / ASKED).exists():
            try:
                shutil.copyfile(run / ASKED, output)
            except OSError as error:
                raise InputError(f"cannot write {output} ({reason(error)}); choose another file") from error

    return finish(ask)
