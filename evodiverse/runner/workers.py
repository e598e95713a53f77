"""Worker processes that make and evaluate offspring."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Self, TypeVar

from evodiverse.errors import ContractError, ServiceError
from evodiverse.ports import Operator, Task
from evodiverse.vocabulary import Evaluation, Hypothesis, Proposal, Reason, Rejection, Request

Answer = tuple[Proposal, Hypothesis | Rejection]
TimedEvaluation = tuple[Evaluation, float]
Item = TypeVar("Item")
Result = TypeVar("Result")

# Batches a worker gets from one call; several, so that an uneven one does not leave the others idle.
BATCHES_PER_WORKER = 4


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """Runs a task and an operator over ``n`` processes; with one, in this process.

    Answers come in the order of the items, whichever process finishes first. Use it as a context manager.
    """

    def __init__(self, task: Task, operator: Operator, n: int) -> None:
        self._task = task
        self._operator = operator
        self._n = n
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Start the processes, which load in the background."""
        if self._n > 1:
            os.environ["PYTHONSAFEPATH"] = "1"  # a random.py in the current folder must not shadow the library's
            context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
            if sys.platform == "linux":
                context.set_forkserver_preload(
                    ["__main__", __name__, type(self._task).__module__, type(self._operator).__module__]
                )
            self._pool = ProcessPoolExecutor(self._n, context, _start_worker, (self._task, self._operator))
            for _ in range(self._n):
                self._pool.submit(os.getpid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the processes; after an error at once, whatever they are doing."""
        if self._pool is not None:
            if kind is not None:
                for process in multiprocessing.active_children():
                    process.kill()
            self._pool.shutdown(wait=True, cancel_futures=True)

    def propose(self, requests: Sequence[Request]) -> list[Answer]:
        """Return for each request the operator's proposal and what the task reads in it."""
        return self._map(_propose, requests)

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[TimedEvaluation]:
        """Return for each hypothesis its evaluation and the seconds it took, a batch's time shared evenly."""
        return self._map(_evaluate, hypotheses)

    def _map(
        self, function: Callable[[Task, Operator, Sequence[Item]], list[Result]], items: Sequence[Item]
    ) -> list[Result]:
        if self._pool is None:
            return function(self._task, self._operator, items)
        size = max(1, -(-len(items) // (self._n * BATCHES_PER_WORKER)))
        batches = [items[start : start + size] for start in range(0, len(items), size)]
        try:
            futures = [self._pool.submit(_call, function, batch) for batch in batches]
            return [result for future in futures for result in future.result()]
        except BrokenProcessPool as error:
            raise ServiceError(
                "a worker process died (killed, or out of memory); start the same command to resume"
            ) from error


_served: tuple[Task, Operator] | None = None


def _start_worker(task: Task, operator: Operator) -> None:
    """Keep what this worker process serves. Ctrl-C is the main process's business."""
    global _served
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_main_process, daemon=True).start()
    _served = (task, operator)


def _end_with_main_process() -> None:
    """End this process when the main one dies; an executor's workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(function: Callable[[Task, Operator, Sequence[Item]], list[Result]], batch: Sequence[Item]) -> list[Result]:
    if _served is None:
        raise RuntimeError("the worker process was not started by _start_worker")
    return function(*_served, batch)


def _propose(task: Task, operator: Operator, requests: Sequence[Request]) -> list[Answer]:
    proposals = operator.propose(requests)
    _check_length("operator", "proposals", len(proposals), len(requests))
    genotypes = [proposal.genotype for proposal in proposals if proposal.genotype is not None]
    parsed = task.parse(genotypes)
    _check_length("task", "parsed genotypes", len(parsed), len(genotypes))
    read = iter(parsed)
    return [
        (proposal, Rejection(Reason.NO_OFFSPRING, proposal.error) if proposal.genotype is None else next(read))
        for proposal in proposals
    ]


def _evaluate(task: Task, operator: Operator, hypotheses: Sequence[Hypothesis]) -> list[TimedEvaluation]:  # noqa: ARG001
    began = time.perf_counter()
    evaluations = task.evaluate(hypotheses)
    _check_length("task", "evaluations", len(evaluations), len(hypotheses))
    seconds = (time.perf_counter() - began) / max(len(hypotheses), 1)
    return [(evaluation, seconds) for evaluation in evaluations]


def _check_length(port: str, what: str, got: int, expected: int) -> None:
    if got != expected:
        raise ContractError(f"the {port} returned {got} {what} for {expected} items; it must answer each, in order")
