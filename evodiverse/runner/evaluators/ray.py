"""Evaluation by tasks on a Ray cluster."""

import logging
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from evodiverse.errors import EvoDiverseError, InputError, ServiceError, describe
from evodiverse.ports import Journal, Task
from evodiverse.runner import contracts
from evodiverse.runner.rows import journal_record
from evodiverse.runner.workers import TimedEvaluation
from evodiverse.vocabulary import Evaluation, Hypothesis, Reason, Rejection

_LOG = logging.getLogger("evodiverse.runner")
_NAMESPACE: Final = "evodiverse"
_POLL_SECONDS: Final = 0.5
_CONNECT_SECONDS: Final = 5.0

Batch = tuple[str, ...]
"""The keys of the candidates that one task evaluates, which are its name."""


@dataclass(frozen=True, slots=True)
class RaySettings:
    """Where and how tasks run.

    Attributes:
        address: The cluster, "auto" or host:port of its head node.
        cpus: Cores that a task takes.
        batch: Candidates of a task, None for an even share of what a round needs over the cluster's cores.
        timeout: Seconds that a task may take, None for any time.
        retries: How often a task is given out again whose worker, node or time ran out.
        name: Tells this run from others on the cluster.
    """

    address: str
    cpus: float
    batch: int | None
    timeout: float | None
    retries: int
    name: str


