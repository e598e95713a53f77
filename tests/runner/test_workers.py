import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from evodiverse.errors import ContractError, Interrupted, ServiceError
from evodiverse.kit.environment import THREADS
from evodiverse.runner import workers as workers_module
from evodiverse.runner.rows import read_record
from evodiverse.runner.workers import Bench, Workers
from evodiverse.search.streams import Purpose, Streams
from evodiverse.store.files import Journal
from evodiverse.vocabulary import (
    Candidate,
    Evaluation,
    Hypothesis,
    Prompt,
    Proposal,
    Reason,
    Rejection,
    Request,
)
from tests.starts import ROOT
from tests.toys.bits.operators import BitCrossover
from tests.toys.bits.task import BitTask

KEYS = [f"{number:06b}" for number in range(1, 40)]
HYPOTHESES = [Hypothesis(key, key) for key in KEYS]


def requests(count: int) -> list[Request]:
    parents = (Candidate(1, "000111", "000111", 0.5, -0.5), Candidate(2, "101010", "101010", 0.4, -0.4))
    return [
        Request(1, 0, slot, 1, parents, Prompt.COLD, Streams(7).at(Purpose.OPERATOR, 1, slot=slot))
        for slot in range(count)
    ]


class Kept:
    """A journal in memory."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, object]] = []

    def append(self, records: Sequence[Mapping[str, object]]) -> None:
        self.records += records

    def read(self) -> list[Any]:
        return self.records


def workers_of(task: BitTask, operator: BitCrossover, n: int, batch: int | None = None) -> Workers:
    return Workers(Bench(task, operator, Kept()), n, batch)


class ShortTask(BitTask):
    """A task that leaves out its last answer."""

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        return super().evaluate(hypotheses)[:-1]


class ShortOperator(BitCrossover):
    """An operator that leaves out its last answer."""

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        return super().propose(requests)[:-1]


class ThreadsTask(BitTask):
    """A task whose parsing reports how many threads numerical libraries will use."""

    def parse(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        return [Hypothesis(os.environ.get("OMP_NUM_THREADS", "as many as cores"), "") for _ in genotypes]


def print_threads() -> None:
    with workers_of(ThreadsTask(6, 1), BitCrossover(), 2) as workers:
        ((_, read),) = workers.propose(requests(1))
    sys.stdout.write(str(read))


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "expected"), [({}, "1"), ({"OMP_NUM_THREADS": "3"}, "3")])
def test_a_worker_process_has_one_numerical_thread_unless_the_user_chose(
    chosen: Mapping[str, str], expected: str
) -> None:
    code = f"from {__name__} import print_threads; print_threads()"  # the environment is that of the first worker
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, **chosen}, cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout == str(Hypothesis(expected, ""))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_evaluations_come_in_the_order_of_the_hypotheses(n: int) -> None:
    task = BitTask(6, 1)
    with workers_of(task, BitCrossover(), n) as workers:
        answers = [evaluation for evaluation, _ in workers.evaluate(HYPOTHESES)]
    assert answers == task.evaluate(HYPOTHESES)


@pytest.mark.parametrize("n", [1, 3])
def test_proposals_come_in_the_order_of_the_requests(n: int) -> None:
    with workers_of(BitTask(6, 1), BitCrossover(), n) as workers:
        answers = [proposal for proposal, _ in workers.propose(requests(50))]
    assert answers == BitCrossover().propose(requests(50))


@pytest.mark.parametrize("n", [1, 2])
def test_an_empty_batch_gives_no_answers(n: int) -> None:
    with workers_of(BitTask(6, 1), BitCrossover(), n) as workers:
        assert workers.propose([]) == workers.evaluate([]) == []


def test_a_proposal_without_a_genotype_is_a_rejection_with_its_reason() -> None:
    with workers_of(BitTask(6, 1), BitCrossover(), 1) as workers:
        answers = workers.propose(requests(200))
    refused = [read for proposal, read in answers if proposal.genotype is None]
    assert refused
    assert set(refused) == {Rejection(Reason.NO_OFFSPRING, "no idea")}


def test_seconds_of_a_batch_are_shared_evenly() -> None:
    with workers_of(BitTask(6, 1), BitCrossover(), 1, batch=len(KEYS)) as workers:
        seconds = {seconds for _, seconds in workers.evaluate(HYPOTHESES)}
    assert len(seconds) == 1
    assert min(seconds) > 0


@pytest.mark.parametrize("n", [1, 2])
def test_a_task_that_does_not_answer_each_hypothesis_breaks_its_contract(n: int) -> None:
    with (
        workers_of(ShortTask(6, 1), BitCrossover(), n) as workers,
        pytest.raises(
            ContractError,
            match=r"ShortTask\.evaluate returned 0 answers for 1 hypothesis",
        ),
    ):
        workers.evaluate(HYPOTHESES)


def test_an_operator_that_does_not_answer_each_request_breaks_its_contract() -> None:
    with (
        workers_of(BitTask(6, 1), ShortOperator(), 1) as workers,
        pytest.raises(
            ContractError,
            match=r"ShortOperator\.propose returned 2 answers for 3 requests",
        ),
    ):
        workers.propose(requests(3))


class UnsendableTask(BitTask):
    """A task that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__(6, 1)
        self.worth = lambda bit: bit + 1


