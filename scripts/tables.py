"""Print the tables of molecule and circle-packing runs: python scripts/tables.py [OUTPUTS]."""

import argparse
import sys
from pathlib import Path

from evodiverse.analysis.runs import find_runs
from evodiverse.analysis.tables import molecule_table, packing_table
from evodiverse.errors import EvoDiverseError, InputError

PARTS = {
    molecule_table: lambda run: run.domain == "evodiverse.tasks.molecules",
    packing_table: lambda run: run.settings.get("task.evaluator") == "circle_packing",
}


def main() -> int:
    """Print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outputs", nargs="?", type=Path, default=Path("outputs"), help="folder of all runs (outputs)")
    parser.add_argument("--label", default="default", help="runs with these overrides only (default)")
    arguments = parser.parse_args()
    try:
        runs = [run for run in find_runs(arguments.outputs) if run.path.parent.name == arguments.label]
        chosen = [(table, [run for run in runs if belongs(run)]) for table, belongs in PARTS.items()]
        tables = [table(some) for table, some in chosen if some]
        if not tables:
            raise InputError(
                f"no complete run of molecules or circle packing labeled {arguments.label!r} below {arguments.outputs}"
            )
        print("\n\n".join(tables))
    except EvoDiverseError as error:
        sys.stderr.write(f"tables: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
