"""The errors that EvoDiverse raises on purpose; each determines the exit code of the command.

Any other exception that reaches the command line is a bug. A bad candidate is never an error: it becomes a `Rejection`
or a failed `Evaluation`.
"""

import os
import signal
from pathlib import Path

from evodiverse.text import printable

PLEASE_REPORT = "please report this at https://github.com/evodiverse/evodiverse/issues"
"""The end of messages about what can only be a bug."""


def describe(error: BaseException) -> str:
    """Return the class and message of an error on one line, at most 500 characters.

    It never raises, even if the error's own ``__str__`` does. The class is left out for errors of EvoDiverse, whose
    messages are complete.
    """
    try:
        message = printable(" ".join(str(error).split()))
    except Exception:  # noqa: BLE001 (even its __str__ may fail)
        message = ""
    name = type(error).__name__
    text = f"{name}: {message}" if message and not isinstance(error, EvoDiverseError) else message or name
    return text.encode("utf-8", "backslashreplace").decode()[:500]


def reason(error: Exception) -> str:
    """Return the operating system's own description of an error, or the error's message if there is none."""
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


class EvoDiverseError(Exception):
    """The base class of all errors of EvoDiverse; ``exit_code`` is the exit code of the command."""

    exit_code: int = 1


class InputError(EvoDiverseError):
    """An invalid configuration or input; the message says what to change.

    Args:
        violations: Everything that is wrong, one line each, so that users can fix all of it at once. Quoted text may
            come from untrusted sources, so the message replaces characters that control a terminal or start a new line.
    """

    exit_code: int = 2

    def __init__(self, *violations: str) -> None:
        super().__init__(*violations)
        self.violations: tuple[str, ...] = violations

    def __str__(self) -> str:
        return "\n".join(map(printable, self.violations))


def damaged(what: object, why: object) -> InputError:
    """Return the error about damaged files of a run, for the caller to raise."""
    return InputError(f"{what} is damaged ({why}); use overwrite=true to start over")


class DataError(InputError):
    """A data file that is missing, damaged or not what it claims to be."""


class ServiceError(EvoDiverseError):
    """A service that the run depends on failed, and the run cannot continue without it."""


class ModelUnavailableError(ServiceError):
    """A language model does not answer, or not usably. The same command resumes the run once the model is available.

    Args:
        message: The last error that the provider reported, or what is wrong with the answers.
        status: The HTTP status if the provider refused the request, otherwise None.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ContractError(EvoDiverseError):
    """A user's own domain or another implementation of an interface returned something that the interface forbids."""


class Asked(Exception):  # noqa: N818 (nothing went wrong)
    """A run with ``evaluator=ask`` has ended, and a person must score candidates before it can continue.

    Args:
        path: The path of the table that lists the candidates.
        n: The number of candidates.
    """

    def __init__(self, path: Path, n: int) -> None:
        super().__init__(path, n)
        self.path = path
        self.n = n


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM asked the run to stop."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.exit_code = 128 + signum

    def __str__(self) -> str:
        return f"interrupted by {signal.Signals(self.exit_code - 128).name}"
