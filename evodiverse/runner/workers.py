"""Worker processes and threads that propose and evaluate offspring."""

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

from evodiverse.errors import ContractError, InputError, ServiceError, describe
from evodiverse.kit.environment import cap_threads
from evodiverse.kit.own_code import name_of
from evodiverse.kit.python import find_unguarded
from evodiverse.ports import Batching, Featured, Journal, Operator, ReportDone, Task, ThreadedTask, TimedEvaluation
from evodiverse.runner import contracts
from evodiverse.runner.rows import journal_record
from evodiverse.vocabulary import Hypothesis, Proposal, Reason, Rejection, Request

if TYPE_CHECKING:
    from evodiverse.search.process import Row

_LOG = logging.getLogger("evodiverse.runner")
Answer = tuple[Proposal, Hypothesis | Rejection]
"""A proposal, with the hypothesis that it was parsed to or the reason why it was rejected."""
Report: TypeAlias = Callable[[int], object]
"""A function that is called periodically with the number of new answers, which may be 0."""
Item = TypeVar("Item")
Result = TypeVar("Result")

# Proposals are split into several batches per worker, so that a slow batch does not leave other workers idle.
BATCHES_PER_WORKER = 4
# How often work is repeated after its process died. Work that kills its process every time ends the run.
RETRIES = 2
# The time that a batch of evaluations should take. A kill loses the batches in progress, so they are short.
BATCH_SECONDS = 0.02
# How often a slow evaluation is reported as still in progress.
REPORT_SECONDS = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def available_cores() -> int:
    """Return how many cores this process may use; within a SLURM job, at most as many as it requested per task."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(cores, max(1, int(asked))) if asked.isdecimal() else cores


def evaluate_batch(task: Task, hypotheses: Sequence[Hypothesis]) -> list[TimedEvaluation]:
    """Return for each hypothesis its evaluation and an even share of the batch's time in seconds."""
    began = time.perf_counter()
    evaluations = contracts.evaluate(task, hypotheses)
    seconds = (time.perf_counter() - began) / max(len(hypotheses), 1)
    return [(evaluation, seconds) for evaluation in evaluations]


@dataclass(frozen=True, slots=True)
class Bench:
    """The task, operator and journal with which this process or a worker process proposes and evaluates.

    The journal is a file to which each evaluation is appended, so that a killed run need not repeat it.
    """

    task: Task
    operator: Operator
    journal: Journal

    def propose(self, requests: Sequence[Request]) -> list[Answer]:
        """Return for each request the operator's proposal and the hypothesis that the task parsed it to.

        If there is no such hypothesis, a `Rejection` with the reason takes its place.
        """
        proposals = contracts.propose(self.operator, requests)
        genotypes = [proposal.genotype for proposal in proposals if proposal.genotype is not None]
        read = iter(contracts.parse(self.task, genotypes))
        return [
            (proposal, Rejection(Reason.NO_OFFSPRING, proposal.error) if proposal.genotype is None else next(read))
            for proposal in proposals
        ]

    def propose_described(self, requests: Sequence[Request]) -> list[tuple[Answer, "Row | None"]]:
        """Return what `propose` does, each with the features of the hypothesis, or None if there is no hypothesis."""
        answers = self.propose(requests)
        hypotheses = [parsed for _, parsed in answers if isinstance(parsed, Hypothesis)]
        rows = iter(self.describe(hypotheses) if hypotheses else [])
        return [(answer, next(rows) if isinstance(answer[1], Hypothesis) else None) for answer in answers]

    def describe(self, hypotheses: Sequence[Hypothesis]) -> list["Row"]:
        """Return the features of each of at least one hypothesis."""
        from evodiverse.search.process import encode  # the import is slow, and few runs need it

        if not isinstance(self.task, Featured):
            raise TypeError("the task has no features")
        return encode(contracts.features(self.task, hypotheses))

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[TimedEvaluation]:
        """Evaluate and journal all hypotheses; return what `evaluate_batch` returns."""
        answers = evaluate_batch(self.task, hypotheses)
        pairs = zip(hypotheses, answers, strict=True)
        self.journal.append([journal_record(hypothesis, *answer) for hypothesis, answer in pairs])
        return answers


Work: TypeAlias = Callable[[Bench, Sequence[Item]], list[Result]]
"""What `Bench` does with a batch of items: a function that returns one result for each, in order."""


