"""Evaluation by a user's program, such as a docking suite or a submitter of cluster jobs."""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import InputError, ServiceError
from evodiverse.ports import Journal, Measurable
from evodiverse.runner import contracts
from evodiverse.runner.evaluators import EvaluatorSettings
from evodiverse.runner.evaluators.jobs import Job
from evodiverse.runner.rows import journal_record
from evodiverse.runner.workers import Report, TimedEvaluation, available_cores
from evodiverse.text import count_of
from evodiverse.vocabulary import Evaluation, Hypothesis, Reason, Rejection

_LOG = logging.getLogger("evodiverse.runner")
_SHORTEST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0
_MOST_REASON: Final = 1000


@dataclass(slots=True)
class Round:
    """The candidates of one call of `Evaluator.evaluate`.

    Attributes:
        waiting: All of them, by key.
        todo: The keys of those to submit.
        answers: The evaluations so far, by key.
        n_starts: How often each was submitted.
    """

    waiting: Mapping[str, Hypothesis]
    todo: deque[str]
    answers: dict[str, TimedEvaluation] = field(default_factory=dict)
    n_starts: Counter[str] = field(default_factory=Counter)


class CommandEvaluator:
    """An evaluator that starts a program, which reads candidates as JSON lines and writes scores as JSON lines.

    Each process has a session of its own and continues when the run is stopped or killed. When the run is started
    again, the evaluator reads the scores written in the meantime and waits for the processes still running on this
    machine.

    Args:
        task: The task, which turns a score into an evaluation.
        settings: The settings, with ``command``. At most ``workers`` of its processes run at the same time.
        folder: The folder in which each job gets a folder of its own.
        journal: The journal, which records each evaluation as it arrives.
        has_answered: A function that returns whether the program has answered since the run first began. If it never
            has, a candidate without an answer after all retries ends the run.
    """

    def __init__(
        self,
        task: Measurable,
        settings: EvaluatorSettings,
        folder: Path,
        journal: Journal,
        has_answered: Callable[[], bool],
    ) -> None:
        self._task = task
        self._settings = settings
        self._side_by_side = settings.workers or available_cores()
        self._folder = folder
        self._journal = journal
        self._has_answered = has_answered
        self._n_begun = 0
        self._answered = False

    def evaluate(self, hypotheses: Sequence[Hypothesis], report: Report = lambda _: None) -> list[TimedEvaluation]:
        """Return the evaluation of each hypothesis and the time that the evaluation took, in seconds.

        The time is counted from the start of the process that got the candidate until the answer is read.

        Args:
            hypotheses: The hypotheses to evaluate.
            report: A function that is called periodically with the number of new answers, which may be 0. It may raise
                to stop waiting; the programs then continue.

        Raises:
            InputError: The program cannot be started, or the task does not accept a score.
            ServiceError: A candidate has no answer after all its retries, and the program has never answered at all.
        """
        if not hypotheses:
            return []
        waiting = {hypothesis.key: hypothesis for hypothesis in hypotheses}
        running = self._find_jobs(waiting)
        at_work = {key for job in running for key in job.keys}
        this = Round(waiting, deque(key for key in waiting if key not in at_work))
        todo, answers = this.todo, this.answers
        pause = _SHORTEST_PAUSE
        while len(answers) < len(hypotheses):
            while todo and len(running) < self._side_by_side:
                running.append(self._begin(this, len(running)))
            came = 0
            for job in list(running):
                came += self._collect(job, this)
                if not job.is_alive() or self._is_overdue(job):
                    came += self._end(job, this)
                    running.remove(job)
            report(came)
            pause = _SHORTEST_PAUSE if came else min(2 * pause, _LONGEST_PAUSE)
            if len(answers) < len(hypotheses) and not (todo and len(running) < self._side_by_side):
                time.sleep(pause)
        for job in running:  # all of their candidates have answers, from these or from other jobs
            job.kill()
            job.remove()
        return [answers[hypothesis.key] for hypothesis in hypotheses]

    def _find_jobs(self, waiting: Mapping[str, Hypothesis]) -> list[Job]:
        """Return the jobs, running or ended, that earlier starts of the run began for any of these candidates.

        The folders of all other jobs are deleted, except those of jobs that still run on this machine.
        """
        found: list[Job] = []
        for folder in sorted(self._folder.glob("[0-9]*"), key=lambda path: int(path.name)):
            self._n_begun = max(self._n_begun, int(folder.name) + 1)
            try:
                job = Job.find(folder)
            except OSError:  # the run was killed before it had written the folder's files
                job = None
            if job is not None and job.keys & waiting.keys():
                job.keys &= waiting.keys()
                found.append(job)
            elif job is None or not job.is_alive():
                (job or Job(folder, set(), 0.0, None, None)).remove()
        if found:
            n_alive = sum(job.is_alive() for job in found)
            jobs = count_of(len(found), "evaluator job")
            _LOG.info("found %s from an earlier start, %d of them still running", jobs, n_alive)
        return found

    def _begin(self, this: Round, n_running: int) -> Job:
        """Start the program on the next candidates.

        A candidate that the current call of `evaluate` has submitted before gets a job of its own.
        """
        todo, n_starts = this.todo, this.n_starts
        share = -(-len(todo) // max(self._side_by_side - n_running, 1))
        size = self._settings.batch or share
        keys = [todo.popleft()]
        while todo and len(keys) < size and not n_starts[keys[0]] and not n_starts[todo[0]]:
            keys.append(todo.popleft())
        n_starts.update(keys)
        folder = self._folder / str(self._n_begun)
        self._n_begun += 1
        return Job.begin(folder, self._settings.command or [], [this.waiting[key] for key in keys])

    def _collect(self, job: Job, this: Round) -> int:
        """Keep the answers that a program has written since the last call, and return how many these are.

        Only a candidate's first answer counts.
        """
        n_before = len(this.answers)
        for line in job.read():
            key = line.get("key")
            if not isinstance(key, str) or key not in job.keys:
                continue
            job.keys.discard(key)
            if key not in this.answers:
                try:
                    evaluation = self._read(this.waiting[key], line)
                except InputError:  # after the user fixes the program, it must start over
                    job.kill()
                    job.remove()
                    raise
                this.answers[key] = self._keep(this.waiting[key], evaluation, job)
                self._answered = True
        return len(this.answers) - n_before

    def _read(self, hypothesis: Hypothesis, line: Mapping[str, Any]) -> Evaluation:
        score, error = line.get("score"), line.get("error")
        if error is not None:
            return _fail(Reason.CRASHED, str(error))
        if isinstance(score, bool) or not isinstance(score, int | float) or not isfinite(score):
            return _fail(Reason.NON_FINITE, f"the program answered {score!r}")
        return contracts.rate(self._task, hypothesis, float(score))

    def _keep(self, hypothesis: Hypothesis, evaluation: Evaluation, job: Job) -> TimedEvaluation:
        seconds = max(time.time() - job.began, 0.0) if job.began else 0.0
        self._journal.append([journal_record(hypothesis, evaluation, seconds)])
        return evaluation, seconds

    def _is_overdue(self, job: Job) -> bool:
        timeout = self._settings.timeout
        return timeout is not None and time.time() - job.began > timeout

    def _end(self, job: Job, this: Round) -> int:
        """Requeue the candidates that a program left unanswered, and return how many got an answer or failed."""
        is_overdue = job.is_alive()
        job.kill()
        came = self._collect(job, this)
        lost = [key for key in this.waiting if key in job.keys and key not in this.answers]
        why = f"no answer after {self._settings.timeout:g} s" if is_overdue else job.describe_end()
        job.remove()
        hopeless = [key for key in lost if this.n_starts[key] > self._settings.retries]
        if hopeless and not (self._answered or self._has_answered()):
            raise ServiceError(f"the evaluator has never answered ({why}); fix it and run the same command again")
        for key in hopeless:
            reason = Reason.TIMED_OUT if is_overdue else Reason.CRASHED
            this.answers[key] = self._keep(this.waiting[key], _fail(reason, why), job)
        again = [key for key in lost if key not in hopeless]
        if again:
            candidates, are = count_of(len(again), "candidate"), "it is" if len(again) == 1 else "they are"
            _LOG.warning("%s got no answer from the program (%s); %s submitted again", candidates, why, are)
        this.todo.extend(again)
        return came + len(hopeless)


def _fail(reason: Reason, detail: str) -> Evaluation:
    return Evaluation(None, None, valid=False, error=str(Rejection(reason, " ".join(detail.split())[:_MOST_REASON])))
