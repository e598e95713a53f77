"""How asking a model can fail, and how long to wait before asking again."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import numpy as np

FIRST_WAIT = 0.5  # seconds
LONGEST_WAIT = 60.0
# A provider that asks for more patience than this is out of quota; the run ends, and is resumed when there is some.
LONGEST_RETRY_AFTER = 600.0


# What to do about a refusal, by HTTP status.
REMEDIES: dict[int | None, str] = {
    401: "check the key",
    402: "the account has no credit left",
    403: "the key may not use this model",
    404: "check llm.model and llm.api_base",
    **dict.fromkeys((301, 302, 303, 307, 308), "set llm.api_base to that address if you trust it"),
}


class TransientError(Exception):
    """Asking again may help. ``retry_after`` is how many seconds the provider asks to wait, None if it does not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefusedError(Exception):
    """Asking again will not help: a wrong key, an unknown model. ``status`` is that of HTTP, None without one."""

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status


def backoff(failures: int, retry_after: float | None, rng: np.random.Generator) -> float:
    """Return how many seconds to wait after so many failures in a row.

    The wait doubles with each failure and is spread at random over its upper half, so that requests that failed
    together do not come back together. It is never shorter than ``retry_after``.

    Args:
        failures: At least 1.
        retry_after: What the provider asks for, in seconds.
        rng: Decides when a request is sent, never what a run logs.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - 1, 30))
    return max(rng.uniform(longest / 2, longest), retry_after or 0.0)


def parse_retry_after(header: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, None where it says nothing that can be read.

    Args:
        header: A number of seconds, or a date.
        now: For dates; the present by default.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except (ValueError, OverflowError):  # the latter for a year or a time zone without end
            return None
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - (now or datetime.now(UTC))).total_seconds()
    return max(seconds, 0.0) if seconds < float("inf") else None
