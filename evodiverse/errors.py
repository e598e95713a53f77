"""The errors that EvoDiverse raises on purpose, and the exit code each one stands for.

Anything else that reaches the command line is a bug. A bad candidate is never an error: it is a `Rejection`.
"""

import os
import signal
from pathlib import Path

from evodiverse.kit.text import printable


def describe(error: BaseException) -> str:
    """Return the kind and the message of any error on one line, whatever other people's code put into it."""
    try:
        message = printable(" ".join(str(error).split()))
    except Exception:  # noqa: BLE001 (its own __str__ fails)
        message = ""
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return text.encode("utf-8", "backslashreplace").decode()[:500]


def reason(error: OSError) -> str:
    """Return why the system refused something, in its own words."""
    return os.strerror(error.errno) if error.errno else str(error)


class EvoDiverseError(Exception):
    """Base of all errors of EvoDiverse; ``exit_code`` is what the command ends with."""

    exit_code: int = 1


class InputError(EvoDiverseError):
    """A configuration or an input that cannot be meant; the message says what to change.

    Args:
        violations: One line each, as many as were found, so that a user mends all of them at once. What they quote may
            be from somebody else: it cannot control a terminal or add a line.
    """

    exit_code: int = 2

    def __init__(self, *violations: str) -> None:
        super().__init__(*violations)
        self.violations: tuple[str, ...] = violations

    def __str__(self) -> str:
        return "\n".join(map(printable, self.violations))


class DataError(InputError):
    """A data file that is missing, damaged or not what it claims to be."""


class ServiceError(EvoDiverseError):
    """A service that the run depends on failed for good."""


class ModelUnavailableError(ServiceError):
    """A language model does not answer; the same command resumes the run when it does.

    Args:
        message: What it said last.
        status: The HTTP status of a refusal, None for anything else.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ContractError(EvoDiverseError):
    """What stands behind a port, such as a domain of a user's own, answered what the port does not allow; says what."""


class Asked(Exception):  # noqa: N818 (nothing went wrong)
    """A run that somebody else evaluates for has ended with a question.

    Args:
        path: The table of the candidates.
        n: How many they are.
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
