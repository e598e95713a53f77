"""The view of a run for displays: counts, curves, and where its best candidates were found."""

import csv
import io
import time
from array import array
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Any

import numpy as np

from evodiverse.ports import Choosing, Discovery, PoolView, Snapshot, Summarizer, Task
from evodiverse.runner import contracts
from evodiverse.runner.ledger import Ledger
from evodiverse.search.archive import Archive
from evodiverse.search.exchange import SwapTrial, swap_rate
from evodiverse.search.pareto import SCORE, Front, Objective
from evodiverse.search.settings import Method
from evodiverse.search.state import State
from evodiverse.vocabulary import Evaluation, Outcome

N_EXCHANGES = 30
N_BEST = 1000
N_FRONT = 100
# The seconds without a result after which evaluations count as silent.
LONG = 10.0


@dataclass(slots=True)
class Clock:
    """The wall time of a run: that of this process, and that of each earlier process.

    If an earlier process was killed, its time after its last commit is unknown and does not count.

    Attributes:
        began: The value of `time.perf_counter` when this process began the run.
        before: The wall time of earlier processes, in seconds.
        operator: The time spent waiting for proposals in all processes, in seconds.
        oracle: The time spent waiting for evaluations in all processes, in seconds.
        waited: The part of ``operator`` in the last iteration, in seconds; 0 before this process has ended one.
    """

    began: float = field(default_factory=time.perf_counter)
    before: float = 0.0
    operator: float = 0.0
    oracle: float = 0.0
    waited: float = 0.0
    _operator_before: float = 0.0

    def resume(self, seconds: Mapping[str, float]) -> None:
        """Continue from ``seconds``, the value that the property `seconds` had in an earlier process."""
        self.before, self.operator, self.oracle = seconds["wall"], seconds["operator"], seconds["oracle"]
        self._operator_before = self.operator

    def end_iteration(self) -> dict[str, float]:
        """Note that an iteration ends, and return `seconds`."""
        self.waited, self._operator_before = self.operator - self._operator_before, self.operator
        return self.seconds

    @property
    def here(self) -> float:
        """The wall time in this process, in seconds."""
        return time.perf_counter() - self.began

    @property
    def seconds(self) -> dict[str, float]:
        """The wall time of the run (``wall``) and its parts spent on ``operator`` and ``oracle``, in seconds."""
        return {"wall": self.before + self.here, "operator": self.operator, "oracle": self.oracle}


