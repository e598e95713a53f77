"""Exit codes and error lines of the commands that resume runs."""

from collections.abc import Callable

from evodiverse.errors import EvoDiverseError, Interrupted
from evodiverse.runner.process import complain, prepare


def ended(work: Callable[[], object]) -> int:
    """Do the work of a command by calling ``work``, print its error if it fails, and return the exit code.

    The exit codes are 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM.
    """
    prepare()
    try:
        work()
    except (EvoDiverseError, Interrupted) as error:
        complain(str(error))
        return error.exit_code
    return 0
