"""The front of error against complexity, and the one equation that is chosen from it."""

from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.equations.front import EXACT, SYMBOLS, Member, choose, find_front, measure_complexity, weigh
from evodiverse.tasks.equations.metrics import measure_description
from evodiverse.tasks.equations.skeleton import read_skeleton

MEMBERS = st.lists(
    st.builds(
        Member,
        st.integers(1, 1000),
        st.integers(1, 12),
        st.sampled_from([1e-14, 1e-13, 1e-3, 0.1, 0.5, 1.0]),
        st.sampled_from([0.0, 0.1, 0.2, inf]),
        st.sampled_from([0.0, 0.05]),
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda member: member.call,
)


@given(MEMBERS)
def test_on_the_front_is_what_none_beats_in_both(members: list[Member]) -> None:
    front = find_front(members)
    for member in members:
        beaten = any(
            other.complexity <= member.complexity
            and max(other.error, EXACT) <= max(member.error, EXACT)
            and (other.complexity, other.error, other.call) < (member.complexity, member.error, member.call)
            for other in members
        )
        assert (member in front) == (not beaten)
    assert [member.complexity for member in front] == sorted({member.complexity for member in front})


def test_the_simplest_within_one_standard_error_of_the_best_is_chosen() -> None:
    front = [Member(1, 3, 0.5, 0.5, 0.02), Member(2, 7, 0.2, 0.21, 0.02), Member(3, 20, 0.1, 0.2, 0.015)]
    assert choose(front).call == 2
    assert choose([*front[:2], front[2]._replace(deviation=0.005)]).call == 3


def test_the_front_s_end_that_only_fits_is_not_chosen() -> None:
    assert choose([Member(1, 3, 0.5, 0.5, 0.02), Member(2, 40, 0.001, 30.0, 20.0)]).call == 1


def test_errors_that_are_no_more_than_rounding_are_alike() -> None:
    assert choose([Member(1, 5, 1e-22, 1e-22, 0.0), Member(2, 9, 1e-30, 1e-30, 0.0)]).call == 1


def test_without_rows_held_back_the_smallest_error_is_chosen() -> None:
    front = [Member(1, 3, 0.5, inf, inf), Member(2, 9, 0.1, inf, inf)]
    assert choose(front).call == 2


def test_without_rows_held_back_the_shortest_description_counts() -> None:
    noise = [(3, 0.009, 1), (16, 2e-3, 3), (46, 8e-7, 10)]
    exact, as_many = [*noise, (20, 1e-25, 4)], [*noise, (20, 1e-25, 12)]
    source = read_skeleton("def equation(x, params):\n    return params[0] * x\n", ["x"]).source
    assert weigh(1, source, {"nmse_train": 0.009, "description_length": 2.0}).description == pytest.approx(
        2 + 3 * log(SYMBOLS)
    )
    for found, call in ((noise, 0), (exact, 3), (as_many, 0)):
        front = [
            Member(at, size, error, inf, inf, measure_description(error, k, 12) + size * log(SYMBOLS))
            for at, (size, error, k) in enumerate(found)
        ]
        assert choose(front).call == call


def test_what_was_not_logged_is_infinite() -> None:
    source = read_skeleton("def equation(x, params):\n    return params[0] * x\n", ["x"]).source
    assert weigh(7, source, {"nmse_train": None, "nmse_held": 0.5}) == Member(7, 3, inf, 0.5, inf, inf)


@pytest.mark.parametrize(
    ("expression", "complexity"), [("x", 1), ("params[0] * x", 3), ("2 * (params[0] * x)", 3), ("np.exp(x) + 1", 4)]
)
def test_complexity_counts_what_is_left_of_an_equation_when_it_is_simplified(expression: str, complexity: int) -> None:
    source = read_skeleton(f"def equation(x, params):\n    return {expression}\n", ["x"]).source
    assert measure_complexity(source) == complexity
