"""The process of a program: it confines itself, runs the program and sends the result.

Once the process has confined itself, the program can change everything that happens in it. So the supervisor trusts
nothing that is sent after `wire.READY`.
"""

import gc
import json
import os
import pickle
import random
import re
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from traceback import walk_tb
from typing import Any

import numpy as np

from evodiverse.errors import describe
from evodiverse.sandbox import wire
from evodiverse.sandbox.confinement import Confinement, die_with
from evodiverse.vocabulary import Array, Job, Reason

RESULT_FD = 3
SEED = 0
PROGRAM = "program.py"
# Memory addresses, and the identifiers of objects and threads. Error messages leave them out, since they always differ.
_IDENTITY = re.compile(r"0x[0-9a-fA-F]{6,}|(?<!\d\.)\b\d{12,}\b(?!\.\d)")
# The largest number of characters of an error message that are read, and that are shown.
_MAX_MESSAGE, _MAX_SHOWN = 100_000, 300


class WrongResultError(Exception):
    """The program returned a result of the wrong form."""


def run(source: int, outputs: Sequence[int], confinement: Confinement | None, folder: str, parent: int) -> None:
    """Run a program in this process, which has just been forked, and end the process.

    Args:
        source: The file descriptor from which the job is read.
        outputs: The file descriptors that become stdout, stderr and `RESULT_FD`, in this order.
        confinement: The confinement to apply before the program runs; None to run it with the rights of the account.
        folder: The program's current folder. If the program is confined, it may write to no other.
        parent: The id of the process that forked this one.
    """
    fds = [os.open(os.devnull, os.O_RDONLY), *outputs]
    try:
        os.setsid()
        die_with(parent)
        with os.fdopen(source, "rb") as stream:
            job: Job = pickle.load(stream)  # noqa: S301 (from the supervisor)
        if confinement is None:
            for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the parent ignores them
                signal.signal(signum, signal.SIG_DFL)
            os.chdir(folder)
        else:
            confinement.apply(folder, job.limits, job.folder)
        for target, fd in enumerate(fds):  # the parent has 0, 1 and 2 open, so no pipe is overwritten before its turn
            os.dup2(fd, target)
        os.closerange(RESULT_FD + 1, 65_536)
        os.write(RESULT_FD, wire.READY)
    except BaseException as error:  # noqa: BLE001 (sent to the parent)
        os.write(fds[RESULT_FD], wire.BROKEN + describe(error).encode())
        os._exit(1)
    tempfile.tempdir = folder
    with os.fdopen(RESULT_FD, "wb", closefd=False) as stream:  # opened before the program may replace what this needs
        try:
            sent = _call(job)
        except BaseException as error:  # noqa: BLE001 (a program may raise anything)
            sent = [_line(failure=_failure(error, folder))]
        stream.writelines(sent)
    for name in ("stdout", "stderr"):
        with suppress(BaseException):  # the program may have replaced it
            getattr(sys, name).flush()
    os._exit(0)


def _call(job: Job) -> list[bytes]:
    _seed()
    if job.folder is not None:
        sys.path.insert(0, job.folder)
    function: Any = job.source
    if job.entry_point is not None:
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(job.source, PROGRAM, "exec"), namespace)  # noqa: S102 (the confinement is there for this)
        function = namespace[job.entry_point]
    if job.driver is None:
        value = function(*job.arguments)
    else:
        own: dict[str, Any] = {"__name__": "driver"}
        exec(compile(job.driver, "driver.py", "exec"), own)  # noqa: S102
        value = own["drive"](function, *job.arguments)
    sent = [_line(value=value)] if job.returns is None else [_line(), *_arrays(value, job.returns)]
    size = sum(map(len, sent))
    if size > job.limits.result_bytes:
        raise WrongResultError(f"the result has {size} bytes, expected at most {job.limits.result_bytes}")
    return sent


def _seed() -> None:
    """Seed the random generators of Python and numpy.

    Generators that the program creates without a seed, and `os.urandom`, also give the same numbers each time that the
    program is started.
    """
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 (programs use it)
    entropy = random.Random(SEED)  # noqa: S311
    np.random.bit_generator.randbits = entropy.getrandbits  # type: ignore[attr-defined]
    os.urandom = entropy.randbytes
    random._urandom = entropy.randbytes  # type: ignore[attr-defined]
    seed = random.Random.seed

    def seed_always(self: random.Random, a: Any = None, version: int = 2) -> None:
        seed(self, entropy.getrandbits(64) if a is None else a, version)

    random.Random.seed = seed_always  # type: ignore[method-assign]
    random.seed = random._inst.seed


def _line(**header: Any) -> bytes:
    return json.dumps(header, default=_plain, allow_nan=True).encode() + b"\n"


def _plain(value: Any) -> Any:
    """Return a numpy number or array as a value that JSON can express."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise WrongResultError(f"the result has a {type(value).__name__}, which JSON cannot express")


def _arrays(value: Any, returns: Sequence[Array]) -> list[bytes]:
    if not isinstance(value, tuple | list):
        raise WrongResultError(f"returned a {type(value).__name__}, expected {len(returns)} values")
    values = list(value)  # a subclass may count or yield other values than it holds
    if len(values) != len(returns):
        raise WrongResultError(f"returned {len(values)} values, expected {len(returns)}")
    return [_array(place, *pair) for place, pair in enumerate(zip(values, returns, strict=True), start=1)]


def _array(place: int, value: Any, expected: Array) -> bytes:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise WrongResultError(f"value {place} holds {array.dtype}, expected numbers")
    if array.shape != expected.shape:
        raise WrongResultError(f"value {place} has the shape {array.shape}, expected {expected.shape}")
    return array.astype(np.float64).tobytes()


def _failure(error: BaseException, folder: str) -> tuple[str, str]:
    if isinstance(error, WrongResultError):
        return Reason.WRONG_RESULT, str(error)
    if isinstance(error, MemoryError):
        gc.collect()
        return Reason.OUT_OF_MEMORY, "it needs more memory than it may use"
    try:
        message = str(error)[:_MAX_MESSAGE]
    except BaseException:  # noqa: BLE001 (its own __str__ fails)
        message = ""
    same = _IDENTITY.sub("…", message.replace(folder, "."))  # the same in every repetition
    shown = " ".join(same[:_MAX_SHOWN].split())
    return Reason.CRASHED, ": ".join(filter(None, (type(error).__name__, shown))) + _where(error)


def _where(error: BaseException) -> str:
    """Return the number of the program's line where an error arose, in brackets; empty if it is unknown.

    If the traceback has several lines of the program, it is the innermost one.
    """
    passed = (line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == PROGRAM)
    *_, number = [error.lineno] if isinstance(error, SyntaxError) else [None, *passed]
    return "" if number is None else f" (line {number})"
