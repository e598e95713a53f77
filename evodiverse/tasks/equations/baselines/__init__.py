"""Other engines for symbolic regression, which serve as baselines, one file each (see ``engine.py``).

They run in separate processes: a signal stops them at once, whatever their libraries are doing.
"""

import multiprocessing
import signal
import time
from collections.abc import Mapping
from contextlib import ExitStack
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final, NamedTuple

from evodiverse.errors import ServiceError, describe
from evodiverse.kit.signals import postponed_signals
from evodiverse.tasks.equations.baselines import operon, pysr, sparse
from evodiverse.tasks.equations.baselines.engine import Engine, Front, Order

ENGINES: Final[Mapping[str, Engine]] = {"operon": operon, "pysr": pysr, "sparse": sparse}


class Answer(NamedTuple):
    """The equations that an engine found (see `Front`), and the wall time in seconds that it took."""

    front: Front
    seconds: float


def find_apart(engine: str, order: Order) -> Answer:
    """Run an engine in a separate process, with numerical libraries limited to one thread, and return its answer.

    Raises:
        ServiceError: The engine failed; the message gives the reason.
    """
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sending, engine, order), daemon=True)
    with ExitStack() as stack:
        with postponed_signals():  # a half-started process would complain
            process.start()
            stack.callback(_end, process)
        sending.close()
        try:
            answer: Answer | str = receiving.recv()
        except EOFError:
            process.join()
            answer = f"its process ended with exit code {process.exitcode}"
    if isinstance(answer, str):
        raise ServiceError(f"{engine} failed ({answer}); run the same command again to start over")
    return answer


def _end(process: BaseProcess) -> None:
    process.kill()
    process.join()


def _answer(sending: Connection, engine: str, order: Order) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends SIGINT to both processes; the parent ends this one
    try:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            began = time.perf_counter()
            front = ENGINES[engine].find_models(order)
            sending.send(Answer(front, time.perf_counter() - began))
    except Exception as error:  # noqa: BLE001 (whatever the library raises)
        sending.send(describe(error))
