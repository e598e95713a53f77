"""The choice of the proposals that are evaluated."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.screening import Forecast, Screening
from evodiverse.search.settings import Screen
from evodiverse.vocabulary import Hypothesis


def chosen(
    means: Sequence[float],
    *,
    spreads: Sequence[float] = (),
    families: str = "",
    pools: Sequence[int] = (),
    shares: dict[int, int] | None = None,
    explore: float = 0.5,
    at_most: int = 1,
) -> list[int]:
    """Return the chosen indices; hypotheses with the same letter in ``families`` are similar."""
    letters = families or "abcdefghijklmnopqrstuvwxyz"[: len(means)]
    hypotheses = [Hypothesis(letter, str(place)) for place, letter in enumerate(letters)]
    forecasts = [Forecast(*pair) for pair in zip(means, spreads or [0.0] * len(means), strict=True)]
    screening = Screening(
        Screen(8, explore, 0.7, at_most),
        lambda asked: [forecasts[int(one.key)] for one in asked],
        lambda one, others: np.array([float(one.genotype == other.genotype) for other in others]),
    )
    told, places = screening.choose(hypotheses, pools or [0] * len(means), shares or {0: 2})
    assert told == forecasts
    return places


def test_the_highest_forecasts_are_chosen_and_returned_in_order() -> None:
    assert chosen([0.1, 0.9, 0.3, 0.8]) == [1, 3]


def test_the_spread_is_weighted_by_explore() -> None:
    means, spreads = [0.5, 0.4, 0.3], [0.0, 0.1, 0.5]
    assert chosen(means, spreads=spreads, shares={0: 1}) == [2]
    assert chosen(means, spreads=spreads, shares={0: 1}, explore=0.0) == [0]


def test_the_first_of_equal_forecasts_is_chosen() -> None:
    assert chosen([0.5, 0.5, 0.5], shares={0: 2}) == [0, 1]


def test_forecasts_that_differ_by_rounding_errors_are_equal() -> None:
    assert chosen([0.3, 0.1 + 0.2], shares={0: 1}) == [0]


def test_a_similar_proposal_is_skipped_until_others_run_out() -> None:
    assert chosen([0.9, 0.8, 0.1], families="aab") == [0, 2]
    assert chosen([0.9, 0.8, 0.1], families="aab", at_most=2) == [0, 1]
    assert chosen([0.9, 0.8, 0.7], families="aaa") == [0, 1]


def test_each_pool_chooses_among_its_own_proposals() -> None:
    assert chosen([0.9, 0.1, 0.8, 0.2], pools=[0, 1, 0, 1], shares={0: 1, 1: 1}) == [0, 3]


def test_similarity_counts_only_within_a_pool() -> None:
    assert chosen([0.9, 0.8, 0.1], families="aab", pools=[0, 1, 1], shares={0: 1, 1: 1}) == [0, 1]


@given(st.lists(st.integers(0, 2), max_size=12), st.integers(0, 4), st.integers(0, 4))
def test_no_pool_gets_more_than_its_share(pools: list[int], first: int, second: int) -> None:
    shares = {0: first, 1: second, 2: 1}
    places = chosen([0.5] * len(pools), pools=pools, shares=shares) if pools else []
    counts = {pool: sum(pools[place] == pool for place in places) for pool in shares}
    assert counts == {pool: min(share, pools.count(pool)) for pool, share in shares.items()}
    assert places == sorted(set(places))
