"""The messages between the processes of the sandbox.

The supervisor sends single bytes to the warm parent, and gets short answers of fixed length. Jobs and results pass only
between the supervisor and the process of a program. So the warm parent, whose memory all later programs inherit, never
holds any of them.
"""

import json
import math
import pickle
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from evodiverse.text import printable
from evodiverse.vocabulary import Array, Job, Reason

FORK: Final = b"F"
"""Asks the warm parent for a process. The answer is `READY`, the id of the process, and the pipes to it."""
END: Final = b"E"
"""Asks the warm parent to kill the process that it forked after `FORK`. The answer is `READY` and a `kernel.Ending`."""
READY: Final = b"R"
"""The first byte from a program's process once it is confined, and of all that the warm parent sends if all is well."""
LIMITED, COUNTED = b"1", b"0"
"""Follows the warm parent's first `READY`: `LIMITED` if the kernel limits what programs write, else `COUNTED`."""
BROKEN: Final = b"B"
"""The byte that the warm parent or a program's process sends if it cannot continue; the reason follows."""
PID_BYTES: Final = 8
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MAX_DETAIL = 400
_MAX_BITS = 1000
_MAX_DEPTH = 60
# The reasons that a program's process may give. Only the supervisor determines the others (TIMED_OUT, NON_FINITE).
_OWN_REASONS = frozenset({Reason.CRASHED, Reason.OUT_OF_MEMORY, Reason.WRONG_RESULT})


class UnusableError(Exception):
    """A result that cannot be used; the arguments are those of the `Rejection` that says why."""


def pack_job(job: Job) -> bytes:
    """Return a job as a pickle, which the process of the program reads before it runs any program.

    Arrays become writable arrays of float64, and other arguments what JSON makes of them.
    """
    arguments = tuple(
        np.array(value, np.float64, order="C") if isinstance(value, np.ndarray) else json.loads(json.dumps(value))
        for value in job.arguments
    )
    return pickle.dumps(replace(job, arguments=arguments))


def read_result(sent: bytes, returns: Sequence[Array] | None) -> Any:
    """Return the value that a program's process sent. The process is untrusted and may have sent anything.

    A valid result begins with a line that holds a JSON object. If the program failed, the key ``failure`` of the object
    holds a reason and a detail. If the program returned a JSON value, the key ``value`` holds it. If the program
    returned arrays, the object has neither key, and the elements of the arrays follow the line as float64 numbers.

    Args:
        sent: The bytes that the process sent after `READY`.
        returns: The arrays that the program must return; None for a JSON value.

    Raises:
        UnusableError: The result is a failure, does not have the required form, or is not finite.
    """
    line, newline, rest = sent.partition(b"\n")
    try:
        header = json.loads(line) if newline else None
    except (ValueError, RecursionError, MemoryError):
        raise UnusableError(Reason.WRONG_RESULT, "the result cannot be read") from None
    match header:
        case {"failure": [str(reason), str(detail)]} if reason in _OWN_REASONS:
            raise UnusableError(Reason(reason), clean(detail))
    if not isinstance(header, dict) or "failure" in header:
        raise UnusableError(Reason.CRASHED, "it ended without a result")
    if returns is None:
        return _checked(header.get("value"))
    sizes = [math.prod(array.shape) for array in returns]
    if len(rest) != 8 * sum(sizes):
        raise UnusableError(
            Reason.WRONG_RESULT, f"the result has {len(rest)} bytes of numbers, expected {8 * sum(sizes)}"
        )
    parts = np.split(np.frombuffer(rest), np.cumsum(sizes)[:-1]) if sizes else []
    values = tuple(part.reshape(array.shape) for part, array in zip(parts, returns, strict=True))
    for place, value in enumerate(values, start=1):
        n_infinite = int((~np.isfinite(value)).sum())
        if n_infinite:
            held = f"holds {n_infinite} numbers that are not finite" if value.shape else "is not finite"
            raise UnusableError(Reason.NON_FINITE, f"value {place} {held}")
    return values


def clean(text: str) -> str:
    """Return a text as one printable line of bounded length."""
    return printable(" ".join(text[: 4 * _MAX_DETAIL].split()))[:_MAX_DETAIL]


def _checked(value: Any) -> Any:
    """Return a JSON value after checking its depth, and that its numbers are finite and its strings valid Unicode."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                inner += [*part.keys(), *part.values()]
            elif isinstance(part, list):
                inner += part
            elif isinstance(part, float) and not math.isfinite(part):
                raise UnusableError(Reason.NON_FINITE, f"the result holds {part}")
            elif isinstance(part, int) and part.bit_length() > _MAX_BITS:  # float() cannot represent it
                raise UnusableError(Reason.WRONG_RESULT, f"the result holds a number of more than {_MAX_BITS} bits")
            elif isinstance(part, str) and _SURROGATE.search(part):
                raise UnusableError(Reason.WRONG_RESULT, "the result holds text that is not Unicode")
        if not inner:
            return value
        level = inner
    raise UnusableError(Reason.WRONG_RESULT, f"the result is nested more than {_MAX_DEPTH} levels deep")