class Workers:
    """The ``n`` worker processes of a run; if ``n`` is 1, all work is done in this process.

    A `ThreadedTask` evaluates in processes that it starts itself. Such a task is therefore called in ``n`` threads of
    this process, and these threads only wait for the results. The worker processes do not evaluate then. Answers are
    returned in the order of the items, whichever worker finishes first. Use `Workers` as a context manager.

    Args:
        bench: The objects that do the work.
        n: The number of processes or threads.
        batch: The number of evaluations in a batch. If it is None, a `Batching` task gives the number; for other tasks,
            the number adapts to their speed (see `BATCH_SECONDS`).
        proposes: Whether the operator will be asked for proposals. If not, no worker processes are started for a
            `ThreadedTask`.
    """

    def __init__(self, bench: Bench, n: int, batch: int | None = None, *, proposes: bool = True) -> None:
        self.described: dict[str, Row] | None = None
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
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Start the workers, which load their modules in the background.

        Raises:
            InputError: The main script has no `__main__` guard, and worker processes would run it.
        """
        if self._outsourced is not None:
            self._threads = ThreadPoolExecutor(self._n, "evaluator")
            for _ in range(self._n):  # errors are ignored here; the first evaluation reports them
                self._threads.submit(self._outsourced.prepare)
        if self._has_processes:
            if place := find_unguarded():
                raise InputError(
                    f"{place}: each worker process imports this script, and would start the run again; put the call "
                    'below `if __name__ == "__main__":`, or set evaluator.workers=1'
                )
            os.environ["PYTHONSAFEPATH"] = "1"  # a random.py in the current folder must not shadow the library's
            cap_threads()
            method = "forkserver" if sys.platform == "linux" else "spawn"
            known = (None, *multiprocessing.get_all_start_methods())
            if multiprocessing.get_start_method(allow_none=True) not in known:
                multiprocessing.set_start_method(method, force=True)  # joblib's own method is unknown to children
            context = multiprocessing.get_context(method)
            if sys.platform == "linux":
                used = [type(part).__module__ for part in (self._bench.task, self._bench.operator, self._bench.journal)]
                context.set_forkserver_preload(["__main__", __name__, *used])
                # A terminal sends SIGINT, and a scheduler SIGTERM, to all processes of a run. Only the main process
                # handles them; the fork server and the workers that it forks inherit that they are ignored.
                is_main = threading.current_thread() is threading.main_thread()  # no other can set handlers
                before = {signum: signal.signal(signum, signal.SIG_IGN) for signum in _SIGNALS if is_main}
                try:
                    forkserver.ensure_running()
                finally:
                    for signum, handler in before.items():
                        signal.signal(signum, handler)
            self._context = context
            self._start_processes()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Stop the workers. After an error, kill them in the middle of their work."""
        if self._outsourced is not None and kind is not None:
            self._outsourced.abandon()
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        self._stop_processes(kills=kind is not None)

    def _stop_processes(self, *, kills: bool) -> None:
        if self._pool is None:
            return
        # The executor starts a process when there is work and none is idle, so only it knows all. They ignore SIGTERM,
        # which it sends when its pool breaks.
        for process in [*(self._pool._processes or {}).values()] if kills else ():
            process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _start_processes(self) -> None:
        """Start the processes, replacing those of a process pool that broke.

        Raises:
            ContractError: The task or the operator cannot be pickled, so it cannot be sent to another process.
            ServiceError: The fork server was killed.
        """
        self._stop_processes(kills=True)
        self._pool = ProcessPoolExecutor(self._n, self._context, _start_worker, (self._bench,))
        try:
            for _ in range(self._n):
                self._pool.submit(os.getpid)
        except (EOFError, OSError) as error:
            raise ServiceError(
                "the process that starts the workers was killed; run the same command again to resume"
            ) from error
        except Exception as error:  # anything that pickling a user's objects raises
            for part in (self._bench.task, self._bench.operator):
                try:
                    pickle.dumps(part)
                except Exception as why:
                    raise ContractError(
                        f"{name_of(type(part))} cannot be sent to worker processes ({describe(why)}); "
                        "let it hold names and paths instead, or use evaluator.workers=1"
                    ) from why
            raise RuntimeError("the workers cannot be started") from error

    def propose(self, requests: Sequence[Request]) -> list[Answer]:
        """Return for each request the operator's proposal and its hypothesis, or why it gave no hypothesis."""
        if self.described is None:
            return self.share_out(Bench.propose, requests)
        answers = []
        for answer, row in self.share_out(Bench.propose_described, requests):
            answers.append(answer)
            if row is not None and isinstance(answer[1], Hypothesis):
                self.described[answer[1].key] = row
        return answers

    def describe(self, hypotheses: Sequence[Hypothesis]) -> list["Row"]:
        """Return the features of each hypothesis (see `evodiverse.search.process.encode`)."""
        known = self.described or {}
        unknown = {one.key: one for one in hypotheses if one.key not in known}
        rows = known | dict(zip(unknown, self.share_out(Bench.describe, [*unknown.values()]), strict=True))
        return [rows[hypothesis.key] for hypothesis in hypotheses]

    def evaluate(self, hypotheses: Sequence[Hypothesis], report: ReportDone = lambda _: None) -> list[TimedEvaluation]:
        """Return for each hypothesis its evaluation and the seconds it took.

        Args:
            hypotheses: The hypotheses to evaluate. The process that evaluates a batch also appends the results to the
                journal, a file on disk, so that a killed run need not repeat them.
            report: A function that is called after each batch with its evaluations, and with none while no batch ends
                for long. If this function or a batch raises, no new batch is started, those in progress finish,
                and the first error is raised.
        """
        share = -(-len(hypotheses) // self._n)  # spreads a small round of quick evaluations over all processes

        def note(batch: Sequence[TimedEvaluation]) -> None:
            if batch and self._adapts:
                seconds = sum(seconds for _, seconds in batch) / len(batch)
                self._batch = min(2 * self._batch, max(1, int(BATCH_SECONDS / max(seconds, 1e-9))))
            report(batch)

        def size() -> int:
            return self._fixed_batch or min(self._batch, share)

        def window() -> int:
            # Processes that evaluate several hypotheses at once need not wait for their next batch. Otherwise, no batch
            # is queued: single evaluations are usually slow, and a run that is told to stop finishes the queued ones.
            return 2 * self._n if self._pool is not None and self._threads is None and self._batch > 1 else self._n

        return self._run(Bench.evaluate, hypotheses, size, window, note)

    def share_out(self, work: Work[Item, Result], items: Sequence[Item]) -> list[Result]:
        """Do the work on all items, split into batches of about the same size, and return the results in order."""
        n_batches = 1 if self._pool is None else self._n * BATCHES_PER_WORKER
        size = max(1, -(-len(items) // n_batches))
        return self._run(work, items, lambda: size, lambda: n_batches, lambda _: None)

    def _run(
        self,
        work: Work[Item, Result],
        items: Sequence[Item],
        size: Callable[[], int],
        window: Callable[[], int],
        note: Callable[[Sequence[Result]], object],
    ) -> list[Result]:
        """Do the work on all items, in batches, and return the results in order.

        If a batch or ``note`` raises, no new batch is started, those in progress finish, and the first error is raised.

        Args:
            work: The work on a batch.
            items: The items.
            size: A function that returns the size of the next batch.
            window: A function that returns the largest number of batches in progress or queued at the same time.
            note: A function that is called with the results of each batch, and with none while no batch ends for long.
        """
        answers: dict[int, list[Result]] = {}  # by the index of the first item of the batch
        running: dict[Future[list[Result]], range] = {}
        again: list[range] = []
        n_lost = Counter[int]()  # the death of a worker process ends the batches of all, so it counts for each of them
        failure: BaseException | None = None
        begun = 0
        while running or (failure is None and (again or begun < len(items))):
            if again and not running:
                _LOG.warning("a worker process died (killed, or out of memory); its work is repeated")
                self._start_processes()
            is_broken = bool(again and running)  # the pool is restarted after its other futures have failed too
            while failure is None and not is_broken and len(running) < window() and (again or begun < len(items)):
                batch = again.pop() if again else range(begun, begun + size())
                begun = max(begun, batch.stop)
                running[self._submit(work, items[batch.start : batch.stop])] = batch
            done = wait(running, REPORT_SECONDS, FIRST_COMPLETED).done
            if not done and failure is None:
                try:
                    note([])
                except BaseException as error:  # noqa: BLE001 (raised below)
                    failure = error
            for future in done:
                batch = running.pop(future)
                try:
                    answers[batch.start] = future.result()
                    note(answers[batch.start])
                except BrokenProcessPool:
                    again.append(batch)
                    n_lost[batch.start] += 1
                    if n_lost[batch.start] > RETRIES:
                        failure = failure or ServiceError(
                            f"a worker process died {RETRIES + 1} times on the same work (killed, or out of memory); "
                            "run the same command again to resume"
                        )
                except BaseException as error:  # noqa: BLE001 (raised below)
                    failure = failure or error
        if failure is not None:
            raise failure
        return [answer for at in sorted(answers) for answer in answers[at]]

    def _submit(self, work: Work[Item, Result], batch: Sequence[Item]) -> Future[list[Result]]:
        """Start the work on a batch; an error, such as `BrokenProcessPool`, is raised when the result is read."""
        future: Future[list[Result]] = Future()
        threads = self._threads if work is Bench.evaluate else None
        try:
            if threads is not None:
                return threads.submit(work, self._bench, batch)
            if self._pool is not None:
                return self._pool.submit(_serve, work, batch)
            future.set_result(work(self._bench, batch))
        except BaseException as error:  # noqa: BLE001 (see above)
            future.set_exception(error)
        return future


_bench: Bench


def _start_worker(bench: Bench) -> None:
    """Prepare a worker process: keep ``bench`` (its task, operator, journal) and leave signals to the main process."""
    global _bench
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(multiprocessing.parent_process(),), daemon=True).start()
    _bench = bench


def _end_after(main: BaseProcess) -> None:
    """End this process when the main one dies; otherwise it would wait for work forever."""
    main.join()
    os._exit(1)


def _serve(work: Work[Item, Result], batch: Sequence[Item]) -> list[Result]:
    return work(_bench, batch)