def test_a_task_that_cannot_be_sent_to_a_worker_is_refused_with_a_remedy() -> None:
    expected = r"UnsendableTask cannot be sent to worker processes \(.*lambda.*\); .* or use evaluator\.workers=1$"
    with pytest.raises(ContractError, match=expected), workers_of(UnsendableTask(), BitCrossover(), 2):
        pass
    with workers_of(UnsendableTask(), BitCrossover(), 1) as workers:
        assert workers.evaluate(HYPOTHESES)


def test_a_dead_worker_raises_a_service_error() -> None:
    with (
        workers_of(BitTask(6, 1, spoiled="worker"), BitCrossover(), 2) as workers,
        pytest.raises(ServiceError, match="a worker process died"),
    ):
        workers.evaluate(HYPOTHESES)


class MortalTask(BitTask):
    """A task that kills its process the first time that it evaluates a string, and marks that in a folder."""

    def __init__(self, marks: Path) -> None:
        super().__init__(6, 1)
        self.marks = marks

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        for hypothesis in hypotheses:
            mark = self.marks / hypothesis.key
            if hypothesis.key.endswith("1") and not mark.exists():
                mark.touch()
                os._exit(3)
        return super().evaluate(hypotheses)


def test_the_work_of_a_dead_worker_is_repeated(tmp_path: Path) -> None:
    few = [HYPOTHESES[0], next(one for one in HYPOTHESES if one.key.endswith("1"))]
    with workers_of(BitTask(6, 1), BitCrossover(), 1) as workers:
        expected = [evaluation for evaluation, _ in workers.evaluate(few)]
    with workers_of(MortalTask(tmp_path), BitCrossover(), 2) as workers:
        assert [evaluation for evaluation, _ in workers.evaluate(few)] == expected
        assert len(list(tmp_path.iterdir())) == 1


class SlowTask(BitTask):
    """A task that takes ``seconds`` for each evaluation, and remembers the sizes of its batches."""

    def __init__(self, seconds: float, poison: str = "") -> None:
        super().__init__(6, 1)
        self.seconds = seconds
        self.poison = poison
        self.batches: list[int] = []

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        self.batches.append(len(hypotheses))
        time.sleep(self.seconds * len(hypotheses))
        if self.poison in [hypothesis.key for hypothesis in hypotheses]:
            raise ServiceError("poisoned")
        return super().evaluate(hypotheses)


def test_slow_evaluations_run_one_at_a_time() -> None:
    task = SlowTask(0.02)
    with workers_of(task, BitCrossover(), 1) as workers:
        workers.evaluate(HYPOTHESES[:8])
    assert task.batches == [1] * 8


def test_quick_evaluations_run_in_growing_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)  # a busy machine would make one of them slow
    task = SlowTask(0.0)
    with workers_of(task, BitCrossover(), 1) as workers:
        workers.evaluate(HYPOTHESES)
        workers.evaluate(HYPOTHESES)
    assert task.batches == [1, 2, 4, 8, 16, 8, 39]


def test_a_chosen_batch_size_does_not_change() -> None:
    task = SlowTask(0.01)
    with workers_of(task, BitCrossover(), 1, batch=16) as workers:
        workers.evaluate(HYPOTHESES)
    assert task.batches == [16, 16, 7]