class Broker:
    """Owns the tasks of one run, on the cluster, so that they go on when the run is stopped or killed.

    Where its own node dies, its tasks end with it, and Ray starts it again on another node, without them.

    Args:
        task: The run's task.
        cpus: Cores that a task takes.
        retries: How often Ray itself starts one again whose worker or node died.
    """

    def __init__(self, task: Task, cpus: float, retries: int) -> None:
        import ray

        self._task = ray.put(task)
        self._evaluate = ray.remote(num_cpus=cpus, max_retries=retries)(evaluate_batch)
        self._refs: dict[Batch, Any] = {}

    def submit(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> None:
        """Begin a task, in place of one of the same name."""
        self._refs[batch] = self._evaluate.remote(self._task, hypotheses)

    def find(self) -> list[Batch]:
        """Return the tasks that were begun and not taken away."""
        return list(self._refs)

    def take(self, batches: Sequence[Batch], seconds: float) -> dict[Batch, list[TimedEvaluation] | BaseException]:
        """Return what became of some tasks that are over, each with its answers or what it failed with.

        Args:
            batches: The tasks.
            seconds: How long to wait for the first of them, if none is lost.

        Returns:
            The tasks that are over or lost, a lost one with no answers.
        """
        import ray

        if lost := [batch for batch in batches if batch not in self._refs]:
            return {batch: [] for batch in lost}
        refs = [self._refs[batch] for batch in batches]
        done = set(ray.wait(refs, num_returns=1, timeout=seconds)[0]) | set(
            ray.wait(refs, num_returns=len(refs), timeout=0)[0]
        )
        taken: dict[Batch, list[TimedEvaluation] | BaseException] = {}
        for batch in batches:
            if self._refs[batch] in done:
                try:
                    taken[batch] = ray.get(self._refs[batch])
                except Exception as error:  # noqa: BLE001 (the run decides what becomes of it)
                    cause = getattr(error, "cause", None)
                    taken[batch] = cause if isinstance(cause, EvoDiverseError) else ServiceError(describe(error))
        return taken

    def forget(self, batch: Batch) -> None:
        """Take a task away, and end it if it goes on."""
        import ray

        if batch in self._refs:
            ray.cancel(self._refs.pop(batch), force=True)


def evaluate_batch(task: Task, hypotheses: Sequence[Hypothesis]) -> list[TimedEvaluation]:
    """Return for each hypothesis its evaluation and the seconds it took, the batch's shared evenly."""
    began = time.perf_counter()
    evaluations = contracts.evaluate(task, hypotheses)
    seconds = (time.perf_counter() - began) / max(len(hypotheses), 1)
    return [(evaluation, seconds) for evaluation in evaluations]


def _check_reachable(address: str) -> None:
    """Check that something listens where a cluster should, for which Ray itself would wait for minutes.

    Raises:
        OSError: Nothing does.
        ValueError: The address has no port that is a number.
    """
    host, colon, port = address.rpartition(":")
    if colon and "://" not in address:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()


class RayEvaluator:
    """Evaluates by tasks on a Ray cluster that is there. Use it as a context manager.

    Args:
        task: The run's task, which is sent to the cluster.
        settings: Where and how tasks run.
        journal: Keeps each evaluation as it comes.
    """

    def __init__(self, task: Task, settings: RaySettings, journal: Journal) -> None:
        self._task = task
        self._settings = settings
        self._journal = journal
        self._broker: Any = None
        self._n_cores = 1

    def __enter__(self) -> Self:
        """Connect to the cluster, and find what an earlier start of the run has left there.

        Raises:
            InputError: There is no such cluster, or Ray is not installed.
        """
        try:
            import ray
        except ImportError as error:
            raise InputError("evaluator=ray needs Ray; pip install 'evodiverse[ray]'") from error
        settings = self._settings
        options = {"namespace": _NAMESPACE, "ignore_reinit_error": True, "log_to_driver": False}
        try:
            _check_reachable(settings.address)
            ray.init(settings.address, logging_level=logging.WARNING, **options)
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"evaluator.address={settings.address}: there is no Ray cluster ({describe(error)}); start one with "
                "ray start --head"
            ) from error
        self._n_cores = max(int(ray.cluster_resources().get("CPU", 1) / settings.cpus), 1)
        kept = {"name": settings.name, "lifetime": "detached", "get_if_exists": True, "num_cpus": 0}
        kept |= {"max_restarts": -1, "max_task_retries": -1}
        self._broker = ray.remote(Broker).options(**kept).remote(self._task, settings.cpus, settings.retries)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the cluster; after an error what is at work goes on."""
        import ray

        if kind is None:
            ray.kill(self._broker)
        ray.shutdown()

    def evaluate(
        self, hypotheses: Sequence[Hypothesis], report: Callable[[int], object] = lambda _: None
    ) -> list[TimedEvaluation]:
        """Return for each hypothesis its evaluation and the seconds it took.

        Args:
            hypotheses: What to evaluate.
            report: Is told how many answers more are there, and now and then of none; raises to stop. What is at
                work then goes on.

        Raises:
            ServiceError: The task raised something, or the cluster is gone.
        """
        waiting = {hypothesis.key: hypothesis for hypothesis in hypotheses}
        answers: dict[str, TimedEvaluation] = {}
        n_starts: Counter[Batch] = Counter()
        running = self._find_running(waiting)
        at_work = {key for batch in running for key in batch}
        todo = deque(key for key in waiting if key not in at_work)
        size = self._settings.batch or -(-len(todo) // self._n_cores)
        while len(answers) < len(hypotheses):
            while todo:
                self._submit(tuple(todo.popleft() for _ in range(min(size, len(todo)))), waiting, running, n_starts)
            came = 0
            for batch, outcome in self._ask("take", list(running), _POLL_SECONDS).items():
                running.pop(batch)
                self._ask("forget", batch)
                if isinstance(outcome, EvoDiverseError):
                    raise outcome
                if not outcome:
                    todo.extend(batch)
                    continue
                for key, answer in zip(batch, outcome, strict=True):
                    if key not in answers and key in waiting:
                        answers[key] = self._keep(waiting[key], *answer)
                        came += 1
            came += self._end_overdue(running, waiting, answers, n_starts)
            report(came)
        return [answers[hypothesis.key] for hypothesis in hypotheses]

    def _find_running(self, waiting: dict[str, Hypothesis]) -> dict[Batch, float]:
        """Return the tasks of an earlier start of the run for these candidates; the others are ended."""
        found: dict[Batch, float] = {}
        for batch in self._ask("find"):
            if waiting.keys() >= set(batch):
                found[batch] = time.monotonic()
            else:
                self._ask("forget", batch)
        if found:
            _LOG.info("%d tasks on the cluster are taken up again", len(found))
        return found

    def _submit(
        self, batch: Batch, waiting: dict[str, Hypothesis], running: dict[Batch, float], n_starts: Counter[Batch]
    ) -> None:
        self._ask("submit", batch, [waiting[key] for key in batch])
        running[batch] = time.monotonic()
        n_starts[batch] += 1

    def _end_overdue(
        self,
        running: dict[Batch, float],
        waiting: dict[str, Hypothesis],
        answers: dict[str, TimedEvaluation],
        n_starts: Counter[Batch],
    ) -> int:
        """Give out tasks again that took too long, each candidate by itself, and return how many failed for good."""
        timeout = self._settings.timeout
        overdue = [batch for batch, began in running.items() if timeout and time.monotonic() - began > timeout]
        n_failed = 0
        for batch in overdue:
            running.pop(batch)
            self._ask("forget", batch)
            if n_starts[batch] <= self._settings.retries:
                for key in batch:
                    n_starts[(key,)] = max(n_starts[(key,)], n_starts[batch])
                    self._submit((key,), waiting, running, n_starts)
                continue
            for key in batch:
                error = str(Rejection(Reason.TIMED_OUT, f"no answer after {timeout:g} s"))
                answers[key] = self._keep(waiting[key], Evaluation(None, None, valid=False, error=error), timeout or 0)
                n_failed += 1
        return n_failed

    def _keep(self, hypothesis: Hypothesis, evaluation: Evaluation, seconds: float) -> TimedEvaluation:
        self._journal.append([journal_record(hypothesis, evaluation, seconds)])
        return evaluation, seconds

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Return what the broker answers.

        Raises:
            ServiceError: The cluster is gone.
        """
        import ray

        try:
            return ray.get(getattr(self._broker, method).remote(*arguments))
        except ray.exceptions.RayError as error:
            raise ServiceError(f"the Ray cluster failed ({describe(error)}); the same command goes on") from error