@dataclass
class View:
    """The information about one run that displays and trackers show.

    The run's loop adds each iteration when the iteration has ended. During an iteration, the loop updates only the
    counts of evaluations and of replies of language models.

    Args:
        method: The method of the run.
        budget: The budget of the run, as a number of oracle calls.
        task: The task. If it is a `Summarizer`, the number that summarizes the candidates is shown, too. If it is a
            `Choosing` task, its line about the candidate that it chooses is shown, too.
        archive: The archive of the run.
        clock: The clock of the run.
        ledger: The ledger of the run.
        n_under_way: The largest number of requests to a language model that are under way at the same time.
        objectives: The objectives of a search for several at once.
    """

    method: Method
    budget: int
    task: Task
    archive: Archive
    clock: Clock
    ledger: Ledger
    n_under_way: int = 0
    objectives: Sequence[Objective] = ()

    def __post_init__(self) -> None:
        """Begin with nothing noted."""
        self._front = Front(len(self.objectives))
        self._n_in_front = 0
        self._outcomes: Counter[str] = Counter()
        self._rates: deque[float | None] = deque(maxlen=N_EXCHANGES)
        self._xis: deque[float] = deque(maxlen=N_EXCHANGES)
        self._iterations = array("l")
        self._pools_of = array("l")  # -1 for a candidate that all pools share
        self._spent_before: Mapping[str, float] = {}
        self._n_seen = 0
        self._record = -inf
        self._summary: tuple[int, float] | None = None
        self._best_of_grade: dict[int, int] = {}
        self._n_graded = 0
        self._headline: str | None = None
        self._silent_from: float | None = None
        self._best_start = -inf  # the best score while the initial candidates are evaluated
        self.n_evaluated = 0
        self.n_replies = 0
        self.n_awaited = 0

    def note(self, evaluations: Sequence[Mapping[str, Any]], trials: Sequence[SwapTrial] = ()) -> None:
        """Add whole iterations, which were just committed or which earlier processes logged, in their order.

        Args:
            evaluations: All their rows of the dataset ``evaluations``.
            trials: The swaps of their exchange, if there was one.
        """
        self._outcomes.update(row["outcome"] for row in evaluations)
        charged = [row for row in evaluations if row["call"] is not None]
        for row in sorted(charged, key=itemgetter("call")):
            self._iterations.append(row["iteration"])
            self._pools_of.append(-1 if row["pool"] is None else row["pool"])
        self.n_evaluated = self.archive.n_calls - self.archive.n_free
        if trials:
            self._rates.append(swap_rate(trials))
            self._xis.append(trials[-1].xi)

    def resume(self, swaps: Sequence[Mapping[str, Any]]) -> None:
        """Continue a run that earlier processes began.

        All their rows of ``evaluations`` must have been passed to `note` before.

        Args:
            swaps: All logged rows of the dataset ``swaps``, sorted by iteration.
        """
        self._spent_before = {name: spent for name, (spent, _) in self._spent.items()}
        names = [field.name for field in fields(SwapTrial)]
        for _, rows in groupby(swaps, key=itemgetter("iteration")):
            self.note([], [SwapTrial(**{name: row[name] for name in names}) for row in rows])

    def snapshot(self, state: State | None, stopped_by: str | None = None) -> Snapshot:
        """Return a snapshot of the run; ``state`` is the last one committed, None before the first commit."""
        best = self.archive.best()
        rate = (self.n_evaluated - self._spent_before.get("oracle_calls", 0)) / max(self.clock.here, 1e-9)
        n_attempts = max(self._outcomes.total(), 1)
        name, summary = self._summarize(state)
        silent = 0.0 if self._silent_from is None else self.clock.here - self._silent_from
        return Snapshot(
            iteration=state.iteration if state else 0,
            oracle_calls=self.n_evaluated,
            budget=self.budget,
            best=best.score if best else None if self._best_start == -inf else self._best_start,
            best_genotype=best.genotype if best and "\n" not in best.genotype else None,
            headline=self._headline or self.headline(),
            summary_name=name,
            summary=summary,
            pools=self._pools(state) if state else (),
            swap_rates=tuple(self._rates),
            xis=tuple(self._xis),
            xi=state.thermostat.xi if state and self.method.swap.rule == "metropolis" else None,
            rejected=self._outcomes[Outcome.REJECTED] / n_attempts,
            duplicate=self._outcomes[Outcome.DUPLICATE] / n_attempts,
            calls_per_second=rate,
            seconds_left=self._estimate_left() if state else None,
            seconds=self.clock.seconds,
            llm=self.ledger.total if self.ledger.total.calls or self.n_replies else None,
            waited=self.clock.waited or None,
            awaited=(self.n_replies, self.n_awaited) if self.n_replies < self.n_awaited else None,
            under_way=max(min(self.n_awaited - self.n_replies, self.n_under_way), 0),
            silent=silent if silent >= LONG else None,
            stopped_by=stopped_by,
        )

    def note_finished(self, evaluations: Sequence[Evaluation]) -> None:
        """Note that candidates have been evaluated that are not committed yet."""
        self.n_evaluated += len(evaluations)
        self._best_start = max([self._best_start, *(one.score for one in evaluations if one.score is not None)])
        self.note_evaluating()

    def note_evaluating(self, *, is_evaluating: bool = True) -> None:
        """Note that candidates are in evaluation and that a result has just arrived, or that no candidate is."""
        self._silent_from = self.clock.here if is_evaluating else None

    def _estimate_left(self) -> float | None:
        """Return the time until the first of the budget and the caps is spent at the rate of this process, in seconds.

        The result is None as long as nothing is spent.
        """
        left = []
        for name, (spent, limit) in self._spent.items():
            rate = (spent - self._spent_before.get(name, 0.0)) / max(self.clock.here, 1e-9)
            left += [max(limit - spent, 0.0) / rate] if rate > 0 else []
        return min(left, default=None)

    @property
    def _spent(self) -> dict[str, tuple[float, float]]:
        """What has been spent of the budget and of each cap, and the limit, by name."""
        return {"oracle_calls": (self.n_evaluated, self.budget), **self.ledger.spent(self.clock.seconds["wall"])}

    def best_discoveries(self) -> list[Discovery]:
        """Return the `N_BEST` best candidates and, for a `Choosing` task, the best of each grade.

        With several objectives, the `N_FRONT` least crowded of the front are added. A grade is a value that the task
        gives a candidate, such as the complexity of an equation (`Choosing.grade`). Candidates are ordered by score,
        best first; of several with the same score, the older comes first.
        """
        scores = self.archive.scores
        ranked = np.argsort(-scores, kind="stable")[:N_BEST]  # NaN, the score of failed evaluations, sorts last
        places = {call: place for place, call in enumerate(self._find_front()[:N_FRONT])}
        calls = {*(ranked[~np.isnan(scores[ranked])] + 1).tolist(), *self._graded().values(), *places}
        ordered = sorted(calls, key=lambda call: (-scores[call - 1], call))
        return [replace(self._discovery(call), place=places.get(call)) for call in ordered]

    def list_front(self) -> dict[str, bytes]:
        """Return the table ``front.csv`` of the front, the least crowded candidates first; empty without objectives."""
        if not self.objectives:
            return {}
        columns, text = [one.column for one in self.objectives], io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["call", SCORE, *(column for column in columns if column != SCORE), "genotype"])
        for one in map(self.archive.candidate, self._find_front()):
            own = [one.details[column] for column in columns if column != SCORE]
            writer.writerow([one.call, one.score, *own, one.genotype])
        return {"front.csv": text.getvalue().encode()}

    def _find_front(self) -> list[int]:
        """Return the calls of the valid candidates that no other one dominates, the least crowded first."""
        if self.objectives:
            new = range(self._n_in_front + 1, len(self._iterations) + 1)
            for call, values in zip(new, self.archive.values(new, self.objectives), strict=True):
                if self.archive.evaluation(call).valid:
                    self._front.add(call, values)
            self._n_in_front = len(self._iterations)
        return self._front.spread()

    def new_improvements(self) -> list[Discovery]:
        """Return the candidates evaluated since the last call of this method that were better than all before them."""
        scores, n_seen = self.archive.scores, self._n_seen
        highest = np.fmax.accumulate(np.append(self._record, scores[n_seen:]))  # failed evaluations, NaN, are skipped
        records = np.flatnonzero(scores[n_seen:] > highest[:-1]) + n_seen + 1
        self._n_seen, self._record = scores.size, highest[-1]
        return [self._discovery(call) for call in records.tolist()]

    def headline(self) -> str | None:
        """Return the line that a `Choosing` task writes about the candidate that it chooses.

        The result is None for other tasks, and before any candidate has a score. It may take seconds, so snapshots have
        the last result.
        """
        if not isinstance(self.task, Choosing):
            return None
        chosen_from = [self._discovery(call) for call in self._graded().values()]
        self._headline = contracts.headline(self.task, chosen_from) if chosen_from else None
        return self._headline

    def _graded(self) -> Mapping[int, int]:
        """Return the call number of the best candidate of each grade, by grade; empty for a task without grades."""
        if isinstance(self.task, Choosing):
            scores, n_known = self.archive.scores, len(self._iterations)
            for call in range(self._n_graded + 1, n_known + 1):
                if not np.isnan(scores[call - 1]):
                    grade = contracts.grade(self.task, self.archive.hypothesis(call))
                    known = self._best_of_grade.setdefault(grade, call)
                    if scores[call - 1] > scores[known - 1]:
                        self._best_of_grade[grade] = call
            self._n_graded = n_known
        return self._best_of_grade

    def _discovery(self, call: int) -> Discovery:
        pool = self._pools_of[call - 1]
        return Discovery(self.archive.candidate(call), self._iterations[call - 1], None if pool < 0 else pool)

    def _pools(self, state: State) -> tuple[PoolView, ...]:
        views = []
        for beta, calls in zip(self.method.ladder, state.pools, strict=True):
            scores = self.archive.scores[calls - 1]
            best, median = (float(scores.max()), float(np.median(scores))) if calls.size else (None, None)
            views.append(PoolView(beta, best, median, calls.size))
        return tuple(views)

    def _summarize(self, state: State | None) -> tuple[str | None, float | None]:
        """Return the name and the value of the task's summary over the members of all pools, cached by iteration.

        Both are None for a task without a summary. The value is None before the first commit.
        """
        if not isinstance(self.task, Summarizer):
            return None, None
        if state is None:
            return self.task.summary_name, None
        if self._summary is None or self._summary[0] != state.iteration:
            members = np.unique(np.concatenate(state.pools)).tolist()
            number = contracts.summarize(self.task, [self.archive.candidate(call) for call in members])
            self._summary = (state.iteration, number)
        return self.task.summary_name, self._summary[1]
