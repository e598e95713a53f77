"""Print the table of molecule runs: python scripts/tables.py [OUTPUTS]."""

import argparse
import sys
from pathlib import Path

from evodiverse.analysis.runs import find_runs
from evodiverse.analysis.tables import molecule_table
from evodiverse.errors import EvoDiverseError, InputError


def main() -> int:
    """Print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outputs", nargs="?", type=Path, default=Path("outputs"), help="folder of all runs (outputs)")
    parser.add_argument("--label", default="default", help="runs with these overrides only (default)")
    arguments = parser.parse_args()
    try:
        runs = [
            run
            for run in find_runs(arguments.outputs)
            if run.domain == "evodiverse.tasks.molecules" and run.path.parent.name == arguments.label
        ]
        if not runs:
            raise InputError(f"no complete molecule run labeled {arguments.label!r} below {arguments.outputs}")
        print(molecule_table(runs))
    except EvoDiverseError as error:
        sys.stderr.write(f"tables: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
