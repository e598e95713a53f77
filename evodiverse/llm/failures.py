"""The ways in which a query can fail, and how long to wait before it is sent again."""

import numpy as np

# All in seconds.
FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
# A provider that asks for a longer wait than this has most likely used up a quota. The run ends and can be resumed.
LONGEST_RETRY_AFTER = 600.0


# What the message about a refusal advises, by HTTP status.
REMEDIES: dict[int | None, str] = {
    401: "check the key",
    402: "the account has no credit left",
    403: "the key is not allowed to use this model",
    404: "check llm.model and llm.api_base",
    **dict.fromkeys((301, 302, 303, 307, 308), "set llm.api_base to that address if you trust it"),
}


class TransientError(Exception):
    """A failure that may be temporary, so the query is worth sending again.

    Args:
        message: What went wrong.
        retry_after: How many seconds the provider asks to wait, or None if it does not say.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefusedError(Exception):
    """A permanent failure, for example because of a wrong key or an unknown model.

    Args:
        message: What went wrong.
        status: The HTTP status, or None if there is none.
    """

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status


def backoff(failures: int, retry_after: float | None, rng: np.random.Generator) -> float:
    """Return how many seconds to wait after a number of consecutive failures.

    The upper limit of the wait doubles with each failure, up to `LONGEST_WAIT`. The wait is drawn from the upper half
    of the range below this limit, so that requests that failed together are not repeated together. It is never shorter
    than ``retry_after``, which may exceed the limit.

    Args:
        failures: The number of consecutive failures, at least 1.
        retry_after: The wait that the provider asks for in seconds, or None if it does not say.
        rng: The random generator that draws the wait. It influences only when a request is sent, never what a run logs.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - 1, 30))
    return max(rng.uniform(longest / 2, longest), retry_after or 0.0)


def parse_retry_after(header: str | None) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, or None if it is missing or is no number."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return max(seconds, 0.0) if seconds < float("inf") else None
