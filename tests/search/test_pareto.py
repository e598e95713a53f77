"""Several objectives: fronts, crowding and their order, against computations by the definition."""

from itertools import count
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.pareto import (
    Front,
    Objective,
    are_objectives,
    measure_crowding,
    measure_objectives,
    order_by_front,
    rank_fronts,
    read_objective,
)

Values = list[tuple[float, ...]]
numbers = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 7.0])
candidates = st.integers(2, 4).flatmap(lambda d: st.lists(st.tuples(*[numbers] * d), max_size=16))
some_lacking = st.lists(st.tuples(numbers | st.just(nan), numbers, numbers), max_size=16)


def as_array(values: Values) -> np.ndarray:
    return np.array(values).reshape(len(values), -1 if values else 3)


def dominates(values: Values, one: int, other: int) -> bool:
    pairs = [*zip(values[one], values[other], strict=True)]
    is_equal = values[one] == values[other]
    return all(a >= b for a, b in pairs) and (any(a > b for a, b in pairs) or (is_equal and one < other))


def peel(values: Values) -> list[int]:
    """Return the number of the front of each candidate: take what nobody left dominates, again and again."""
    ranks = [len(values)] * len(values)
    left = {at for at, own in enumerate(values) if nan not in own}
    for rank in count():
        if not left:
            return ranks
        front = {at for at in left if not any(dominates(values, other, at) for other in left)}
        for at in front:
            ranks[at] = rank
        left -= front
    raise AssertionError


@given(candidates | some_lacking)
def test_a_front_holds_what_only_earlier_fronts_dominate(values: Values) -> None:
    assert rank_fronts(as_array(values)).tolist() == peel(values)


@given(st.lists(st.tuples(numbers, numbers, numbers), max_size=12))
def test_crowding_is_the_gap_between_the_neighbors_as_a_share_of_the_range(values: Values) -> None:
    expected = [0.0] * len(values)
    for objective in range(3):
        ranked = sorted(range(len(values)), key=lambda at: values[at][objective])
        span = values[ranked[-1]][objective] - values[ranked[0]][objective] if values else 0.0
        for place, at in enumerate(ranked if span else []):
            is_end = place in (0, len(ranked) - 1)
            near = (ranked[place - 1], ranked[(place + 1) % len(ranked)])
            expected[at] += inf if is_end else abs(values[near[1]][objective] - values[near[0]][objective]) / span
    assert measure_crowding(as_array(values)).tolist() == pytest.approx(expected)


def test_the_ends_of_a_front_come_first_and_then_its_least_crowded_member() -> None:
    front = [(0.0, 1.0), (0.5, 0.5), (0.1, 0.9), (0.05, 0.95), (1.0, 0.0)]
    dominated = [(0.4, 0.4), (0.0, 0.0)]
    values = as_array([*dominated, *front])
    assert order_by_front(values, np.zeros(7)).tolist() == [2, 6, 3, 4, 5, 0, 1]


def test_of_two_copies_the_older_comes_first_and_the_younger_is_dominated() -> None:
    values = as_array([(0.2, 0.2), (0.5, 0.5), (0.5, 0.5)])
    assert rank_fronts(values).tolist() == [2, 0, 1]


def test_candidates_without_a_value_come_last_by_score() -> None:
    values = as_array([(nan, 9.0), (9.0, nan), (0.1, 0.1), (nan, nan)])
    assert order_by_front(values, np.array([0.2, 0.7, 0.0, 0.2])).tolist() == [2, 1, 0, 3]


@given(candidates | some_lacking)
def test_the_front_of_a_run_is_the_first_of_all_its_candidates_whatever_came_between(values: Values) -> None:
    array = as_array(values)
    front = Front(array.shape[1])
    added = [front.add(call, own) for call, own in enumerate(array)]
    ranks = peel(values)
    assert front.calls == [at for at, own in enumerate(values) if ranks[at] == 0 and nan not in own]
    assert front.values.tolist() == array[front.calls].tolist()
    assert all(added[call] for call in front.calls)
    assert front.spread() == [at for at in order_by_front(array, np.zeros(len(values))) if at in front.calls]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("value", Objective("value")),
        ("qed", Objective("qed_value")),
        ("10-length", Objective("length", 10.0)),
        ("2.5e-1-length", Objective("length", 0.25)),
        ("1-qed", Objective("qed_value", 1.0)),
        ("quod", None),
        ("-length", None),
        ("length-10", None),
    ],
)
def test_an_objective_is_a_column_or_a_bound_minus_a_column(text: str, expected: Objective | None) -> None:
    assert read_objective(text, ["value", "qed_raw", "qed_value", "length"]) == expected


def test_a_column_to_be_minimized_is_subtracted_from_its_bound() -> None:
    rows = [{"a": 3, "b": 0.5}, {"b": 1.0}, {"a": inf, "b": "text"}]
    values = measure_objectives(rows, [Objective("b"), Objective("a", 10.0)])
    assert np.nan_to_num(values, nan=-1.0).tolist() == [[0.5, 7.0], [1.0, -1.0], [-1.0, -1.0]]


@pytest.mark.parametrize("names", [None, "a", ["a"], ["a", "a"], ["a", 1], list("abcdef"), {"a": "b"}])
def test_objectives_are_two_to_five_different_texts(names: object) -> None:
    assert not are_objectives(names)
    assert are_objectives(["a", "b"])
    assert are_objectives(list("abcde"))
