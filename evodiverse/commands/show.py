"""Print the settings and the progress of a run, or compare several runs in a table with one row per run."""

import sys
from io import TextIOWrapper
from typing import Final

from evodiverse.commands.frame import add_runs, make_parser
from evodiverse.errors import InputError

WIDE: Final = 2_000
"""The width in characters if the output is not a terminal, wide enough that no line is folded."""


def main() -> int:
    """Print the runs and return the exit code: 2 if a path is not a run or a run is damaged."""
    parser = make_parser("show", __doc__)
    add_runs(parser)
    arguments = parser.parse_args()
    from rich.console import Console  # here so that --help stays fast

    from evodiverse.results.show import print_comparison, print_run, read_whole_log
    from evodiverse.runlog.runs import find_records
    from evodiverse.runner.process import complain

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False, markup=False, emoji=False)
    exit_code = 0
    found = []
    for given in arguments.runs:
        records = find_records(given)
        if not records:
            complain(f"{given} is not a run, and contains none; check the path")
            exit_code = InputError.exit_code
        found += [record for record in records if record not in found]
    compared = []
    for record in found:
        try:
            if len(found) > 1:
                compared.append(read_whole_log(record.parent))
            else:
                print_run(record.parent, console)
                console.print()
        except InputError as error:
            complain(str(error))
            exit_code = error.exit_code
    if compared:
        if not console.is_terminal:
            console.width = WIDE
        print_comparison(compared, console)
    return exit_code
