"""Let another engine of symbolic regression explain the data of an equation task, and log it as a run."""

import argparse
import sys

from evodiverse.errors import EvoDiverseError, InputError, Interrupted
from evodiverse.version import VERSION

ENGINES = ("operon", "pysr", "sparse")

_DETAILS = """\
settings, as for evodiverse task=equation …; values that commas separate make several runs:
  task.problem=builtin/NAME  what is to be explained, or csv/NAME with task.data.train and task.data.target
  seed=K                     seed of whatever the engine draws
  outputs=FOLDER, overwrite=true, dry_run=true, sandbox.require=strict

examples:
  evodiverse-baseline --engine operon task.problem=builtin/oscillator1 seed=0,1,2 --seconds 30
  evodiverse-baseline --engine sparse task.problem=builtin/reaction3 --evaluations 10
  evodiverse-tables                                        # they stand in the tables of all equation runs

An engine sees the training data alone, and nothing fits its equations again: all errors are those of the constants that
it found. operon and sparse need pip install 'evodiverse[baselines]', pysr needs pip install pysr."""


def main() -> int:
    """Make the runs and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = argparse.ArgumentParser(
        "evodiverse-baseline",
        description=__doc__,
        epilog=_DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("--engine", required=True, choices=ENGINES, help="who makes the equations")
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--seconds", type=_count, metavar="N", help="wall time that the engine may take")
    budget.add_argument("--evaluations", type=_count, metavar="N", help="what the engine itself counts as evaluations")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="the task and the seed")
    arguments = parser.parse_intermixed_args()
    from evodiverse.commands.baseline_runs import Budget, run_all  # here: --help does without the libraries of these
    from evodiverse.runner.process import complain, prepare

    prepare()
    try:
        run_all(arguments.engine, arguments.overrides, Budget(arguments.seconds, arguments.evaluations))
    except Interrupted as error:
        complain(f"{error}; the same command begins the run again")
        return error.exit_code
    except EvoDiverseError as error:
        complain(str(error))
        return error.exit_code
    except OSError as error:
        complain(f"outputs: {error.filename}: {error.strerror}; choose another folder with outputs=…")
        return InputError.exit_code
    return 0


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:20]) < 10**9:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 999,999,999, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
