"""Docks molecules in processes of their own, each of which Vina may end as it likes."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from evodiverse.docking.docked import Docked, Job
from evodiverse.errors import describe
from evodiverse.kit.signals import postponed_signals

Dock = Callable[[Job], Docked]


def dock_each(jobs: Sequence[Job], dock: Dock, n_processes: int) -> Generator[tuple[Job, Docked]]:
    """Yield each job with its result, in the order in which they are done.

    A docking that fails, or ends its process, has an error as its result. Where the iteration ends before the jobs do,
    those under way are ended too.

    Args:
        jobs: What to dock.
        dock: A function of a module, which is called in a process of its own for each job.
        n_processes: As many are at work at once, at least 1.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(jobs))
    running: dict[Connection, tuple[Job, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                job = waiting.pop()
                receiving, sending = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(target=_answer, args=(sending, dock, job), daemon=True)
                with postponed_signals():  # one that is started by half complains
                    process.start()
                    running[receiving] = job, process
                sending.close()
            for ready in wait(list(running)):
                if isinstance(ready, Connection):
                    job, process = running[ready]
                    result = _receive(ready, process)
                    del running[ready]
                    yield job, result
    finally:
        for _, process in running.values():
            process.kill()
            process.join()


def _receive(connection: Connection, process: BaseProcess) -> Docked:
    try:
        answer: Docked = connection.recv()
    except EOFError:
        process.join()
        answer = Docked(None, error=f"its process ended with {process.exitcode}")
    else:
        process.join()
    connection.close()
    return answer


def _answer(sending: Connection, dock: Dock, job: Job) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all; the other process ends this one
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # libraries print there from C++
        os.dup2(nowhere, descriptor)
    try:
        answer = dock(job)
    except Exception as error:  # noqa: BLE001 (whatever the libraries raise)
        answer = Docked(None, error=describe(error))
    try:
        sending.send(answer)
    except BrokenPipeError:  # the other process was killed, and nobody waits any more
        return
