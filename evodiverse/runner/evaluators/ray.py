"""Evaluation by tasks on a Ray cluster. This module imports Ray, which few runs need."""

import logging
import time
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, Self

import ray

from evodiverse.errors import EvoDiverseError, ServiceError, describe
from evodiverse.ports import Journal, ReportDone, Task, TimedEvaluation
from evodiverse.runner.evaluators import AUTO, EvaluatorSettings, not_found
from evodiverse.runner.evaluators.command import Round, fail
from evodiverse.runner.workers import evaluate_batch
from evodiverse.text import count_of
from evodiverse.vocabulary import Hypothesis, Reason

_LOG = logging.getLogger("evodiverse.runner")
_POLL_SECONDS: Final = 0.5

Batch = tuple[str, ...]
"""The keys of the candidates that one Ray task evaluates. They identify the task."""


class Broker:
    """An actor on the cluster that owns the Ray tasks of one run, so that they continue when the run stops or dies.

    If the broker's own node dies, its Ray tasks end too, and Ray restarts the broker on another node without them.

    Args:
        task: The task of the run.
        cpus: The number of cores that a Ray task takes.
        retries: How many times Ray itself restarts a Ray task whose worker or node died.
    """

    def __init__(self, task: Task, cpus: float, retries: int) -> None:
        self._task = ray.put(task)
        self._evaluate = ray.remote(num_cpus=cpus, max_retries=retries)(evaluate_batch)
        self._refs: dict[Batch, Any] = {}

    def submit(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> None:
        """Start the Ray task of a batch, replacing an earlier one of the same batch."""
        self._refs[batch] = self._evaluate.remote(self._task, hypotheses)

    def find(self) -> list[Batch]:
        """Return the batches that were submitted and that `forget` has not dropped."""
        return list(self._refs)

    def take(self, batches: Sequence[Batch], seconds: float) -> dict[Batch, list[TimedEvaluation] | BaseException]:
        """Return the outcomes of those batches that have finished.

        Args:
            batches: The batches to look at.
            seconds: The longest time to wait until at least one of them finishes, in seconds. If a batch is lost, the
                method does not wait.

        Returns:
            The answers or the error of each finished batch. If a restart of the broker has lost batches, only the lost
            ones are returned, each with no answers.
        """
        if lost := [batch for batch in batches if batch not in self._refs]:
            return {batch: [] for batch in lost}
        batch_of = {self._refs[batch]: batch for batch in batches}
        ray.wait(list(batch_of), num_returns=1, timeout=seconds)
        taken: dict[Batch, list[TimedEvaluation] | BaseException] = {}
        for ref in ray.wait(list(batch_of), num_returns=len(batch_of), timeout=0)[0]:
            try:
                taken[batch_of[ref]] = ray.get(ref)
            except Exception as error:  # noqa: BLE001 (handed to the run, which raises it)
                cause = getattr(error, "cause", None)
                taken[batch_of[ref]] = cause if isinstance(cause, EvoDiverseError) else ServiceError(describe(error))
        return taken

    def forget(self, batch: Batch) -> None:
        """Drop a batch, and cancel its Ray task if that is still running."""
        if batch in self._refs:
            ray.cancel(self._refs.pop(batch), force=True)


class RayEvaluator:
    """An evaluator that runs Ray tasks on an existing cluster. Use it as a context manager.

    Args:
        task: The task of the run, which is sent to the cluster.
        settings: The settings. Without ``batch``, the candidates are divided evenly among the Ray tasks that the
            cluster can run at the same time.
        name: The name that identifies this run on the cluster.
        journal: The journal, which records each evaluation as it arrives.
    """

    def __init__(self, task: Task, settings: EvaluatorSettings, name: str, journal: Journal) -> None:
        self._task = task
        self._settings = settings
        self._address = settings.address or AUTO
        self._name = name
        self._journal = journal
        self._broker: Any = None
        self._n_cores = 1

    def __enter__(self) -> Self:
        """Connect to the cluster, and find or start the run's broker: the actor there that owns the run's Ray tasks.

        An earlier process of the run may have left the broker there.

        Raises:
            InputError: There is no cluster at this address.
        """
        options = {"namespace": "evodiverse", "ignore_reinit_error": True, "log_to_driver": False}
        try:
            ray.init(self._address, logging_level=logging.WARNING, **options)
        except (OSError, ValueError, RuntimeError) as error:
            raise not_found(self._address, error) from error
        cpus, retries = self._settings.cpus, self._settings.retries
        self._n_cores = max(int(ray.cluster_resources().get("CPU", 1) / cpus), 1)
        kept = {"name": self._name, "lifetime": "detached", "get_if_exists": True, "num_cpus": 0}
        kept |= {"max_restarts": -1, "max_task_retries": -1}
        self._broker = ray.remote(Broker).options(**kept).remote(self._task, cpus, retries)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Disconnect from the cluster, and end the broker: the actor on the cluster that owns the run's Ray tasks.

        After an error, the broker and its tasks keep running.
        """
        if kind is None:
            ray.kill(self._broker)
        ray.shutdown()

    def evaluate(self, hypotheses: Sequence[Hypothesis], report: ReportDone = lambda _: None) -> list[TimedEvaluation]:
        """Return for each hypothesis its evaluation and the seconds it took.

        Args:
            hypotheses: The hypotheses to evaluate.
            report: A function that is called periodically with the new evaluations, which may be none. It may raise to
                stop waiting; the Ray tasks then continue.

        Raises:
            EvoDiverseError: The error with which a Ray task failed, if it is of this type.
            ServiceError: A Ray task failed with any other error, or the cluster is gone.
        """
        waiting = {hypothesis.key: hypothesis for hypothesis in hypotheses}
        running = self._find_running(waiting)
        at_work = {key for batch in running for key in batch}
        this = Round(waiting, deque(key for key in waiting if key not in at_work), self._journal)
        todo, answers = this.todo, this.answers
        size = self._settings.batch or max(1, -(-len(todo) // self._n_cores))
        while (n_before := len(answers)) < len(hypotheses):
            while todo:
                self._submit(tuple(todo.popleft() for _ in range(min(size, len(todo)))), running, this)
            for batch, outcome in self._ask("take", list(running), _POLL_SECONDS).items():
                running.pop(batch)
                self._ask("forget", batch)
                if isinstance(outcome, EvoDiverseError):
                    raise outcome
                if not outcome:
                    todo.extend(batch)
                    continue
                for key, answer in zip(batch, outcome, strict=True):
                    if key not in answers:
                        this.keep(key, *answer)
            self._end_overdue(running, this)
            report(list(islice(answers.values(), n_before, None)))
        return [answers[hypothesis.key] for hypothesis in hypotheses]

    def _find_running(self, waiting: dict[str, Hypothesis]) -> dict[Batch, float]:
        """Return the batches that are already on the cluster, submitted by an earlier process of the run.

        Only batches whose candidates are all in ``waiting`` are returned. The Ray tasks of the others are canceled. The
        result maps each batch to the present time, from which the timeout is counted.
        """
        found: dict[Batch, float] = {}
        for batch in self._ask("find"):
            if waiting.keys() >= set(batch):
                found[batch] = time.monotonic()
            else:
                self._ask("forget", batch)
        if found:
            _LOG.info("found %s from an earlier start on the cluster", count_of(len(found), "task"))
        return found

    def _submit(self, batch: Batch, running: dict[Batch, float], this: Round) -> None:
        self._ask("submit", batch, [this.waiting[key] for key in batch])
        running[batch] = time.monotonic()
        this.n_starts.update(batch)

    def _end_overdue(self, running: dict[Batch, float], this: Round) -> None:
        """Resubmit each candidate of the overdue Ray tasks in a task of its own.

        A candidate that has no retry left is recorded as failed instead.
        """
        timeout = self._settings.timeout
        overdue = [batch for batch, began in running.items() if timeout and time.monotonic() - began > timeout]
        for batch in overdue:
            running.pop(batch)
            self._ask("forget", batch)
            for key in batch:
                if this.n_starts[key] <= self._settings.retries:
                    self._submit((key,), running, this)
                    continue
                this.keep(key, fail(Reason.TIMED_OUT, f"no answer after {timeout:g} s"), timeout or 0)

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the `Broker`, the actor on the cluster that owns this run's Ray tasks; return its answer.

        Raises:
            ServiceError: The cluster is gone.
        """
        try:
            return ray.get(getattr(self._broker, method).remote(*arguments))
        except ray.exceptions.RayError as error:
            raise ServiceError(
                f"the Ray cluster at {self._address} failed ({describe(error)}); run the same command again to resume"
            ) from error