@pytest.mark.parametrize("n", [1, 2])
def test_every_batch_is_reported_when_it_is_finished(n: int) -> None:
    finished: list[int] = []
    with workers_of(BitTask(6, 1), BitCrossover(), n) as workers:
        workers.evaluate(HYPOTHESES, lambda batch: finished.append(len(batch)))
    assert sum(finished) == len(HYPOTHESES)
    assert len(finished) > 1


class WaitingTask(BitTask):
    """A task whose evaluations, in threads, end when somebody allows it."""

    def __init__(self) -> None:
        super().__init__(6, 1)
        self.allowed = Event()

    def prepare(self) -> None:
        """Do nothing."""

    def abandon(self) -> None:
        """Do nothing."""

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        self.allowed.wait()
        return super().evaluate(hypotheses)


def test_evaluations_that_take_long_are_reported_as_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "REPORT_SECONDS", 0.01)
    task = WaitingTask()
    with workers_of(task, BitCrossover(), 1) as workers:
        workers.evaluate(HYPOTHESES[:1], lambda n_finished: None if n_finished else task.allowed.set())


def test_each_evaluation_is_journalled_with_its_seconds() -> None:
    journal = Kept()
    task = BitTask(6, 1)
    with Workers(Bench(task, BitCrossover(), journal), 1) as workers:
        answers = workers.evaluate(HYPOTHESES)
    kept = {record["key"]: read_record(record) for record in journal.records}
    assert [kept[key] for key in KEYS] == answers


class TogetherTask(BitTask):
    """A task that is cheaper in batches of three, and remembers the sizes of its batches."""

    batch_size = 3

    def __init__(self) -> None:
        super().__init__(6, 1)
        self.sizes: list[int] = []

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        self.sizes.append(len(hypotheses))
        return super().evaluate(hypotheses)


@pytest.mark.parametrize(("batch", "sizes"), [(None, [3, 3, 2]), (5, [5, 3])])
def test_a_task_may_choose_the_size_of_its_batches(batch: int | None, sizes: list[int]) -> None:
    task = TogetherTask()
    with workers_of(task, BitCrossover(), 1, batch) as workers:
        workers.evaluate(HYPOTHESES[:8])
    assert task.sizes == sizes


@pytest.mark.parametrize("n", [1, 2])
def test_after_a_stop_no_batch_starts_and_the_results_of_those_in_progress_are_kept(tmp_path: Path, n: int) -> None:
    journal = Journal(tmp_path / "journal")

    def stop(n_finished: int) -> None:
        raise Interrupted(signal.SIGINT)

    with Workers(Bench(SlowTask(0.05), BitCrossover(), journal), n) as workers, pytest.raises(Interrupted):
        workers.evaluate(HYPOTHESES, stop)
    assert len(journal.read()) == n


def test_an_error_also_kills_a_process_that_started_later_than_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = ProcessPoolExecutor.submit

    def submit_and_wait(pool: ProcessPoolExecutor, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future = submit(pool, work, *arguments)
        if work is os.getpid:  # with which the processes are started: the next one finds the first process idle
            future.result()
        return future

    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit_and_wait)
    others = multiprocessing.active_children()
    with suppress(Interrupted), workers_of(SlowTask(0.05), BitCrossover(), 2) as workers:
        workers.evaluate(HYPOTHESES[:4])
        processes = [process for process in multiprocessing.active_children() if process not in others]
        raise Interrupted(signal.SIGINT)
    assert [process.exitcode for process in processes] == [-signal.SIGKILL] * 2


@pytest.mark.parametrize("n", [1, 2])
def test_evaluations_finished_before_an_oracle_failed_are_kept(tmp_path: Path, n: int) -> None:
    journal = Journal(tmp_path / "journal")
    task = SlowTask(0.03, poison=KEYS[5])
    with Workers(Bench(task, BitCrossover(), journal), n) as workers, pytest.raises(ServiceError, match="poisoned"):
        workers.evaluate(HYPOTHESES)
    kept = {record["key"] for record in journal.read()}
    assert set(KEYS[:5]) <= kept <= set(KEYS[:9]) - {KEYS[5]}
