"""Print the settings and the progress of a run, or compare several runs in a table with one row per run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evodiverse.commands.frame import add_runs, finish, make_parser
from evodiverse.errors import InputError

WIDE: Final = 2_000
"""The width in characters if the output is not a terminal, wide enough that no line is folded."""


def main() -> int:
    """Print the runs and return the exit code: 2 if a path is not a run or a run is damaged."""
    parser = make_parser("show", __doc__)
    add_runs(parser)
    arguments = parser.parse_args()
    return finish(lambda: _show(arguments.runs))


def _show(runs: Sequence[Path]) -> None:
    from rich.console import Console  # here so that --help stays fast

    from evodiverse.results.show import print_comparison, print_run, read_whole_log
    from evodiverse.runlog.runs import find_records

    console = Console(highlight=False, markup=False, emoji=False)
    records = {given: find_records(given) for given in runs}
    violations = [f"{given} is not a run, and contains none; check the path" for given in runs if not records[given]]
    found = list(dict.fromkeys(record for some in records.values() for record in some))
    compared = []
    for record in found:
        try:
            if len(found) > 1:
                compared.append(read_whole_log(record.parent))
            else:
                print_run(record.parent, console)
                console.print()
        except InputError as error:
            violations += error.violations
    if compared:
        if not console.is_terminal:
            console.width = WIDE
        print_comparison(compared, console)
    if violations:
        raise InputError(*violations)
