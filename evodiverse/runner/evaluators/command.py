"""Evaluation by a user's program, such as a docking suite or a submitter of cluster jobs.

The processes of the program outlive the run, and the next start of the run finds them.
"""

import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final, Self

from evodiverse.errors import InputError, ServiceError, reason
from evodiverse.kit.files import write_file, writing_to
from evodiverse.kit.inputs import find_fault
from evodiverse.ports import Journal, Measurable, ReportDone, TimedEvaluation
from evodiverse.runner import contracts
from evodiverse.runner.evaluators import EvaluatorSettings
from evodiverse.runner.rows import journal_record
from evodiverse.runner.workers import available_cores
from evodiverse.text import count_of, one_line
from evodiverse.vocabulary import Evaluation, Hypothesis, Reason, Rejection

_LOG = logging.getLogger("evodiverse.runner")
_SHORTEST_PAUSE: Final = 0.02
CANDIDATES: Final = "candidates.jsonl"
SCORES: Final = "scores.jsonl"
ERRORS: Final = "errors.txt"
_PROCESS: Final = "process.json"
_MOST_LINE: Final = 1 << 20
_MOST_ERRORS: Final = 10_000
_PROC: Final = Path("/proc")
_START: Final = 19  # place of the start time in /proc/PID/stat, counted from 0 at the state


def check_command(command: Sequence[str]) -> None:
    """Refuse a command whose program does not exist.

    Raises:
        InputError: There is no such program, or it is not executable.
    """
    if why := find_fault(command[0]):
        raise _refuse(command, why)


def _refuse(command: Sequence[str], why: str) -> InputError:
    return InputError(f"evaluator.command: {command[0]} cannot be started ({why}); check the path")


