"""Solve an equation task with another symbolic regression engine, and log the result as a run."""

import argparse
import sys

from evodiverse.errors import EvoDiverseError, InputError, Interrupted
from evodiverse.version import VERSION

ENGINES = ("operon", "pysr", "sparse")

_DETAILS = """\
settings, as for evodiverse task=equation …; comma-separated values give several runs:
  task.problem=builtin/NAME  problem to solve, or csv/NAME with task.data.train and task.data.target
  seed=K                     seed of the engine's random numbers
  outputs=FOLDER, overwrite=true, dry_run=true, sandbox.require=strict

examples:
  evodiverse-baseline --engine operon task.problem=builtin/oscillator1 seed=0,1,2 --seconds 30
  evodiverse-baseline --engine sparse task.problem=builtin/reaction3 --evaluations 10
  evodiverse-tables                                        # the tables include these runs

An engine sees only the training data, and its equations are not fitted again: all errors are those of the constants
that the engine found. operon and sparse need pip install 'evodiverse[baselines]', pysr needs pip install pysr."""


def main() -> int:
    """Run the engine and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = argparse.ArgumentParser(
        "evodiverse-baseline",
        description=__doc__,
        epilog=_DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("--engine", required=True, choices=ENGINES, help="engine that searches for equations")
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--seconds", type=_count, metavar="N", help="limit on the engine's wall time, in seconds")
    budget.add_argument(
        "--evaluations", type=_count, metavar="N", help="limit on evaluations, as the engine counts them"
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings, such as the problem and the seed")
    arguments = parser.parse_intermixed_args()
    from evodiverse.commands.baseline_runs import Budget, run_all  # here so that --help stays fast
    from evodiverse.runner.process import complain, prepare

    prepare()
    try:
        run_all(arguments.engine, arguments.overrides, Budget(arguments.seconds, arguments.evaluations))
    except Interrupted as error:
        complain(f"{error}; run the same command again to start over")
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
