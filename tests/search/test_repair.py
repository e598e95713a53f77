"""Which failed candidates a model is shown once more, and in which requests."""

from collections.abc import Sequence

import pytest

from evodiverse.search.archive import Archive
from evodiverse.search.repair import choose_repairs, is_repairable, place_repairs
from evodiverse.search.streams import Streams
from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis, Prompt, Reason, Request
from tests.search.builders import make_method

CRASHED = Evaluation(0.0, 0.0, valid=False, error="crashed: ZeroDivisionError: division by zero")
GOOD = Evaluation(0.5, -0.5)


def archive_of(*evaluations: Evaluation) -> Archive:
    archive = Archive()
    for call, evaluation in enumerate(evaluations, start=1):
        archive.reserve(f"k{call}")
        archive.record(Hypothesis(f"g{call}", f"k{call}"), evaluation)
    return archive


@pytest.mark.parametrize(
    "reason",
    [
        *(Reason.CRASHED, Reason.TIMED_OUT, Reason.OUT_OF_MEMORY),
        *(Reason.WRONG_RESULT, Reason.NON_FINITE, Reason.INVALID),
    ],
)
def test_a_failure_that_says_what_is_wrong_is_repairable(reason: Reason) -> None:
    assert is_repairable(Evaluation(0.0, 0.0, valid=False, error=f"{reason}: so and so"))
    assert is_repairable(Evaluation(0.0, 0.0, valid=False, error=str(reason)))


@pytest.mark.parametrize(
    "evaluation",
    [
        GOOD,
        Evaluation(0.0, 0.0, valid=False),
        Evaluation(0.0, 0.0, valid=False, error="below_threshold: it scored 0.1"),
        Evaluation(None, None, valid=False, error="crashed"),
        Evaluation(0.0, 0.0, valid=True, error="crashed"),
    ],
)
def test_no_other_evaluation_is(evaluation: Evaluation) -> None:
    assert not is_repairable(evaluation)


def test_the_first_failures_of_each_pool_fill_at_most_half_of_its_slots() -> None:
    archive, method = archive_of(GOOD, *[CRASHED] * 7), make_method(offspring=3)
    tried = [(pool, call, [1]) for call, pool in enumerate([1, 0, 1, 1, 0, 0, 1], start=2)]
    assert choose_repairs(tried, archive, method) == [[3, 6], [2, 4]]
    assert choose_repairs(tried, archive, make_method(offspring=4)) == [[3, 6], [2, 4]]
    assert choose_repairs(tried, archive, make_method(offspring=1)) == [[3], [2]]


def test_neither_an_initial_candidate_nor_the_child_of_one_that_failed_is_repaired() -> None:
    archive = archive_of(GOOD, CRASHED, CRASHED, CRASHED, GOOD)
    tried: list[tuple[int | None, int, Sequence[int]]] = [
        (None, 1, []),
        (0, 2, []),
        (0, 3, [2, 1]),
        (0, 4, [1, 2]),
        (0, 5, [1]),
    ]
    assert choose_repairs(tried, archive, make_method()) == [[4], []]


def requests(archive: Archive, *slots: tuple[int, int, tuple[int, ...]]) -> list[Request]:
    return [
        Request(7, pool, slot, 1, tuple(map(archive.candidate, calls)), Prompt.COLD, Streams(0).at(1, 7), None, calls)
        for pool, slot, calls in slots
    ]


def calls_of(parents: Sequence[Candidate]) -> list[int]:
    return [parent.call for parent in parents]


def test_a_failure_takes_the_place_of_the_parent_to_edit_in_the_first_requests_of_its_pool() -> None:
    archive = archive_of(*[GOOD] * 3, CRASHED, CRASHED)
    asked = requests(archive, (0, 0, (1, 2, 3)), (1, 0, (2, 3)), (0, 1, (3,)), (1, 1, (1, 4)))
    placed = place_repairs(asked, [[], [4, 5]], archive, make_method(parents=3), lambda _: True)
    assert [calls_of(request.parents) for request in placed] == [[1, 2, 3], [4, 2, 3], [3], [5, 1, 4]]
    assert [request.ancestors for request in placed] == [(1, 2, 3), (4, 2, 3), (3,), (5, 1, 4)]


def test_there_are_no_more_parents_than_the_method_has_and_none_twice() -> None:
    archive = archive_of(*[GOOD] * 3, CRASHED)
    asked = requests(archive, (0, 0, (1, 2)), (1, 0, (4, 2)))
    placed = place_repairs(asked, [[4], [4]], archive, make_method(parents=2), lambda _: True)
    assert [calls_of(request.parents) for request in placed] == [[4, 1], [4, 2]]


def test_a_failure_waits_for_the_first_request_that_a_model_gets() -> None:
    archive = archive_of(*[GOOD] * 3, CRASHED)
    asked = requests(archive, (0, 0, (1,)), (0, 1, (2,)), (0, 2, (3,)))
    placed = place_repairs(asked, [[4], []], archive, make_method(), lambda request: request.slot > 0)
    assert [calls_of(request.parents) for request in placed] == [[1], [4, 2], [3]]
    assert place_repairs(asked, [[4], []], archive, make_method(), lambda _: False) == asked
