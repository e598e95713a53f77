"""Streams are addressed: equal addresses agree, and any two different ones look independent."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import Stream

ADDRESS = Stream(seed=7, purpose=2, iteration=3, pool=1, slot=4, attempt=5)
addresses = st.builds(
    Stream,
    seed=st.integers(0, 2**64 - 1),
    purpose=st.integers(0, 20),
    iteration=st.integers(0, 10**6),
    pool=st.integers(0, 9),
    slot=st.integers(0, 10**4),
    attempt=st.integers(0, 9),
)


def draws(stream: Stream, size: int = 4) -> list[float]:
    return stream.rng().random(size).tolist()


@given(addresses)
def test_equal_addresses_give_equal_draws(address: Stream) -> None:
    assert draws(address) == draws(Stream(*address))


@given(addresses, addresses)
def test_different_addresses_give_different_draws(one: Stream, other: Stream) -> None:
    assert (draws(one) == draws(other)) == (one == other)


@pytest.mark.parametrize("field", Stream._fields)
@pytest.mark.parametrize("step", [1, 2**16, 2**31])
def test_every_field_of_the_address_matters(field: str, step: int) -> None:
    moved = ADDRESS._replace(**{field: getattr(ADDRESS, field) + step})
    assert draws(moved) != draws(ADDRESS)


def test_pool_slot_and_attempt_are_not_interchangeable() -> None:
    permuted = [
        ADDRESS._replace(iteration=a, pool=b, slot=c, attempt=d) for a, b, c, d in itertools.permutations((1, 2, 3, 4))
    ]
    assert len({tuple(draws(address)) for address in permuted}) == 24


@pytest.mark.parametrize("seed", [0, 2**53 + 1, 2**63, 2**64 - 1])
def test_seeds_of_64_bits_are_distinguished_to_the_last_bit(seed: int) -> None:
    assert draws(ADDRESS._replace(seed=seed)) != draws(ADDRESS._replace(seed=seed ^ 1))


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_beyond_64_bits_is_refused_rather_than_wrapped(seed: int) -> None:
    with pytest.raises(OverflowError, match=r"out of bounds|too large"):
        Stream(seed, 1).rng()


@pytest.mark.parametrize("field", Stream._fields)
def test_neighboring_streams_are_uncorrelated(field: str) -> None:
    n_draws = 4000
    neighbor = ADDRESS._replace(**{field: getattr(ADDRESS, field) + 1})
    correlation = np.corrcoef(ADDRESS.rng().normal(size=n_draws), neighbor.rng().normal(size=n_draws))[0, 1]
    assert abs(correlation) < 4 / np.sqrt(n_draws)


@pytest.mark.parametrize("field", Stream._fields)
def test_first_draws_of_successive_streams_are_uniform_and_serially_uncorrelated(field: str) -> None:
    firsts = np.array([ADDRESS._replace(**{field: k}).rng().random() for k in range(2000)])
    assert stats.kstest(firsts, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(firsts[:-1], firsts[1:])[0, 1]) < 4 / np.sqrt(firsts.size)


def test_streams_do_not_overlap_their_neighbors() -> None:
    one, other = (ADDRESS._replace(iteration=k).rng().random(20_000) for k in (3, 4))
    assert np.intersect1d(one, other).size == 0


def test_drawing_from_one_stream_does_not_advance_another() -> None:
    first, second = ADDRESS.rng(), ADDRESS.rng()
    first.random(100)
    assert second.random() == ADDRESS.rng().random()


def test_streams_of_a_run_have_its_seed_and_the_whole_address() -> None:
    stream = Streams(9).at(Purpose.OPERATOR, 8, pool=7, slot=6, attempt=5)
    assert stream == (9, 4, 8, 7, 6, 5)


def test_the_layout_of_addresses_is_part_of_every_logged_result() -> None:
    assert ADDRESS.rng().integers(2**62, size=2).tolist() == [3274430956493855211, 3845720707820576771]


def test_purposes_are_never_renumbered() -> None:
    assert {purpose.name: purpose.value for purpose in Purpose} == {
        "INITIAL": 1,
        "MATING_POOL": 2,
        "PARENTS": 3,
        "OPERATOR": 4,
        "SURVIVORS": 5,
        "EXCHANGE": 6,
        "SCHEDULE": 7,
        "SCREEN": 8,
        "SAMPLE": 9,
        "LIBRARY": 10,
        "FAMILIES": 11,
        "MODEL": 12,
        "SHARE": 13,
    }
