"""Calls of a function with many arguments, each in a process of its own, so that a crash affects only that call."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import NamedTuple, TypeVar

from evodiverse.errors import describe

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Failure(NamedTuple):
    """A call that returned nothing; ``reason`` says why, on one line."""

    reason: str


def call_each(
    function: Callable[[Item], Answer], items: Sequence[Item], n_processes: int, *, is_silent: bool = False
) -> Generator[tuple[Item, Answer | Failure]]:
    """Yield each item with what the function answers to it, in the order in which the calls finish.

    If the function raises an exception or its process dies, the answer is a `Failure`. If the generator is closed
    early, the running processes are killed.

    Args:
        function: A function that is called in a new process for each item. It, the items and the answers are pickled.
        items: The items to call the function with.
        n_processes: The number of processes that run at the same time, at least 1.
        is_silent: Whether to drop what the processes print.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(items))
    running: dict[Connection, tuple[Item, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                item = waiting.pop()
                receiving, sending = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(
                    target=_answer, args=(sending, function, item, is_silent), daemon=True
                )
                with postponed_signals():  # a process that is interrupted while it starts prints errors
                    process.start()
                    running[receiving] = item, process
                sending.close()
            for ready in wait(list(running)):
                if isinstance(ready, Connection):
                    item, process = running[ready]
                    answer = _receive(ready, process)
                    del running[ready]
                    yield item, answer
    finally:
        for _, process in running.values():
            process.kill()
            process.join()


@contextmanager
def postponed_signals() -> Iterator[None]:
    """Postpone SIGINT and SIGTERM until the end of the context.

    The first signal that arrived in the context is then raised again. If an exception leaves the context, the
    signals are dropped.

    Blocking the signals in this thread would not be enough, because the threads of libraries would receive them.
    """
    noted: list[int] = []

    def note(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        noted.append(signum)

    handlers = {signum: signal.signal(signum, note) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
    if noted:
        signal.raise_signal(noted[0])


def _receive(connection: Connection, process: BaseProcess) -> Answer | Failure:
    with connection:
        try:
            answer: Answer | Failure = connection.recv()
        except EOFError:
            process.join()
            return Failure(f"its process ended with exit code {process.exitcode}")
    process.join()
    return answer


def _answer(sending: Connection, function: Callable[[Item], Answer], item: Item, is_silent: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal signals all processes; the main one kills this one
    if is_silent:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):  # stdout and stderr, where C++ libraries print
            os.dup2(nowhere, descriptor)
    answer: Answer | Failure
    try:
        answer = function(item)
    except Exception as error:  # noqa: BLE001 (libraries may raise anything)
        answer = Failure(describe(error))
    try:
        sending.send(answer)
    except BrokenPipeError:  # the main process was killed, so nobody waits for the answer
        return
