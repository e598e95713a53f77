"""How commands that go on with runs end: with a line for what went wrong, and its exit code."""

from collections.abc import Callable

from evodiverse.errors import EvoDiverseError, Interrupted
from evodiverse.runner.process import complain, prepare


def ended(work: Callable[[], object]) -> int:
    """Do some work and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    prepare()
    try:
        work()
    except (EvoDiverseError, Interrupted) as error:
        complain(str(error))
        return error.exit_code
    return 0
