"""Jobs that call small programs, and a wait for what happens in other processes."""

import time
from collections.abc import Callable
from textwrap import dedent

from evodiverse.vocabulary import Array, Job, Limits

QUICK = Limits(cpu_seconds=0.4, memory_mb=1_000)
AMPLE = Limits(cpu_seconds=20.0, memory_mb=1_000)


def body(code: str, *arguments: object, returns: tuple[Array, ...] | None = None, limits: Limits = AMPLE) -> Job:
    """Return a job whose program is one function with this body."""
    names = ", ".join(f"argument_{place}" for place in range(len(arguments)))
    source = f"def main({names}):\n" + "".join(f"    {line}\n" for line in dedent(code).strip().splitlines())
    return module(source, *arguments, returns=returns, limits=limits)


def module(source: str, *arguments: object, returns: tuple[Array, ...] | None = None, limits: Limits = AMPLE) -> Job:
    """Return a job with this program, whose function is ``main``."""
    return Job(dedent(source), "main", arguments, returns, limits)


def until(holds: Callable[[], bool]) -> bool:
    """Wait until a condition holds, and return whether it did within a few seconds."""
    for _ in range(500):
        if holds():
            return True
        time.sleep(0.01)
    return False
