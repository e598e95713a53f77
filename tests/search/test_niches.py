"""Niches, compared with a definition by hand."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.niches import Niches, keep_apart, spread
from evodiverse.vocabulary import Hypothesis


def near(one: Hypothesis, others: Sequence[Hypothesis]) -> np.ndarray:
    """Return similarities of numbers that fall with their distance: 1 for equal numbers, 0 from a distance of 10."""
    return np.array([max(0.0, 1 - abs(int(one.key) - int(other.key)) / 10) for other in others])


def taken(numbers: Sequence[int], size: int, share: int, radius: float, certain: int = 0) -> list[int]:
    hypotheses = [Hypothesis("", str(number)) for number in numbers]
    return keep_apart(hypotheses, size, share, radius, near, certain)


def test_one_similar_hypothesis_too_many_is_skipped_for_the_next_that_differs() -> None:
    assert taken([0, 1, 50, 2, 90], size=3, share=1, radius=0.8) == [0, 2, 4]


def test_similarity_at_the_radius_counts_as_similar() -> None:
    assert taken([0, 2, 4], size=2, share=1, radius=0.8) == [0, 2]


def test_similarity_is_not_transitive() -> None:
    assert taken([0, 3, 6, 1], size=3, share=1, radius=0.65) == [0, 2, 1]


def test_skipped_hypotheses_fill_up_the_rest_in_their_order() -> None:
    assert taken([5, 4, 6, 70], size=4, share=1, radius=0.8) == [0, 3, 1, 2]


def test_certain_hypotheses_are_taken_and_count_as_similar() -> None:
    assert taken([0, 1, 2, 50, 51], size=4, share=1, radius=0.8, certain=2) == [0, 1, 3, 2]


@given(
    st.lists(st.integers(0, 30), max_size=15),
    st.integers(0, 16),
    st.integers(1, 4),
    st.sampled_from([0.3, 0.5, 0.9]),
    st.integers(0, 3),
)
def test_the_size_is_reached_and_more_than_the_share_is_similar_only_if_others_ran_out(
    numbers: list[int], size: int, share: int, radius: float, certain: int
) -> None:
    places = taken(numbers, size, share, radius, certain)
    assert len(set(places)) == len(places) == min(size, len(numbers))
    expected: list[int] = []
    for place, number in enumerate(numbers):
        alike = [other for other in expected if 1 - abs(numbers[other] - number) / 10 >= radius]
        if place < certain or len(alike) < share:
            expected.append(place)
    rest = [place for place in range(len(numbers)) if place not in expected[:size]]
    assert places == (expected + [place for place in rest if place not in expected])[:size]


def test_a_hypothesis_joins_the_first_niche_whose_founder_is_similar() -> None:
    niches = Niches(0.65, near)
    assert niches.assign([Hypothesis("", str(number)) for number in (0, 5, 3, 50)]).tolist() == [0, 1, 0, 2]
    assert niches.assign([Hypothesis("", str(number)) for number in (8, 54)]).tolist() == [1, 3]


@given(st.lists(st.integers(0, 60), max_size=30), st.integers(0, 30))
def test_the_niches_of_many_are_those_of_one_after_the_other(numbers: list[int], at: int) -> None:
    hypotheses = [Hypothesis("", str(number)) for number in numbers]
    one_by_one, parts = Niches(0.65, near), Niches(0.65, near)
    expected = [int(one_by_one.assign([hypothesis])[0]) for hypothesis in hypotheses]
    assert [*parts.assign(hypotheses[:at]), *parts.assign(hypotheses[at:])] == expected


def test_a_hypothesis_that_a_task_calls_unlike_itself_founds_a_niche() -> None:
    niches = Niches(0.5, lambda _, others: np.zeros(len(others)))
    assert niches.assign([Hypothesis("", "a"), Hypothesis("", "a")]).tolist() == [0, 1]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 4))
def test_the_first_of_each_niche_come_before_the_next_ones(niches: list[int], share: int) -> None:
    order = spread(np.array(niches, dtype=np.int64), share).tolist()
    rounds = [niches[:at].count(niche) // share for at, niche in enumerate(niches)]
    assert order == sorted(range(len(niches)), key=rounds.__getitem__)
