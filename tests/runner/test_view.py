"""The view of a run whose task chooses a candidate by more than the score."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.ports import Discovery
from evodiverse.runner.ledger import Budget, Ledger
from evodiverse.runner.view import N_BEST, Clock, View
from evodiverse.search.adaptation import Thermostat
from evodiverse.search.archive import Archive
from evodiverse.search.pareto import Objective
from evodiverse.search.state import Progress, State
from evodiverse.vocabulary import Evaluation, Hypothesis, Outcome, Usage
from tests.search.builders import make_method
from tests.toys.bits.task import BitTask


class ByOnes(BitTask):
    """Chooses the string with the fewest ones; their number is its grade."""

    n_choices = 0

    def grade(self, hypothesis: Hypothesis) -> int:
        return hypothesis.key.count("1")

    def headline(self, discoveries: Sequence[Discovery]) -> str:
        self.n_choices += 1
        return " ".join(sorted((one.candidate.key for one in discoveries), key=lambda key: key.count("1")))


def view_of(task: BitTask, scores: Sequence[tuple[str, float | None]], *, front: bool = False) -> View:
    """Return the view of a run that has evaluated these genotypes in one iteration, with these scores.

    A candidate with a score of 0 or None failed. With a ``front``, the score and few ones are two objectives.
    """
    archive = Archive(0)
    attempts = []
    for slot, (key, score) in enumerate(scores):
        call = archive.reserve(key)
        details = {"n_ones": key.count("1")}
        archive.record(Hypothesis(key, key), Evaluation(score, score, valid=bool(score), details=details))
        attempts.append({"iteration": 1, "pool": 0, "slot": slot, "outcome": Outcome.EVALUATED, "call": call})
    objectives = [Objective("score"), Objective("n_ones", 4.0)] if front else []
    view = View(make_method(), 100_000, task, archive, Clock(), Ledger(Budget(), 1), objectives=objectives)
    view.note(attempts)
    return view


def test_a_task_chooses_among_the_best_of_each_grade() -> None:
    task = ByOnes(4, 1)
    view = view_of(task, [("1000", 0.1), ("0110", 0.9), ("0100", 0.3), ("1111", None), ("0010", 0.3)])
    assert view.headline() == "0100 0110"
    view.note([{"iteration": 2, "pool": 0, "slot": 0, "outcome": Outcome.EVALUATED, "call": 1}])
    assert view.snapshot(None).headline == "0100 0110"
    assert task.n_choices == 1  # a choice may take seconds, and snapshots are taken often


def test_a_task_that_chooses_nothing_has_no_headline() -> None:
    assert view_of(BitTask(4, 1), [("1000", 0.1)]).snapshot(None).headline is None
    assert view_of(ByOnes(4, 1), [("1000", None)]).snapshot(None).headline is None


def test_the_best_of_a_grade_is_shown_even_if_many_others_are_better() -> None:
    fours = islice(combinations(range(20), 4), 2 * N_BEST)
    better = [("".join("01"[at in ones] for at in range(20)), 1.0 + number) for number, ones in enumerate(fours)]
    shown = view_of(ByOnes(20, 1), [(f"{1:020b}", 0.5), *better]).best_discoveries()
    assert len(shown) == N_BEST + 1
    assert shown[-1].candidate.call == 1


@given(st.lists(st.floats(0, 1) | st.none(), min_size=1, max_size=60))
def test_the_best_discoveries_are_sorted(scores: list[float | None]) -> None:
    view = view_of(ByOnes(6, 1), [(f"{number:06b}", score) for number, score in enumerate(scores)])
    found = [(-(one.candidate.score or 0.0), one.candidate.call) for one in view.best_discoveries()]
    assert found == sorted(found)
    assert len(found) == sum(score is not None for score in scores)


def test_the_best_discoveries_have_their_places_on_the_front_which_grows_with_the_run() -> None:
    view = view_of(BitTask(4, 1), [("1110", 0.5), ("1000", 0.1), ("0111", 0.4), ("0000", 0.0)], front=True)
    assert {one.candidate.call: one.place for one in view.best_discoveries()} == {1: 0, 2: 1, 3: None, 4: None}
    assert view.list_front() == {"front.csv": b"call,score,n_ones,genotype\n1,0.5,3,1110\n2,0.1,1,1000\n"}


def test_without_objectives_there_is_no_front() -> None:
    view = view_of(BitTask(4, 1), [("1110", 0.5)])
    assert view.best_discoveries()[0].place is None
    assert view.list_front() == {}


@pytest.mark.parametrize(
    ("caps", "expected"),
    [
        (Budget(), 990.0),
        (Budget(llm_calls=60), 5.0),
        (Budget(tokens=100_000, usd=1.0), 10.0),
        (Budget(seconds=30.0), 20.0),
        (Budget(llm_calls=10), 0.0),
    ],
)
def test_the_time_left_ends_with_the_nearest_cap(caps: Budget, expected: float) -> None:
    ledger, task = Ledger(caps, 1), BitTask(4, 1)
    usage = asdict(Usage(40, 1000, 1000, 0.5))
    ledger.resume({"pools": [usage], "counted_tokens": 2000, "counted_usd": 0.5})
    view = View(make_method(), 1000, task, Archive(0), Clock(time.perf_counter() - 10.0), ledger)
    view.n_evaluated = 10
    state = State(1, tuple(np.empty(0, np.int64) for _ in make_method().ladder), Thermostat(1.0), Progress())
    assert view.snapshot(state).seconds_left == pytest.approx(expected, rel=0.2)


def test_the_time_waited_is_that_of_the_last_iteration_in_a_resumed_run_too() -> None:
    clock = Clock()
    clock.resume({"wall": 9.0, "operator": 5.0, "oracle": 1.0})
    clock.operator += 2.0
    assert clock.end_iteration()["operator"] == 7.0
    assert clock.waited == 2.0
    clock.operator += 3.0
    clock.end_iteration()
    assert clock.waited == 3.0


@pytest.mark.parametrize(("asked", "replied", "under_way"), [(140, 35, 64), (140, 100, 40), (0, 0, 0)])
def test_requests_under_way_are_those_without_a_reply_up_to_the_limit(asked: int, replied: int, under_way: int) -> None:
    view = View(make_method(), 1000, BitTask(4, 1), Archive(0), Clock(), Ledger(Budget(), 1), 64)
    view.n_awaited, view.n_replies = asked, replied
    assert view.snapshot(None).under_way == under_way


def test_the_best_score_is_shown_before_all_initial_candidates_are_evaluated() -> None:
    view = View(make_method(), 1000, BitTask(4, 1), Archive(0), Clock(), Ledger(Budget(), 1))
    assert view.snapshot(None).best is None
    view.note_finished([Evaluation(0.5, 0.5), Evaluation(None, None, valid=False)])
    view.note_finished([Evaluation(0.25, 0.75)])
    assert (view.snapshot(None).best, view.snapshot(None).oracle_calls) == (0.5, 3)
