"""Docking of each molecule in its own process, so that a crash of Vina affects only that molecule."""

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
    """Yield each job with its result, in the order in which the jobs finish.

    If a docking fails or its process dies, its result is a `Docked` with an error. If the generator is closed early,
    the running processes are killed.

    Args:
        jobs: The molecules to dock.
        dock: The function that docks a molecule. It is called in a new process for each job, so it must be picklable.
        n_processes: The number of processes that run at the same time, at least 1.
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
                with postponed_signals():  # a process that is interrupted while it starts prints errors
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
        answer = Docked(None, error=f"its process ended with exit code {process.exitcode}")
    else:
        process.join()
    connection.close()
    return answer


def _answer(sending: Connection, dock: Dock, job: Job) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal signals all processes; the main one kills this one
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # stdout and stderr, where C++ libraries print
        os.dup2(nowhere, descriptor)
    try:
        answer = dock(job)
    except Exception as error:  # noqa: BLE001 (the libraries may raise anything)
        answer = Docked(None, error=describe(error))
    try:
        sending.send(answer)
    except BrokenPipeError:  # the main process was killed, so nobody waits for the result
        return
