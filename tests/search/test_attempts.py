"""How attempts end, what is charged, and which candidate joins which pool."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.archive import Archive
from evodiverse.search.attempts import Attempts, reject_similar
from evodiverse.search.mating import Slot, deal_slots, make_requests
from evodiverse.search.sampling import IntArray
from evodiverse.search.screening import Answer, InnerSearch, View
from evodiverse.search.settings import Screen
from evodiverse.search.state import Attempt, Screened
from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import Evaluation, Hypothesis, Outcome, Prompt, Proposal, Reason, Rejection, Request
from tests.search.builders import make_archive, make_method, make_pools

EVALUATED, REUSED, DUPLICATE, REJECTED = Outcome.EVALUATED, Outcome.REUSED, Outcome.DUPLICATE, Outcome.REJECTED


def answer(key: str | None) -> Answer:
    """Return a proposal of a key, parsed. None is unparsable; a key that starts with x fails its evaluation."""
    if key is None:
        return Proposal("((", "toy", llm_call=3), Rejection(Reason.UNPARSABLE, "two brackets")
    return Proposal(f" {key.upper()} ", "toy", llm_call=4), Hypothesis(key.upper(), key)


def evaluate(hypothesis: Hypothesis) -> Evaluation:
    if hypothesis.key.startswith("x"):
        return Evaluation(None, None, valid=False, error="crashed: no number")
    return Evaluation(0.5, -0.5)


@dataclass
class World:
    """An iteration of two pools: pool 0 holds calls 1 and 2 (keys k1, k2), pool 1 holds calls 2 and 3."""

    slots: int = 2
    archive: Archive = field(default_factory=lambda: make_archive([0.1, 0.2, 0.3, 0.4]))
    evaluated: list[str] = field(default_factory=list)
    round: int = 0

    def __post_init__(self) -> None:
        self.pools = make_pools([1, 2], [2, 3])
        self.attempts = Attempts(deal_slots(self.pools, self.slots, 99), self.pools, self.archive)

    def requests(self) -> list[Request]:
        self.round += 1
        return make_requests(
            7, self.round, self.attempts.open_slots, self.pools, self.pools, self.archive, make_method(), Streams(0)
        )

    def play(self, *keys: str | None) -> list[Attempt]:
        """Play a round in which the open slots get these keys in turn, and return its records."""
        pending = self.attempts.settle(self.requests(), [answer(key) for key in keys])
        self.evaluated += [hypothesis.key for hypothesis in pending]
        self.attempts.close([evaluate(hypothesis) for hypothesis in pending])
        return self.attempts.records[-len(keys) :]

    def offspring(self) -> list[list[int]]:
        return [self.attempts.offspring(pool).tolist() for pool in (0, 1)]


def outcomes(records: list[Attempt]) -> list[tuple[Outcome, int | None, int | None]]:
    return [(record.outcome, record.call, record.reused_call) for record in records]


def test_new_keys_are_charged_in_the_order_of_slot_and_pool() -> None:
    world = World()
    records = world.play("a", "b", "c", "d")
    assert [(r.slot, r.pool, r.call) for r in records] == [(0, 0, 5), (0, 1, 6), (1, 0, 7), (1, 1, 8)]
    assert world.offspring() == [[5, 7], [6, 8]]


def test_exactly_the_charged_keys_are_evaluated() -> None:
    world = World()
    world.play("a", None, "k1", "a")
    assert world.evaluated == ["a"]
    assert world.archive.n_calls == 5


def test_a_rejection_uses_up_the_attempt_and_charges_nothing() -> None:
    world = World(slots=1)
    rejected, _ = world.play(None, "a")
    assert outcomes([rejected]) == [(REJECTED, None, None)]
    assert (rejected.key, rejected.evaluation, rejected.error) == (None, None, "unparsable: two brackets")
    assert rejected.genotype == "(("
    assert world.attempts.open_slots == [Slot(0, 0)]


def test_a_key_of_this_pool_is_a_duplicate() -> None:
    world = World(slots=1)
    assert outcomes(world.play("k2", "k3")) == [(DUPLICATE, None, None)] * 2
    assert world.attempts.open_slots == [Slot(0, 0), Slot(0, 1)]


def test_a_known_key_that_is_not_in_this_pool_is_reused_without_a_charge() -> None:
    world = World(slots=1)
    assert outcomes(world.play("k3", "k4")) == [(REUSED, None, 3), (REUSED, None, 4)]
    assert world.archive.n_calls == 4
    assert world.offspring() == [[3], [4]]


def test_a_reused_candidate_has_its_stored_evaluation() -> None:
    world = World(slots=1)
    reused, _ = world.play("k3", None)
    assert reused.evaluation == world.archive.evaluation(3)


def test_a_new_key_of_two_pools_in_one_round_is_charged_to_the_first_and_reused_by_the_second() -> None:
    world = World(slots=1)
    assert outcomes(world.play("a", "a")) == [(EVALUATED, 5, None), (REUSED, None, 5)]
    assert world.evaluated == ["a"]
    assert world.offspring() == [[5], [5]]


def test_a_key_twice_in_a_pool_and_round_is_a_duplicate_for_the_later_slot() -> None:
    world = World()
    records = world.play("a", "b", "a", "c")
    assert outcomes(records)[2] == (DUPLICATE, None, None)
    assert world.attempts.open_slots == [Slot(1, 0)]


def test_a_reused_key_twice_in_a_pool_and_round_is_a_duplicate_for_the_later_slot() -> None:
    records = World().play("k4", "b", "k4", "c")
    assert outcomes(records)[::2] == [(REUSED, None, 4), (DUPLICATE, None, None)]


def test_a_key_from_round_one_is_a_duplicate_in_round_two_even_for_an_earlier_slot() -> None:
    world = World()
    world.play(None, "b", "a", "c")
    assert world.attempts.open_slots == [Slot(0, 0)]
    assert outcomes(world.play("a")) == [(DUPLICATE, None, None)]
    assert world.offspring()[0] == [5 + 1]


def test_a_key_of_another_pool_from_round_one_is_reused_in_round_two() -> None:
    world = World(slots=1)
    world.play(None, "a")
    assert outcomes(world.play("a")) == [(REUSED, None, 5)]


def test_a_failed_evaluation_is_charged_and_logged_but_joins_no_pool() -> None:
    world = World(slots=1)
    failed, _ = world.play("x1", "a")
    assert outcomes([failed]) == [(EVALUATED, 5, None)]
    assert failed.error == "crashed: no number"
    assert failed.evaluation is not None
    assert not failed.evaluation.valid
    assert world.offspring() == [[], [6]]


def test_a_failed_evaluation_fills_its_slot() -> None:
    world = World(slots=1)
    world.play("x1", None)
    assert world.attempts.open_slots == [Slot(0, 1)]


def test_a_key_that_failed_is_never_evaluated_again() -> None:
    world = World(slots=1)
    assert outcomes(world.play("x1", "x1")) == [(EVALUATED, 5, None), (REUSED, None, 5)]
    assert world.evaluated == ["x1"]
    assert world.offspring() == [[], []]


def test_call_numbers_continue_in_the_next_round() -> None:
    world = World()
    world.play(None, "a", None, "b")
    assert [(r.slot, r.attempt, r.call) for r in world.play("c", "d")] == [(0, 2, 7), (1, 2, 8)]


def test_a_record_holds_the_request_and_the_answer() -> None:
    world = World(slots=1)
    request = make_requests(
        7, 1, world.attempts.open_slots, world.pools, world.pools, world.archive, make_method(), Streams(0)
    )[1]
    _, record = world.play("a", "b")
    assert record == Attempt(
        iteration=7,
        pool=1,
        slot=0,
        attempt=1,
        outcome=EVALUATED,
        operator="toy",
        parents=tuple(parent.call for parent in request.parents),
        genotype="B",
        key="b",
        call=6,
        evaluation=Evaluation(0.5, -0.5),
        llm_call=4,
    )


def test_a_missing_answer_is_refused() -> None:
    world = World()
    with pytest.raises(ValueError, match=r"zip\(\) argument 2 is shorter"):
        world.attempts.settle(world.requests(), [answer("a")])


def test_a_missing_evaluation_is_refused() -> None:
    world = World(slots=1)
    world.attempts.settle(world.requests(), [answer("a"), answer("b")])
    with pytest.raises(ValueError, match=r"zip\(\) argument 2 is shorter"):
        world.attempts.close([Evaluation(0.5, -0.5)])


scripts = st.lists(st.sampled_from([None, "a", "b", "c", "d", "x1", "x2", "k1", "k2", "k3", "k4"]), min_size=24)


@given(st.integers(1, 4), scripts)
def test_calls_are_counted_correctly_over_all_rounds(slots: int, script: list[str | None]) -> None:
    world = World(slots=slots)
    keys = iter(script)
    for _ in range(3):
        world.play(*[next(keys) for _ in list(world.attempts.open_slots)])
    records = world.attempts.records
    charged = [record.call for record in records if record.outcome is EVALUATED]
    assert charged == list(range(5, 5 + len(world.evaluated)))
    assert world.archive.n_calls == 4 + len(charged)
    assert world.evaluated == [record.key for record in records if record.outcome is EVALUATED]
    assert len(set(world.evaluated)) == len(world.evaluated)


@given(st.integers(1, 4), scripts)
def test_each_slot_fills_once_and_no_pool_gets_a_candidate_twice(slots: int, script: list[str | None]) -> None:
    world = World(slots=slots)
    keys = iter(script)
    for _ in range(3):
        world.play(*[next(keys) for _ in list(world.attempts.open_slots)])
    joined = [record for record in world.attempts.records if record.outcome in (EVALUATED, REUSED)]
    filled = [Slot(record.slot, record.pool) for record in joined if record.pool is not None]
    assert sorted([*filled, *world.attempts.open_slots]) == [
        Slot(slot, pool) for slot in range(slots) for pool in (0, 1)
    ]
    for pool in (0, 1):
        calls = [record.call or record.reused_call for record in joined if record.pool == pool]
        assert len(set(calls)) == len(calls)
        assert np.intersect1d(world.attempts.offspring(pool), world.pools[pool]).size == 0
        assert set(world.offspring()[pool]) <= set(calls)


# Screened iterations


def screened(world: World, *keys: str | None, means: Mapping[str, float] = MappingProxyType({})) -> list[Attempt]:
    """Play an inner search of one generation, half of it in each pool; forecasts are those in ``means``, else 0."""
    screen = Screen(len(keys), 1, ((1.0, 1.0),) * 2, 0.5, 9, [[0, 4]], shortlist=0, share=9, apart=0)
    view = View(
        np.arange(1, 5),
        np.arange(4),
        lambda calls: np.ones(calls.size),
        [Hypothesis("Z", "z")],
        np.array([[means.get("z", -9.0)], [0.25], [1.0]]),
        lambda asked: np.array([(means.get(one.key, 0.0), 0.25, 1.0) for one in asked]).T,
    )
    search = InnerSearch(
        7,
        world.pools,
        world.archive,
        [view] * len(world.pools),
        make_method(),
        screen,
        Streams(0),
        lambda _, others: np.zeros(len(others)),
    )
    search.add(search.breed(1), [answer(key) for key in keys])
    pending = world.attempts.screen(search)
    world.evaluated += [hypothesis.key for hypothesis in pending]
    world.attempts.close([evaluate(hypothesis) for hypothesis in pending])
    return world.attempts.records


def test_each_pool_evaluates_as_many_proposals_as_it_has_slots() -> None:
    world = World()
    records = screened(world, "a", "b", "c", "d", "e", "f", "g", "h", means={"b": 2, "d": 1, "e": 1, "h": 2})
    assert world.evaluated == ["b", "d", "e", "h"]
    assert [(r.slot, r.pool, r.attempt, r.key, r.call) for r in records] == [
        (1, 0, 1, "b", 5),
        (3, 1, 1, "d", 6),
        (4, 1, 1, "e", 7),
        (7, 0, 1, "h", 8),
    ]
    assert world.offspring() == [[5, 8], [6, 7]]
    assert world.attempts.open_slots == []


def test_proposals_that_are_not_chosen_are_recorded_with_their_forecasts() -> None:
    world = World(slots=1)
    records = screened(world, "a", "b", "c", "d", means={"b": 2, "d": 1})
    assert [record.forecast for record in records] == [(2, 0.25), (1, 0.25)]
    assert world.attempts.screened == [
        Screened(7, 0, 0, 1, "a", 0.0, 0.25),
        Screened(7, 1, 2, 1, "c", 0.0, 0.25),
    ]


def test_a_candidate_of_the_library_is_charged_first_and_recorded_without_parents() -> None:
    world = World(slots=1)
    records = screened(world, "a", "b", means={"z": 3})
    assert [(r.key, r.call, r.attempt, r.operator, r.parents) for r in records[:1]] == [("z", 5, 0, "library", ())]
    assert records[1].parents
    assert world.offspring() == [[5], [6]]


def test_rejected_known_and_repeated_proposals_are_not_chosen() -> None:
    world = World(slots=2)
    records = screened(world, None, "k1", "k4", "a", "a", "A", "b", "z", means={"k1": 9, "k4": 9})
    found = {r.slot: r.outcome for r in records if r.attempt}
    assert [found[slot] for slot in range(8)] == [
        *(REJECTED, DUPLICATE, DUPLICATE, EVALUATED, DUPLICATE, EVALUATED, EVALUATED, DUPLICATE),
    ]
    assert world.evaluated == ["z", "a", "A", "b"]
    assert world.attempts.open_slots == []


def test_a_screened_iteration_charges_at_most_one_call_per_slot() -> None:
    world = World()
    world.attempts = Attempts(deal_slots(world.pools, 2, 3), world.pools, world.archive)
    screened(world, "a", "b", "c", "d", "e", "f")
    assert world.archive.n_calls == 4 + 3


# Failed candidates and those that are too similar


def test_without_failed_candidates_a_failure_is_charged_but_joins_no_pool() -> None:
    failed = Evaluation(0.0, 0.0, valid=False, error="crashed")
    for keep_failed, offspring in ((True, [1, 2]), (False, [2])):
        archive = Archive(keep_failed=keep_failed)
        attempts = Attempts([Slot(0, 0), Slot(1, 0)], make_pools([]), archive)
        requests = [Request(1, 0, slot, 1, (), Prompt.COLD, Streams(0).at(Purpose.OPERATOR, 1)) for slot in (0, 1)]
        attempts.settle(requests, [answer("a"), answer("b")])
        attempts.close([failed, Evaluation(0.5, -0.5)])
        assert attempts.offspring(0).tolist() == offspring
        assert archive.n_calls == 2


def test_initial_candidates_that_all_failed_are_a_start_all_the_same() -> None:
    failed, unscored = (Evaluation(score, score, valid=False, error="crashed") for score in (0.0, None))
    archive = Archive(keep_failed=False)
    attempts = Attempts([Slot(slot, pool) for slot in (0, 1) for pool in (0, 1)], make_pools([], []), archive)
    requests = [
        Request(0, s.pool, s.slot, 1, (), Prompt.COLD, Streams(0).at(Purpose.INITIAL, 0)) for s in attempts.open_slots
    ]
    attempts.settle(requests, [answer(key) for key in "abcd"])
    attempts.close([failed, failed, unscored, Evaluation(0.5, -0.5)])
    assert [attempts.initial(pool).tolist() for pool in (0, 1)] == [[1], [4]]


def test_a_rejected_proposal_uses_up_the_attempt_and_one_that_was_evaluated_before_is_not_judged() -> None:
    judged = []

    def reject(members: IntArray, hypothesis: Hypothesis) -> Rejection | None:
        judged.append((members.tolist(), hypothesis.key))
        return Rejection(Reason.TOO_SIMILAR) if hypothesis.key == "a" else None

    world = World()
    world.attempts = Attempts(world.attempts.open_slots, world.pools, world.archive, reject)
    records = world.play("a", "a", "b", "k1")
    assert outcomes(records) == [(REJECTED, None, None)] * 2 + [(EVALUATED, 5, None), (REUSED, None, 1)]
    assert [(r.error, r.key, r.genotype) for r in records[:1]] == [("too_similar", None, " A ")]
    assert judged == [([1, 2], "a"), ([2, 3], "a"), ([1, 2], "b")]
    assert world.attempts.open_slots == [Slot(0, 0), Slot(0, 1)]


# Novelty

FIVE = make_archive([0.1] * 5)
NEARNESS = {"g1": 0.2, "g2": 0.7, "g3": 0.9, "g4": 1 - 2**-52}


def judge(limit: float, *members: int) -> Rejection | None:
    reject = reject_similar(limit, FIVE, lambda _, others: np.array([NEARNESS[other.genotype] for other in others]))
    return reject(np.array(members, dtype=np.int64), Hypothesis("g", "k"))


def test_the_nearest_member_decides_and_is_named() -> None:
    expected = Rejection(Reason.TOO_SIMILAR, "its similarity to call 3 is 0.900")
    assert judge(0.8, 1, 3, 2) == expected
    assert judge(0.8, 1, 2) is None


@pytest.mark.parametrize(("limit", "is_rejected"), [(0.69, True), (0.7, True), (0.71, False)])
def test_a_similarity_of_the_limit_is_too_similar(limit: float, is_rejected: bool) -> None:
    assert (judge(limit, 2) is not None) is is_rejected


def test_rounding_does_not_make_a_copy_new() -> None:
    assert judge(1.0, 4) is not None
    assert judge(1.0, 3) is None


def test_in_an_empty_pool_everything_is_new() -> None:
    assert judge(0.1) is None