@dataclass(slots=True)
class Job:
    """One process of the program, with a folder of its own.

    Attributes:
        folder: The folder with the candidates that the program reads and the scores that it writes.
        keys: The keys of the candidates for which no answer has been read yet.
        began: The time when it was started, in seconds since 1970; 0 if unknown.
        pid: The identifier of its process, or None if unknown or on another machine.
        mark: A text that distinguishes its process from a later one with the same ``pid``; None if unknown.
        process: The process itself, or None if an earlier start of the run began it.
        offset: The number of bytes of the scores that have been read.
    """

    folder: Path
    keys: set[str]
    began: float
    pid: int | None
    mark: str | None
    process: subprocess.Popen[bytes] | None = None
    offset: int = 0

    @classmethod
    def begin(cls, folder: Path, command: Sequence[str], hypotheses: Sequence[Hypothesis]) -> Self:
        """Start the program on these candidates.

        Raises:
            InputError: The program cannot be started.
            ServiceError: The disk is full or no longer available.
        """
        folder.mkdir(parents=True)
        lines = [json.dumps({"key": one.key, "genotype": one.genotype}) for one in hypotheses]
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}  # a line counts as soon as it is written
        began = time.time()
        with writing_to(folder), (folder / SCORES).open("ab") as scores, (folder / ERRORS).open("ab") as errors:
            # The candidates are written last, so that a later start that finds them finds the other files as well.
            write_file(folder / CANDIDATES, "".join(f"{line}\n" for line in lines).encode())
            with (folder / CANDIDATES).open("rb") as candidates:
                try:
                    process = subprocess.Popen(
                        command, stdin=candidates, stdout=scores, stderr=errors, env=env, start_new_session=True
                    )
                except OSError as error:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise _refuse(command, reason(error)) from error
        mark = _find_mark(process.pid)
        # If the run is killed before this file is written, its next start does not know that the program is running.
        record = {"pid": process.pid, "mark": mark, "began": began, "host": socket.gethostname()}
        write_file(folder / _PROCESS, json.dumps(record).encode())
        return cls(folder, {one.key for one in hypotheses}, began, process.pid, mark, process)

    @classmethod
    def find(cls, folder: Path) -> Self:
        """Return the job that an earlier start of the run left in a folder, whether or not it is still running.

        The run may have been killed before it had written all files.
        """
        candidates, record = (
            list(_parse(path.read_bytes())) if path.exists() else []
            for path in (folder / CANDIDATES, folder / _PROCESS)
        )
        keys = {str(line["key"]) for line in candidates if "key" in line}
        known = record[0] if record else {}
        is_here = known.get("host") == socket.gethostname()
        pid, mark = (known.get("pid"), known.get("mark")) if is_here else (None, None)
        return cls(folder, keys, float(known.get("began") or 0.0), pid, mark)

    @property
    def seconds(self) -> float:
        """The time since it was started; 0 if unknown."""
        return max(time.time() - self.began, 0.0) if self.began else 0.0

    def is_alive(self) -> bool:
        """Return whether the program is known to be still running on this machine."""
        if self.process is not None:
            return self.process.poll() is None
        return self.pid is not None and self.mark is not None and _find_mark(self.pid) == self.mark

    def read(self) -> Iterator[Mapping[str, Any]]:
        """Yield the lines that the program has written since the last call, if they are JSON objects.

        While the program is running, an incomplete last line is left for a later call, unless it is too long for an
        answer. What a program prints may be larger than the memory, so one line is read at a time.
        """
        is_alive = self.is_alive()  # checked first: the program may write its last lines and end meanwhile
        with (self.folder / SCORES).open("rb") as file:
            end = file.seek(0, os.SEEK_END)  # the program may write faster than this reads
            file.seek(self.offset)
            while self.offset < end and (line := file.readline(_MOST_LINE)):
                if is_alive and len(line) < _MOST_LINE and not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                yield from _parse(line)

    def kill(self) -> None:
        """If the program is still running, kill it and all processes of its group."""
        if self.pid is not None and self.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def describe_end(self) -> str:
        """Return how the program ended: its exit code, if that is known, and its last line on standard error."""
        code = None if self.process is None else self.process.poll()
        ended = "it ended" if code is None else f"exit code {code}"
        printed = (self.folder / ERRORS).read_bytes()[-_MOST_ERRORS:].decode(errors="replace")
        said = printed.rstrip().rpartition("\n")[2].strip()
        return f"{ended}: {said[:300]}" if said else ended

    def discard(self) -> None:
        """Kill the program and delete the folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def _parse(content: bytes) -> Iterator[Mapping[str, Any]]:
    for line in content.splitlines():
        with suppress(ValueError, RecursionError):
            parsed = json.loads(line)
            if isinstance(parsed, dict):
                yield parsed


def _find_mark(pid: int) -> str | None:
    """Return a string that identifies a running process; None if it does not exist or is a zombie.

    Two processes with the same ``pid`` differ in their start times. The text does not depend on settings such as the
    time zone, since they may be different when the run is started again.
    """
    if not (_PROC / "self" / "stat").exists():  # for instance on macOS
        return _ask_ps(pid)
    try:
        # The name of the program, in parentheses, may contain anything, so the fields are counted from its end.
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        boot = (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        return None
    state, began = fields[0].decode(), fields[_START].decode()
    return None if state in ("Z", "X") else f"{began} ticks after the start of {boot}"


def _ask_ps(pid: int) -> str | None:
    """Return the start time of a running process in UTC, as ``ps`` prints it.

    The result is None if the process does not exist or is a zombie, or if there is no ``ps``.
    """
    env = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    try:
        listed = subprocess.run(command, env=env, capture_output=True, text=True)
    except OSError:
        return None
    state, _, began = listed.stdout.strip().partition(" ")
    return None if listed.returncode or state.startswith("Z") else began.strip()


@dataclass(slots=True)
class Round:
    """The candidates of one call of `Evaluator.evaluate`.

    Attributes:
        waiting: All of them, by key.
        todo: The keys of those to submit.
        journal: The journal, which records each evaluation as it arrives.
        answers: The evaluations so far, by key.
        n_starts: How often each was submitted.
    """

    waiting: Mapping[str, Hypothesis]
    todo: deque[str]
    journal: Journal
    answers: dict[str, TimedEvaluation] = field(default_factory=dict)
    n_starts: Counter[str] = field(default_factory=Counter)

    def keep(self, key: str, evaluation: Evaluation, seconds: float) -> None:
        """Record the answer for a candidate."""
        self.journal.append([journal_record(self.waiting[key], evaluation, seconds)])
        self.answers[key] = evaluation, seconds


@dataclass
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

    task: Measurable
    settings: EvaluatorSettings
    folder: Path
    journal: Journal
    has_answered: Callable[[], bool]
    _n_begun: int = field(default=0, init=False)
    _answered: bool = field(default=False, init=False)

    def evaluate(self, hypotheses: Sequence[Hypothesis], report: ReportDone = lambda _: None) -> list[TimedEvaluation]:
        """Return the evaluation of each hypothesis and the time that the evaluation took, in seconds.

        The time is counted from the start of the process that got the candidate until the answer is read.

        Args:
            hypotheses: The hypotheses to evaluate.
            report: A function that is called periodically with the new evaluations, which may be none. It may raise to
                stop waiting; the programs then continue.

        Raises:
            InputError: The program cannot be started, or the task does not accept a score.
            ServiceError: A candidate has no answer after all its retries, and the program has never answered at all.
        """
        if not hypotheses:
            return []
        waiting = {hypothesis.key: hypothesis for hypothesis in hypotheses}
        running = self._find_jobs(waiting)
        at_work = {key for job in running for key in job.keys}
        this = Round(waiting, deque(key for key in waiting if key not in at_work), self.journal)
        todo, answers = this.todo, this.answers
        side_by_side, pause = self.settings.workers or available_cores(), _SHORTEST_PAUSE
        while (n_before := len(answers)) < len(hypotheses):
            while todo and len(running) < side_by_side:
                running.append(self._begin(this, side_by_side - len(running)))
            for job in list(running):
                self._collect(job, this)
                if not job.is_alive() or time.time() - job.began > (self.settings.timeout or inf):
                    self._end(job, this)
                    running.remove(job)
            new = list(islice(answers.values(), n_before, None))
            report(new)
            pause = _SHORTEST_PAUSE if new else min(2 * pause, 1.0)
            if len(answers) < len(hypotheses) and not (todo and len(running) < side_by_side):
                time.sleep(pause)
        for job in running:  # all of their candidates have answers, from these or from other jobs
            job.discard()
        return [answers[hypothesis.key] for hypothesis in hypotheses]

    def _find_jobs(self, waiting: Mapping[str, Hypothesis]) -> list[Job]:
        """Return the jobs, running or ended, that earlier starts of the run began for any of these candidates.

        The folders of all other jobs are deleted, except those of jobs that still run on this machine.
        """
        found: list[Job] = []
        for folder in sorted(self.folder.glob("[0-9]*"), key=lambda path: int(path.name)):
            self._n_begun = max(self._n_begun, int(folder.name) + 1)
            job = Job.find(folder)
            job.keys &= waiting.keys()
            if job.keys:
                found.append(job)
            elif not job.is_alive():
                shutil.rmtree(folder, ignore_errors=True)
        if found:
            n_alive = sum(job.is_alive() for job in found)
            jobs = count_of(len(found), "evaluator job")
            _LOG.info("found %s from an earlier start, %d of them still running", jobs, n_alive)
        return found

    def _begin(self, this: Round, n_free: int) -> Job:
        """Start the program on the next candidates.

        A candidate that the current call of `evaluate` has submitted before gets a job of its own.
        """
        todo, n_starts = this.todo, this.n_starts
        size = self.settings.batch or -(-len(todo) // n_free)
        keys = [todo.popleft()]
        while todo and len(keys) < size and not n_starts[keys[0]] and not n_starts[todo[0]]:
            keys.append(todo.popleft())
        n_starts.update(keys)
        folder = self.folder / str(self._n_begun)
        self._n_begun += 1
        return Job.begin(folder, self.settings.command or [], [this.waiting[key] for key in keys])

    def _collect(self, job: Job, this: Round) -> None:
        """Keep the answers that a program has written since the last call.

        Only a candidate's first answer counts; a later one with another score causes a warning.
        """
        for line in job.read():
            key, score = str(line.get("key")), line.get("score")
            if key in this.answers:
                first = this.answers[key][0].score
                if None not in (first, score) and score != first:
                    genotype = one_line(this.waiting[key].genotype)
                    _LOG.warning(
                        "the program scored %s as %s and later as %s; the first counts", genotype, first, score
                    )
            elif key in job.keys:
                try:
                    evaluation = self._read(this.waiting[key], line)
                except InputError:  # after the user fixes the program, it must start over
                    job.discard()
                    raise
                this.keep(key, evaluation, job.seconds)
                self._answered = True
            job.keys.discard(key)

    def _read(self, hypothesis: Hypothesis, line: Mapping[str, Any]) -> Evaluation:
        score, error = line.get("score"), line.get("error")
        if error is not None:
            return fail(Reason.CRASHED, str(error))
        if isinstance(score, bool) or not isinstance(score, int | float) or not isfinite(score):
            return fail(Reason.NON_FINITE, f"the program answered {score!r}")
        return contracts.rate(self.task, hypothesis, float(score))

    def _end(self, job: Job, this: Round) -> None:
        """Keep a program's last answers, and requeue the candidates that it left unanswered or record their failure."""
        is_overdue = job.is_alive()
        job.kill()
        self._collect(job, this)
        lost = [key for key in this.waiting if key in job.keys and key not in this.answers]
        why = f"no answer after {self.settings.timeout:g} s" if is_overdue else job.describe_end()
        job.discard()
        hopeless = [key for key in lost if this.n_starts[key] > self.settings.retries]
        if hopeless and not (self._answered or self.has_answered()):
            raise ServiceError(f"the evaluator has never answered ({why}); fix it and run the same command again")
        for key in hopeless:
            kind = Reason.TIMED_OUT if is_overdue else Reason.CRASHED
            this.keep(key, fail(kind, why), job.seconds)
        again = [key for key in lost if key not in hopeless]
        if again:
            candidates, are = count_of(len(again), "candidate"), "it is" if len(again) == 1 else "they are"
            _LOG.warning("%s got no answer from the program (%s); %s submitted again", candidates, why, are)
        this.todo.extend(again)


def fail(kind: Reason, detail: str) -> Evaluation:
    """Return the evaluation of a candidate that got no score, for this reason."""
    return Evaluation(None, None, valid=False, error=str(Rejection(kind, one_line(detail, 1000))))
