"""Worker processes, and threads, that make and evaluate offspring."""

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from evodiverse.errors import ContractError, ServiceError, describe
from evodiverse.kit.own_code import name_of
from evodiverse.kit.threads import cap_threads
from evodiverse.ports import Batching, Featured, Journal, Operator, Task, ThreadedTask
from evodiverse.runner import contracts
from evodiverse.runner.rows import journal_record
from evodiverse.vocabulary import Evaluation, Hypothesis, Proposal, Reason, Rejection, Request

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_LOG = logging.getLogger("evodiverse.runner")
Answer = tuple[Proposal, Hypothesis | Rejection]
TimedEvaluation = tuple[Evaluation, float]
Item = TypeVar("Item")
Result = TypeVar("Result")

# Batches of proposals a worker gets; several, so that an uneven one does not leave the others idle.
BATCHES_PER_WORKER = 4
# How often work is given out again whose process died: what kills it every time ends the run.
RETRIES = 2
# Evaluations are batched to take about so long, since a kill loses the batches under way.
BATCH_SECONDS = 0.02


def available_cores() -> int:
    """Return how many cores this process may use; within a job of SLURM, at most those that it asked for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(cores, max(1, int(asked))) if asked.isdecimal() else cores


@dataclass(frozen=True, slots=True)
class Bench:
    """What the work is done with, in this process or in another."""

    task: Task
    operator: Operator
    journal: Journal

    def propose(self, requests: Sequence[Request]) -> list[Answer]:
        """Return for each request the operator's proposal and what the task reads in it."""
        proposals = contracts.propose(self.operator, requests)
        genotypes = [proposal.genotype for proposal in proposals if proposal.genotype is not None]
        read = iter(contracts.parse(self.task, genotypes))
        return [
            (proposal, Rejection(Reason.NO_OFFSPRING, proposal.error) if proposal.genotype is None else next(read))
            for proposal in proposals
        ]

    def describe(self, hypotheses: Sequence[Hypothesis]) -> list["csr_matrix"]:
        """Return the features of all hypotheses in one matrix, most of which is zero."""
        from scipy.sparse import csr_matrix  # which takes longer to load than most runs need without it

        if not isinstance(self.task, Featured):
            raise TypeError("the task has no features")
        return [csr_matrix(contracts.features(self.task, hypotheses))]

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[TimedEvaluation]:
        """Return for each hypothesis its evaluation, journalled, and the seconds it took, the batch's shared evenly."""
        began = time.perf_counter()
        evaluations = contracts.evaluate(self.task, hypotheses)
        seconds = (time.perf_counter() - began) / max(len(hypotheses), 1)
        pairs = zip(hypotheses, evaluations, strict=True)
        self.journal.append([journal_record(hypothesis, evaluation, seconds) for hypothesis, evaluation in pairs])
        return [(evaluation, seconds) for evaluation in evaluations]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Hypotheses that one process evaluates: where they begin, how many they are, how often their process died."""

    at: int
    size: int
    n_retries: int = 0


class Workers:
    """Does the work of a bench over ``n`` processes; with one, in this process.

    A task that is a `ThreadedTask` evaluates in threads of this process: it has processes of its own. Answers come in
    the order of the items, whichever worker finishes first. Use it as a context manager.

    Args:
        bench: What the work is done with.
        n: Processes, or threads.
        batch: Evaluations a worker makes at a time; None leaves it to a task that is `Batching`, else to their speed,
            see `BATCH_SECONDS`.
        proposes: Whether the operator will be asked.
    """

    def __init__(self, bench: Bench, n: int, batch: int | None = None, *, proposes: bool = True) -> None:
        self._bench = bench
        self._n = n
        own = bench.task.batch_size if isinstance(bench.task, Batching) else None
        self._fixed_batch = batch
        self._adapts = batch is None and own is None
        self._batch = batch or own or 1
        self._outsourced = bench.task if isinstance(bench.task, ThreadedTask) else None
        self._has_processes = n > 1 and (proposes or self._outsourced is None)
        self._context: BaseContext = multiprocessing.get_context()
        self._pool: ProcessPoolExecutor | None = None
        self._processes: list[BaseProcess] = []
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Start the workers, which load in the background."""
        if self._outsourced is not None:
            self._threads = ThreadPoolExecutor(self._n, "evaluator")
            for _ in range(self._n):  # what keeps one from it, an evaluation will say
                self._threads.submit(self._outsourced.prepare)
        if self._has_processes:
            os.environ["PYTHONSAFEPATH"] = "1"  # a random.py in the current folder must not shadow the library's
            cap_threads()
            method = "forkserver" if sys.platform == "linux" else "spawn"
            if multiprocessing.get_start_method(allow_none=True) not in (
                None,
                *multiprocessing.get_all_start_methods(),
            ):
                multiprocessing.set_start_method(method, force=True)  # joblib's own, which no child would know
            context = multiprocessing.get_context(method)
            if sys.platform == "linux":
                used = [type(part).__module__ for part in (self._bench.task, self._bench.operator, self._bench.journal)]
                context.set_forkserver_preload(["__main__", __name__, *used])
                with _signals_ignored():  # the server that forks the workers, and they, stay so
                    forkserver.ensure_running()
            self._context = context
            self._start_processes()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the workers; after an error at once, whatever they are doing."""
        if self._outsourced is not None and kind is not None:
            self._outsourced.abandon()
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        if self._pool is not None:
            if kind is not None:
                for process in self._processes:
                    process.kill()
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _start_processes(self) -> None:
        """Start the processes, in place of those whose pool broke if there are any."""
        for process in self._processes:
            process.kill()  # they ignore the signal by which a broken pool would end them
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        others = multiprocessing.active_children()
        self._pool = ProcessPoolExecutor(self._n, self._context, _start_worker, (self._bench,))
        try:
            for _ in range(self._n):
                self._pool.submit(os.getpid)
            self._processes = [process for process in multiprocessing.active_children() if process not in others]
        except (EOFError, OSError) as error:  # the server was killed
            raise _dead_worker() from error
        except Exception as error:  # whatever a user's objects raise that cannot be sent
            _check_sendable(self._bench)
            raise RuntimeError("the workers cannot be started") from error

    def propose(self, requests: Sequence[Request]) -> list[Answer]:
        """Return for each request the operator's proposal and what the task reads in it."""
        return self._share_out(Bench.propose, requests)

    def describe(self, hypotheses: Sequence[Hypothesis]) -> "csr_matrix":
        """Return the features of hypotheses, at least one, a row for each."""
        from scipy.sparse import vstack

        return vstack(self._share_out(Bench.describe, hypotheses), format="csr")

    def evaluate(
        self, hypotheses: Sequence[Hypothesis], report: Callable[[int], object] = lambda _: None
    ) -> list[TimedEvaluation]:
        """Return for each hypothesis its evaluation and the seconds it took.

        Args:
            hypotheses: What to evaluate. Each batch is journalled by the process that evaluated it.
            report: Is told of each batch how many it held. Where this or a batch raises, no other batch begins,
                those under way end, and the first error goes on.
        """
        answers: dict[int, list[TimedEvaluation]] = {}
        running: dict[Future[list[TimedEvaluation]], _Batch] = {}
        again: list[_Batch] = []
        failure: BaseException | None = None
        share = -(-len(hypotheses) // self._n)  # a few that are quick do not queue in one process
        begun = 0
        while running or (failure is None and (again or begun < len(hypotheses))):
            if again and not running:
                _LOG.warning("a worker process died (killed, or out of memory); what it was doing is done again")
                self._start_processes()
            is_broken = bool(again and running)  # the others say so too, sooner or later
            while (
                failure is None and not is_broken and len(running) < self._window and (again or begun < len(hypotheses))
            ):
                batch = again.pop() if again else _Batch(begun, self._fixed_batch or min(self._batch, share))
                begun = max(begun, batch.at + batch.size)
                running[self._submit_batch(hypotheses, batch)] = batch
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                batch = running.pop(future)
                try:
                    answers[batch.at] = future.result()
                    self._adapt(answers[batch.at])
                    report(len(answers[batch.at]))
                except BrokenProcessPool as error:
                    if batch.n_retries < RETRIES:
                        again.append(replace(batch, n_retries=batch.n_retries + 1))
                    else:
                        failure = failure or _dead_worker(error)
                except BaseException as error:  # noqa: BLE001 (goes on below)
                    failure = failure or error
        if failure is not None:
            raise failure
        return [answer for at in sorted(answers) for answer in answers[at]]

    def _submit_batch(self, hypotheses: Sequence[Hypothesis], batch: "_Batch") -> Future[list[TimedEvaluation]]:
        """Give out a batch; where the processes have died, its future says so like those of the others."""
        items = hypotheses[batch.at : batch.at + batch.size]
        try:
            return self._submit(self._threads or self._pool, Bench.evaluate, items)
        except BrokenProcessPool as error:
            broken: Future[list[TimedEvaluation]] = Future()
            broken.set_exception(error)
            return broken

    def _share_out(self, work: Callable[[Bench, Sequence[Item]], list[Result]], items: Sequence[Item]) -> list[Result]:
        """Return what the processes make of the items, in batches of about the same size."""
        n_batches = 1 if self._pool is None else self._n * BATCHES_PER_WORKER
        size = max(1, -(-len(items) // n_batches))
        batches = [items[at : at + size] for at in range(0, len(items), size)]
        for n_retries in range(RETRIES + 1):
            try:
                futures = [self._submit(self._pool, work, batch) for batch in batches]
                return [result for future in futures for result in future.result()]
            except BrokenProcessPool as error:
                if n_retries == RETRIES:
                    raise _dead_worker() from error
                _LOG.warning("a worker process died (killed, or out of memory); what it was doing is done again")
                self._start_processes()
        raise AssertionError("unreachable")

    @property
    def _window(self) -> int:
        """Batches given out at once. Long ones do not queue behind each other, which would delay a stop."""
        return 2 * self._n if self._pool is not None and self._threads is None and self._batch > 1 else self._n

    def _adapt(self, batch: Sequence[TimedEvaluation]) -> None:
        """Choose the size of the next batches by the speed of this one."""
        if self._adapts:
            seconds = sum(seconds for _, seconds in batch) / len(batch)
            self._batch = min(2 * self._batch, max(1, int(BATCH_SECONDS / max(seconds, 1e-9))))

    def _submit(
        self,
        pool: ThreadPoolExecutor | ProcessPoolExecutor | None,
        work: Callable[[Bench, Sequence[Item]], list[Result]],
        batch: Sequence[Item],
    ) -> Future[list[Result]]:
        if isinstance(pool, ThreadPoolExecutor):
            return pool.submit(work, self._bench, batch)
        if pool is not None:
            return pool.submit(_serve, work, batch)
        future: Future[list[Result]] = Future()
        try:
            future.set_result(work(self._bench, batch))
        except BaseException as error:  # noqa: BLE001 (goes on where the result is asked for)
            future.set_exception(error)
        return future


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM for a moment, so that a process started in it ignores them for good.

    A terminal sends Ctrl-C, and a scheduler its SIGTERM, to all processes of a run; what becomes of it is the main
    process's business.
    """
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be set
        yield
        return
    before = {signum: signal.signal(signum, signal.SIG_IGN) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


_bench: Bench | None = None


def _start_worker(bench: Bench) -> None:
    """Keep what this worker process works with. Signals are the main process's business."""
    global _bench
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, signal.SIG_IGN)
    threading.Thread(target=_end_with_main_process, daemon=True).start()
    _bench = bench


def _end_with_main_process() -> None:
    """End this process when the main one dies; an executor's workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _serve(work: Callable[[Bench, Sequence[Item]], list[Result]], batch: Sequence[Item]) -> list[Result]:
    if _bench is None:
        raise RuntimeError("the worker process was not started by _start_worker")
    return work(_bench, batch)


def _check_sendable(bench: Bench) -> None:
    """Refuse a task or an operator that cannot be sent to another process.

    Raises:
        ContractError: It cannot; says why.
    """
    for part in (bench.task, bench.operator):
        try:
            pickle.dumps(part)
        except Exception as error:
            raise ContractError(
                f"{name_of(type(part))} cannot be sent to worker processes ({describe(error)}); "
                "let it hold names and paths instead, or use evaluator.workers=1"
            ) from error


def _dead_worker(cause: BaseException | None = None) -> ServiceError:
    error = ServiceError(
        f"a worker process died {RETRIES + 1} times over the same work (killed, or out of memory); start the same "
        "command to resume"
    )
    error.__cause__ = cause
    return error
