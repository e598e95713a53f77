"""Evaluation by a program of the user's: a docking suite, a queue, an array of cluster jobs."""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import InputError, ServiceError
from evodiverse.ports import Journal, Measurable
from evodiverse.runner import contracts
from evodiverse.runner.evaluators.jobs import Job
from evodiverse.runner.rows import journal_record
from evodiverse.runner.workers import TimedEvaluation
from evodiverse.vocabulary import Evaluation, Hypothesis, Reason, Rejection

_LOG = logging.getLogger("evodiverse.runner")
_SHORTEST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0
_MOST_REASON: Final = 1000


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """How the program is started.

    Attributes:
        command: The program and its arguments.
        side_by_side: How many of it run at a time.
        batch: Candidates that one start gets, None for an even share of what a round needs.
        timeout: Seconds that one start may take, None for any time.
        retries: How often a candidate is given out again that came back without an answer.
    """

    command: tuple[str, ...]
    side_by_side: int
    batch: int | None
    timeout: float | None
    retries: int


class CommandEvaluator:
    """Evaluates by starting a program, which reads candidates as JSON lines and writes scores as JSON lines.

    Each start is a process of its own in a session of its own, which goes on when the run is stopped or killed. A start
    of the same run later reads what was written meanwhile and waits for what is still at work.

    Args:
        task: Makes an evaluation of a score.
        settings: How the program is started.
        folder: Where the starts have their folders.
        journal: Keeps each evaluation as it comes.
        has_answered: Whether an earlier start of the run got an answer from the program.
    """

    def __init__(
        self,
        task: Measurable,
        settings: CommandSettings,
        folder: Path,
        journal: Journal,
        has_answered: Callable[[], bool],
    ) -> None:
        self._task = task
        self._settings = settings
        self._folder = folder
        self._journal = journal
        self._has_answered = has_answered
        self._n_begun = 0
        self._answered = False

    def evaluate(
        self, hypotheses: Sequence[Hypothesis], report: Callable[[int], object] = lambda _: None
    ) -> list[TimedEvaluation]:
        """Return for each hypothesis its evaluation and the seconds until it came.

        Args:
            hypotheses: What to evaluate.
            report: Is told how many answers more are there, and now and then of none; raises to stop. What is at
                work then goes on.

        Raises:
            InputError: The program cannot be started, or a score is none that the task knows.
            ServiceError: The program has never answered, however often it was started.
        """
        if not hypotheses:
            return []
        waiting = {hypothesis.key: hypothesis for hypothesis in hypotheses}
        answers: dict[str, TimedEvaluation] = {}
        n_starts: Counter[str] = Counter()
        running = self._find_jobs(waiting)
        at_work = {key for job in running for key in job.keys}
        todo = deque(key for key in waiting if key not in at_work)
        pause = _SHORTEST_PAUSE
        while len(answers) < len(hypotheses):
            while todo and len(running) < self._settings.side_by_side:
                running.append(self._begin(todo, waiting, n_starts, len(running)))
            came = 0
            for job in list(running):
                collected = dict(self._collect(job, waiting, answers))
                answers |= collected
                came += len(collected)
                if not job.is_alive() or self._is_overdue(job):
                    came += self._end(job, waiting, answers, n_starts, todo)
                    running.remove(job)
            report(came)
            pause = _SHORTEST_PAUSE if came else min(2 * pause, _LONGEST_PAUSE)
            if len(answers) < len(hypotheses) and not (todo and len(running) < self._settings.side_by_side):
                time.sleep(pause)
        for job in running:  # another start has answered for all that they were asked
            job.kill()
            job.remove()
        return [answers[hypothesis.key] for hypothesis in hypotheses]

    def _find_jobs(self, waiting: Mapping[str, Hypothesis]) -> list[Job]:
        """Return what earlier starts of the run left behind that says something about these candidates."""
        found: list[Job] = []
        for folder in sorted(self._folder.glob("[0-9]*"), key=lambda path: int(path.name)):
            self._n_begun = max(self._n_begun, int(folder.name) + 1)
            try:
                job = Job.find(folder)
            except OSError:  # it died before there was anything
                job = None
            if job is not None and job.keys & waiting.keys():
                job.keys &= waiting.keys()
                found.append(job)
            elif job is None or not job.is_alive():
                (job or Job(folder, set(), 0.0, None, None)).remove()
        if found:
            n_alive = sum(job.is_alive() for job in found)
            _LOG.info("%d starts of the evaluator are taken up again, %d of them at work", len(found), n_alive)
        return found

    def _begin(
        self, todo: deque[str], waiting: Mapping[str, Hypothesis], n_starts: Counter[str], n_running: int
    ) -> Job:
        """Start the program on what it is to do next; what came back without an answer goes by itself."""
        share = -(-len(todo) // max(self._settings.side_by_side - n_running, 1))
        size = self._settings.batch or share
        keys = [todo.popleft()]
        while todo and len(keys) < size and not n_starts[keys[0]] and not n_starts[todo[0]]:
            keys.append(todo.popleft())
        n_starts.update(keys)
        folder = self._folder / str(self._n_begun)
        self._n_begun += 1
        return Job.begin(folder, self._settings.command, [waiting[key] for key in keys])

    def _collect(
        self, job: Job, waiting: Mapping[str, Hypothesis], answers: Mapping[str, TimedEvaluation]
    ) -> Iterator[tuple[str, TimedEvaluation]]:
        """Yield each answer that a program has written since the last time; the first one for a candidate counts."""
        for told in job.read():
            key = told.get("key")
            if not isinstance(key, str) or key not in job.keys:
                continue
            job.keys.discard(key)
            if key not in answers:
                try:
                    evaluation = self._read(waiting[key], told)
                except InputError:  # a program that is corrected begins again
                    job.kill()
                    job.remove()
                    raise
                yield key, self._keep(waiting[key], evaluation, job)
                self._answered = True

    def _read(self, hypothesis: Hypothesis, told: Mapping[str, Any]) -> Evaluation:
        score, error = told.get("score"), told.get("error")
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

    def _end(
        self,
        job: Job,
        waiting: Mapping[str, Hypothesis],
        answers: dict[str, TimedEvaluation],
        n_starts: Counter[str],
        todo: deque[str],
    ) -> int:
        """Give out again what a program has not answered, and return how many candidates have failed for good."""
        is_overdue = job.is_alive()
        job.kill()
        answers.update(self._collect(job, waiting, answers))
        lost = [key for key in waiting if key in job.keys and key not in answers]
        why = f"no answer after {self._settings.timeout:g} s" if is_overdue else job.describe_end()
        job.remove()
        if not lost:
            return 0
        hopeless = [key for key in lost if n_starts[key] > self._settings.retries]
        if hopeless and not (self._answered or self._has_answered()):
            raise ServiceError(f"the evaluator has never answered ({why}); correct it and run the same command again")
        for key in hopeless:
            reason = Reason.TIMED_OUT if is_overdue else Reason.CRASHED
            answers[key] = self._keep(waiting[key], _fail(reason, why), job)
        again = [key for key in lost if key not in hopeless]
        if again:
            _LOG.warning(
                "the evaluator left %d candidates without an answer (%s); they are given out again", len(again), why
            )
        todo.extend(again)
        return len(hopeless)


def _fail(reason: Reason, detail: str) -> Evaluation:
    return Evaluation(None, None, valid=False, error=str(Rejection(reason, " ".join(detail.split())[:_MOST_REASON])))
