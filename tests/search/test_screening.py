"""The inner search: who becomes a parent, and which offers are evaluated."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evodiverse.search.archive import Archive
from evodiverse.search.screening import LIBRARY, LIBRARY_EVERY, RANK_OFFSET, Answer, InnerSearch, Offer, View, is_due
from evodiverse.search.settings import Screen
from evodiverse.search.streams import Streams
from evodiverse.vocabulary import Hypothesis, Proposal, Reason, Rejection
from tests.search.builders import make_archive, make_method, make_pools

SCREEN = Screen(
    proposals=6,
    generations=3,
    kappa=((0.5, 0.5),) * 3,
    radius=0.7,
    at_most=1,
    batch=[[0, 10], [500, 25]],
    shortlist=5,
    share=2,
    apart=0,
)
SCORES = [0.1, 0.4, 0.2, 0.3]
Forecasts = Mapping[str, tuple[float, ...]]
"""Means, standard deviations and worths, by key; if they are missing, these are 0, 0 and 1."""


def alike(one: Hypothesis, others: Sequence[Hypothesis]) -> np.ndarray:
    """Return 1 for hypotheses whose keys begin with the same letter, else 0."""
    return np.array([float(one.key[0] == other.key[0]) for other in others])


def read(key: str | None) -> Answer:
    if key is None:
        return Proposal("((", "toy"), Rejection(Reason.UNPARSABLE, "two brackets")
    return Proposal(key, "toy"), Hypothesis(key, key)


def begin(
    *members: Sequence[int],
    forecasts: Forecasts | None = None,
    library: Sequence[str] = (),
    scores: Sequence[float | None] = SCORES,
    iteration: int = 7,
    **changes: object,
) -> InnerSearch:
    """Return an inner search over pools with these members; call ``c`` has key ``k<c>``."""
    known, archive = forecasts or {}, make_archive(scores)
    screen = Screen(**{name: getattr(SCREEN, name) for name in Screen.__slots__} | changes)

    def numbers(keys: Sequence[str]) -> np.ndarray:
        given = [known.get(key, ()) for key in keys]
        return np.array([(*some, *(0.0, 0.0, 1.0)[len(some) :]) for some in given]).reshape(-1, 3).T

    view = View(
        np.arange(1, len(scores) + 1),
        np.arange(len(scores)),
        lambda calls: numbers([f"k{call}" for call in calls])[2],
        [Hypothesis(key, key) for key in library],
        numbers(library),
        lambda hypotheses: numbers([one.key for one in hypotheses]),
    )
    return start(members, [view] * len(members), archive, iteration, screen)


def start(
    members: Sequence[Sequence[int]], views: Sequence[View], archive: Archive, iteration: int, screen: Screen
) -> InnerSearch:
    method = make_method(screen=screen)
    return InnerSearch(iteration, make_pools(*members), archive, views, method, screen, Streams(0), alike)


def play(search: InnerSearch, *keys: str | None, generation: int = 1) -> None:
    """Answer the first requests of a generation with these keys."""
    search.add(search.breed(generation)[: len(keys)], [read(key) for key in keys])


def chosen(search: InnerSearch, shares: Mapping[int, int]) -> list[str]:
    return [offer.hypothesis.key for offer in search.choose(shares)]


# Parents


def test_a_generation_is_shared_by_the_pools_with_members() -> None:
    requests = begin([1, 2], [], [3], proposals=5).breed(2)
    assert [(request.pool, request.slot) for request in requests] == [(0, 0), (0, 1), (2, 2), (2, 3), (2, 4)]
    assert {request.attempt for request in requests} == {2}


def test_every_evaluated_candidate_with_a_score_is_a_founder() -> None:
    requests = begin([1], proposals=200, scores=[*SCORES, None]).breed(1)
    assert {parent.call for request in requests for parent in request.parents} == {1, 2, 3, 4}


def test_parents_are_different_and_drawn_by_inverse_rank() -> None:
    requests = begin([1, 2, 3, 4], proposals=4_000).breed(1)
    assert all(len({parent.call for parent in request.parents}) == 2 for request in requests)
    drawn = Counter(request.parents[0].call for request in requests)
    weights = 1 / (RANK_OFFSET + np.arange(4))
    expected = 4_000 * weights / weights.sum()
    assert stats.chisquare([drawn[call] for call in (2, 4, 3, 1)], expected).pvalue > 1e-3


def test_an_uncertain_candidate_of_the_library_ranks_by_its_acquisition() -> None:
    first = begin([1, 2, 3, 4], library=["z"], forecasts={"z": (0.2, 0.5)}, proposals=2_000).breed(1)
    drawn = Counter(request.parents[0].key for request in first)
    assert max(drawn, key=lambda key: drawn[key]) == "z"


def test_a_proposal_becomes_a_parent_whose_evaluated_ancestors_are_named() -> None:
    search = begin([1, 2], forecasts={"a": (0.9, 0.0)}, scores=SCORES[:2])
    play(search, "a")
    grandparents = search.answers[0][0].ancestors
    assert grandparents == tuple(parent.call for parent in search.answers[0][0].parents)
    requests = [one for one in search.breed(2) if any(parent.key == "a" for parent in one.parents)]
    assert requests
    for request in requests:
        known = [parent.call for parent in request.parents if parent.call]
        assert set(request.ancestors) == {*known, *grandparents}
        assert len(request.ancestors) == len(set(request.ancestors))


def test_no_niche_crowds_out_the_others_among_parents() -> None:
    crowd = {"a1": (0.9, 0.0), "a2": (0.8, 0.0), "a3": (0.7, 0.0), "a4": (0.6, 0.0), "b": (0.5, 0.0)}
    search = begin([1], forecasts=crowd, scores=[0.1], proposals=6_000)
    play(search, *crowd)
    drawn = Counter(request.parents[0].key for request in search.breed(2))
    weights = 1 / (RANK_OFFSET + np.arange(6))
    observed = [drawn[key] for key in ("a1", "a2", "b", "k1", "a3", "a4")]
    assert stats.chisquare(observed, 6_000 * weights / weights.sum()).pvalue > 1e-3


def test_a_candidate_of_the_library_has_no_ancestors() -> None:
    search = begin([1], library=["z"], scores=[0.1])
    assert {request.ancestors for request in search.breed(1)} == {(1,)}


def test_a_candidate_of_a_family_that_has_not_paid_ranks_by_its_acquisition_times_the_worth() -> None:
    search = begin([1], forecasts={"k2": (0.0, 0.0, 0.5), "a": (0.9, 0.2, 0.25)})
    play(search, "a")
    stock = search._stocks[0]
    assert [stock.candidates[at].key for at in stock.rank(0.5)] == ["k4", "a", "k2", "k3", "k1"]  # .3 .25 .2 .2 .1


def test_without_a_share_parents_rank_by_the_acquisition_alone() -> None:
    search = begin([1], forecasts={"a1": (0.9, 0.0), "a2": (0.8, 0.0), "b": (0.5, 0.0)}, scores=[0.1], share=None)
    play(search, "a1", "b", "a2")
    stock = search._stocks[0]
    assert [stock.candidates[at].key for at in stock.rank(0.5)] == ["a1", "a2", "b", "k1"]


def test_founders_are_the_best_by_value_times_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.search.screening.N_BEST", 2)
    monkeypatch.setattr("evodiverse.search.screening.N_OTHERS", 0)
    requests = begin([1], forecasts={"k2": (0.0, 0.0, 0.4)}, proposals=50).breed(1)
    assert {parent.call for request in requests for parent in request.parents} == {3, 4}


def test_a_model_is_given_parents_with_scores_only() -> None:
    search = begin([1], library=["z"], forecasts={"z": (0.9, 0.0), "a": (0.9, 0.0)}, by_model=True, proposals=50)
    play(search, "a")
    requests = [*search.breed(1), *search.breed(2)]
    assert {parent.call for request in requests for parent in request.parents} == {1, 2, 3, 4}


def test_kappa_is_drawn_log_uniformly_from_the_range_of_the_pool() -> None:
    """A candidate with mean 0 and deviation 1 outranks one with value v where κ > v."""

    def outranks(value: float, iteration: int) -> bool:
        ranges = ((0.01, 1.0),)
        search = begin(
            [1], library=["z"], forecasts={"z": (0.0, 1.0)}, scores=[value], iteration=iteration, kappa=ranges
        )
        play(search, "a")
        return search._stocks[0].rank(search._rungs[0].kappa)[0] == 1

    above = sum(outranks(0.1, iteration) for iteration in range(400))
    assert stats.binomtest(above, 400, 0.5).pvalue > 1e-3


# Choice


def test_the_highest_acquisitions_are_chosen_in_the_order_of_their_requests() -> None:
    forecasts = {"a": (0.1, 0.0), "b": (0.9, 0.0), "c": (0.3, 0.0), "d": (0.0, 1.0)}
    search = begin([1, 2], forecasts=forecasts)
    play(search, "a", "d", "c", "b")
    assert chosen(search, {0: 2}) == ["d", "b"]


def test_the_first_of_equal_acquisitions_is_chosen_whatever_the_rounding() -> None:
    search = begin([1, 2], forecasts={"a": (0.3, 0.0), "b": (0.1 + 0.2, 0.0)})
    play(search, "a", "b")
    assert chosen(search, {0: 1}) == ["a"]


def test_a_candidate_of_the_library_is_chosen_on_its_merits_and_comes_first() -> None:
    search = begin([1, 2], library=["y", "z"], forecasts={"z": (0.5, 0.0), "a": (0.9, 0.0)})
    play(search, "a")
    offers = search.choose({0: 2})
    assert [(one.hypothesis.key, one.request.attempt, one.proposal.operator) for one in offers] == [
        ("z", 0, LIBRARY),
        ("a", 1, "toy"),
    ]
    assert offers[0].request.slot == 1
    assert offers[0].forecast == (0.5, 0.0)


@pytest.mark.parametrize(
    ("share", "of_library"), [(LIBRARY_EVERY - 1, ""), (LIBRARY_EVERY, "y"), (2 * LIBRARY_EVERY, "yz")]
)
def test_a_tenth_of_the_slots_is_for_the_best_of_the_library(share: int, of_library: str) -> None:
    bred = {chr(ord("a") + at): (0.9, 0.0) for at in range(2 * LIBRARY_EVERY)}
    library = {"x": (0.1, 0.0), "y": (0.3, 0.0), "z": (0.2, 0.0)}
    search = begin([1, 2], library=[*library], forecasts=bred | library, proposals=len(bred))
    play(search, *bred)
    found = chosen(search, {0: share})
    assert len(found) == share
    assert set(found) & {*library} == {*of_library}


def test_a_similar_offer_is_passed_over_until_others_run_out() -> None:
    forecasts = {"a1": (0.9, 0.0), "a2": (0.8, 0.0), "b": (0.1, 0.0)}
    for at_most, share, expected in [(1, 2, ["a1", "b"]), (2, 2, ["a1", "a2"]), (1, 3, ["a1", "a2", "b"])]:
        search = begin([1, 2], forecasts=forecasts, at_most=at_most)
        play(search, "a1", "a2", "b")
        assert chosen(search, {0: share}) == expected


def test_an_offer_of_no_worth_is_chosen_if_others_run_out() -> None:
    search = begin([1, 2], forecasts={"a": (0.9, 0.0, 0.0), "b": (0.5, 0.0)})
    play(search, "a", "b")
    assert chosen(search, {0: 1}) == ["b"]
    assert chosen(search, {0: 2}) == ["a", "b"]


def test_pools_choose_in_turn_and_none_takes_what_another_took_or_resembles_it() -> None:
    forecasts = {"a1": (0.9, 0.0), "a2": (0.8, 0.0), "b": (0.1, 0.0), "z": (0.7, 0.0)}
    search = begin([1], [2], forecasts=forecasts, library=["z"], proposals=4)
    requests = search.breed(1)
    search.add(requests, [read(key) for key in ("a1", None, "a2", "b")])
    offers = search.choose({0: 2, 1: 1})
    assert [(one.request.pool, one.hypothesis.key) for one in offers] == [(0, "z"), (0, "a1"), (1, "b")]


def test_a_pool_takes_what_another_bred() -> None:
    search = begin([1], [2], forecasts={"a": (0.9, 0.0)}, proposals=4)
    requests = search.breed(1)
    search.add(requests, [read(key) for key in (None, None, "a", "b")])
    offers = search.choose({0: 1, 1: 1})
    assert [(one.hypothesis.key, one.request.pool, one.request.slot) for one in offers] == [("a", 0, 2), ("b", 1, 3)]


def test_pools_with_views_of_their_own_breed_and_choose_apart() -> None:
    """The first pool knows calls 1 and 2 and forecasts 0.9 for all, the second 3 and 4 and 0.1."""

    def view(calls: list[int], value: float, *library: str) -> View:
        def numbers(hypotheses: Sequence[Hypothesis]) -> np.ndarray:
            return np.array([[value], [0.0], [1.0]]) * np.ones(len(hypotheses))

        candidates = [Hypothesis(key, key) for key in library]
        return View(
            np.array(calls),
            np.arange(len(calls)),
            lambda some: np.ones(some.size),
            candidates,
            numbers(candidates),
            numbers,
        )

    views = [view([1, 2], 0.9, "z"), view([3, 4], 0.1, "z", "y")]
    search = start([[1, 3], [1, 3]], views, make_archive(SCORES), 7, replace(SCREEN, proposals=40))
    requests = search.breed(1)
    parents = [{one.call for request in requests[at] for one in request.parents} for at in (slice(20), slice(20, 40))]
    assert parents == [{0, 1, 2}, {0, 3, 4}]
    search.add([requests[0], requests[20]], [read("a"), read("b")])
    offers = search.choose({0: 2, 1: 3})
    assert [(one.hypothesis.key, one.request.pool, one.forecast.predicted) for one in offers] == [
        ("z", 0, 0.9),
        ("y", 1, 0.1),
        ("a", 0, 0.9),
        ("b", 1, 0.1),
    ]


def test_known_repeated_and_rejected_proposals_are_no_offers() -> None:
    search = begin([1, 2], library=["z"], proposals=12)
    play(search, "k3", "z", None, "a", "a")
    play(search, "a", "b", generation=2)
    assert [*search.offers] == ["a", "b"]
    assert [request.attempt for request, *_ in search.offers.values()] == [1, 2]
    assert len(search.answers) == 7


@given(st.lists(st.sampled_from(["a1", "a2", "b1", "c1", "k1", "z", None]), max_size=12), st.integers(0, 5))
def test_as_many_as_there_are_slots_are_chosen_if_there_are_enough(keys: list[str | None], share: int) -> None:
    search = begin([1, 2], library=["z"], proposals=12)
    play(search, *keys)
    offered = {"z", *keys} - {None, "k1"}
    found = chosen(search, {0: share})
    assert len(found) == len(set(found)) == min(share, len(offered))
    assert set(found) <= offered


# Sizes


@pytest.mark.parametrize(("n_calls", "size"), [(0, 10), (499, 10), (500, 25), (10_000, 25)])
def test_an_iteration_grows_with_the_calls_before_it(n_calls: int, size: int) -> None:
    assert make_method(screen=SCREEN).size(n_calls) == size


def test_without_screening_an_iteration_has_the_offspring_of_all_pools() -> None:
    assert make_method().size(999) == 6


def test_the_library_is_rated_at_once_and_whenever_the_calls_have_grown_by_half() -> None:
    assert [is_due(n, before, 0) for n, before in [(120, 0), (179, 120), (180, 120)]] == [True, False, True]


def test_the_library_is_rated_once_more_when_pools_no_longer_learn_apart() -> None:
    assert [is_due(n, before, 200) for n, before in [(150, 140), (200, 190), (210, 200)]] == [False, True, False]


def test_searches_repeat_themselves() -> None:
    def offers(pick: Callable[[InnerSearch], list[Offer]]) -> list[Offer]:
        search = begin([1, 2], library=["z"], forecasts={"a": (0.2, 0.3)})
        play(search, "a", "b")
        return pick(search)

    both = [offers(lambda one: one.choose({0: 2})) for _ in range(2)]
    assert both[0] == both[1]
