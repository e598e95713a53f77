"""Hits and how many of them differ, against their definitions in sets of bits, and by hand."""

from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit.DataStructs import ExplicitBitVect

from evodiverse.runlog.log import Log, Measurement
from evodiverse.tasks.molecules import hits
from evodiverse.tasks.molecules.diversity import select_ranked
from evodiverse.tasks.molecules.hits import count_div_hits, find_different, measure_hits, pick_max_min
from evodiverse.tasks.molecules.metrics import measure_molecules
from tests.results.builders import evaluated_row, make_log

Discovery = tuple[Collection[int], float | None]
"""The bits of a molecule, and its score."""

# Few bits, so that many similarities are exactly a limit.
MOLECULES = st.lists(
    st.tuples(st.frozensets(st.integers(0, 11), min_size=1), st.sampled_from([None, 0.1, 0.5, 0.6, 0.7, 0.9])),
    max_size=25,
)
BITS = st.lists(st.frozensets(st.integers(0, 11), min_size=1), min_size=1, max_size=25)


def vector(bits: Collection[int]) -> ExplicitBitVect:
    found = ExplicitBitVect(2048)
    found.SetBitsFromList(sorted(bits))
    return found


def log_of(molecules: Sequence[Discovery], budget: int = 100) -> Log:
    """A log of one call after the other, whose keys are their places."""
    rows = [evaluated_row(0, place + 1, str(place), score) for place, (_, score) in enumerate(molecules)]
    return make_log(rows, [[[1]]], budget__oracle_calls=budget)


def measure(molecules: Sequence[Discovery], budget: int = 100) -> Measurement:
    vectors = [vector(bits) for bits, _ in molecules]
    return measure_hits(log_of(molecules, budget), lambda key: vectors[int(key)])


def similarity(one: Collection[int], other: Collection[int]) -> float:
    return len({*one} & {*other}) / len({*one} | {*other})


def take(molecules: Sequence[Discovery], limit: float, least: float = 0.0) -> list[float]:
    """The scores of the molecules that the greedy rule takes, from its words."""
    scored = [(bits, score) for bits, score in molecules if score is not None and score >= least]
    taken: list[tuple[Collection[int], float]] = []
    for bits, score in sorted(scored, key=lambda one: one[1], reverse=True):
        if all(similarity(bits, other) < limit for other, _ in taken):
            taken.append((bits, score))
    return [score for _, score in taken]


# Against the definition


@given(MOLECULES)
def test_counts_are_those_of_the_definition(molecules: list[Discovery]) -> None:
    found = measure(molecules)
    for least in (0.5, 0.7):
        assert found[f"hits_{least}"] == sum(score is not None and score >= least for _, score in molecules)
        for limit in (0.4, 0.6):
            assert found[f"different_hits_{least}_{limit}"] == len(take(molecules, limit, least))
    assert found["different_top10"] == pytest.approx(sum(take(molecules, 0.4)[:10]) / 10)
    assert found["no_hit_percent"] == (0 if found["hits_0.5"] else 100)


@given(MOLECULES, st.integers(1, 60))
def test_counts_by_calls_are_those_of_the_calls_up_to_then(molecules: list[Discovery], budget: int) -> None:
    found = measure(molecules, budget)
    for percent in range(10, 101, 10):
        first = molecules[: percent * budget // 100]
        assert found[f"hits_at_{percent}"] == len(take(first, 2.0, 0.5))
        assert found[f"different_hits_at_{percent}"] == len(take(first, 0.4, 0.5))


@given(BITS, st.sampled_from([0.2, 0.25, 0.4, 0.5, 0.6, 1.0]))
def test_all_ways_to_select_apart_are_one(bits: list[frozenset[int]], limit: float) -> None:
    vectors = {str(place): vector(some) for place, some in enumerate(bits)}
    expected = select_ranked(vectors, len(vectors), limit, vectors.__getitem__, max)
    assert find_different([*vectors.values()], limit) == expected
    assert select_ranked(vectors, 3, limit, vectors.__getitem__, max) == expected[:3]


# Laws


COUNTS = (
    *("hits_0.5", "hits_0.7", "different_hits_0.5_0.4", "different_hits_0.5_0.6"),
    *("different_hits_0.7_0.4", "different_hits_0.7_0.6", "different_top10"),
)


@given(MOLECULES, st.frozensets(st.integers(0, 11), min_size=1), st.sampled_from([None, 0.05, 0.1]))
def test_a_molecule_that_is_no_better_than_any_lowers_no_count(
    molecules: list[Discovery], bits: frozenset[int], score: float | None
) -> None:
    before, after = measure(molecules), measure([*molecules, (bits, score)])
    assert all(after[name] >= before[name] - 1e-12 for name in COUNTS)


@given(BITS, st.randoms(use_true_random=False))
def test_the_order_of_calls_does_not_matter_unless_scores_are_equal(bits: list[frozenset[int]], random: Any) -> None:
    molecules = [(some, 0.4 + 0.02 * place) for place, some in enumerate(bits)]
    shuffled = random.sample(molecules, len(molecules))
    before, after = measure(molecules), measure(shuffled)
    assert {name: after[name] for name in COUNTS} == pytest.approx({name: before[name] for name in COUNTS})


@given(MOLECULES)
def test_what_differs_more_is_found_less_often(molecules: list[Discovery]) -> None:
    found = measure(molecules)
    assert found["hits_0.5"] >= found["different_hits_0.5_0.6"] >= found["different_hits_0.7_0.6"]
    assert found["different_hits_0.5_0.4"] >= found["different_hits_0.7_0.4"]


# By hand


def test_of_equal_scores_the_older_call_comes_first() -> None:
    left, right, both = {1, 2}, {3, 4}, {1, 2, 3, 4}  # 1/2 similar to either
    assert measure([(both, 0.8), (left, 0.8), (right, 0.8)])["different_hits_0.5_0.4"] == 1
    assert measure([(left, 0.8), (both, 0.8), (right, 0.8)])["different_hits_0.5_0.4"] == 2


@pytest.mark.parametrize(("shared", "limit", "n_different"), [(4, 0.4, 1), (3, 0.4, 2), (6, 0.6, 1), (5, 0.6, 2)])
def test_two_as_similar_as_the_limit_do_not_differ(shared: int, limit: float, n_different: int) -> None:
    molecules = [(range(10), 0.9), (range(shared), 0.8)]  # shared of ten
    assert measure(molecules)[f"different_hits_0.5_{limit}"] == n_different


def test_a_score_that_is_the_limit_makes_a_hit() -> None:
    found = measure([({1}, 0.5), ({2}, 0.7), ({3}, 0.4999)])
    assert (found["hits_0.5"], found["hits_0.7"], found["no_hit_percent"]) == (2, 1, 0)


def test_a_collapsed_run_has_one_hit_that_differs() -> None:
    found = measure([(range(50), 0.9)] * 10_000, 10_000)
    assert (found["hits_0.5"], found["different_hits_0.5_0.4"], found["different_hits_0.5_0.6"]) == (10_000, 1, 1)
    assert (found["div_hits"], found["different_hits_auc"]) == (1, pytest.approx(0.95))
    assert found["different_top10"] == pytest.approx(0.09)


def test_a_mean_of_what_was_found_hides_a_collapse_that_one_of_ten_shows(tmp_path: Path) -> None:
    rows = [evaluated_row(0, n, "C" * (20 + n), 0.9) for n in range(1, 21)]  # alkanes, all with the same bits
    found = measure_molecules(make_log(rows, [[[*range(1, 21)]]]))
    assert (found["diverse_top10"], found["n_diverse_top10"]) == (pytest.approx(0.9), 1)
    assert (found["diverse_top10_full"], found["diverse_top10_archive_full"]) == pytest.approx((0.09, 0.09))


@pytest.mark.parametrize("molecules", [[], [({1}, None)], [({1}, 0.1), ({2}, None)]])
def test_a_run_without_hits_has_none_of_them(molecules: list[Discovery]) -> None:
    found = dict(measure(molecules))
    assert found.pop("no_hit_percent") == 100
    assert found.pop("different_top10") == pytest.approx(0.01 if len(molecules) == 2 else 0)
    assert set(found.values()) == {0}


def test_after_an_early_stop_the_numbers_stay_as_they_are() -> None:
    # calls 1 to 4 of 20: two are hits that differ, one failed; the tenths end after calls 2, 4, 6 …
    found = measure([({1}, 0.9), ({1}, None), ({2}, 0.8), ({2}, 0.3)], 20)
    assert [found[f"different_hits_at_{percent}"] for percent in range(10, 101, 10)] == [1] + [2] * 9
    assert found["different_hits_auc"] == pytest.approx((0.5 + 1.5 + 8 * 2) / 10)


def test_hits_that_did_not_change_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(hits, "find_different", lambda some, _: (sizes.append(len(some)), [])[1])
    hits._count_by_calls(log_of([({1}, 0.9), ({2}, 0.8)], 20), [1, 2], {1: vector({1}), 2: vector({2})})
    assert sizes == [2]


def test_a_better_hit_takes_the_place_of_several_that_came_before() -> None:
    found = measure([({1, 2}, 0.6), ({3, 4}, 0.6), ({1, 2, 3, 4}, 0.9)], 3)
    assert (found["different_hits_at_70"], found["different_hits_at_100"]) == (2, 1)
    assert (found["hits_at_70"], found["hits_at_100"]) == (2, 3)


# DivHits


@given(BITS)
def test_picks_keep_their_distance_and_leave_none_that_keeps_it_too(bits: list[frozenset[int]]) -> None:
    picks = pick_max_min([vector(some) for some in bits])
    assert picks[0] == 0

    def nearest(place: int, others: Sequence[int]) -> float:
        return min(1 - similarity(bits[place], bits[other]) for other in others)

    for n in range(1, len(picks)):
        rest = [place for place in range(len(bits)) if place not in picks[:n]]
        assert nearest(picks[n], picks[:n]) == max(nearest(place, picks[:n]) for place in rest) > 0.7
    assert all(nearest(place, picks) <= 0.7 for place in range(len(bits)) if place not in picks)


@pytest.mark.parametrize(("shared", "picks"), [(2, [0, 1]), (3, [0]), (4, [0])])
def test_two_at_the_very_distance_are_not_both_picked(shared: int, picks: list[int]) -> None:
    assert pick_max_min([vector(range(10)), vector(range(shared))]) == picks  # of ten bits so many in common


def test_div_hits_are_the_mean_of_five_random_orders_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    firsts: list[int] = []
    vectors = [vector({place}) for place in range(40)]

    def pick(order: Sequence[ExplicitBitVect]) -> list[int]:
        firsts.append(min(order[0].GetOnBits()))
        return [0] * len(firsts)

    assert count_div_hits(vectors) == 40
    monkeypatch.setattr(hits, "pick_max_min", pick)
    assert count_div_hits(vectors) == fmean([1, 2, 3, 4, 5])
    assert len(set(firsts)) > 1
    stream = np.random.default_rng(0)
    assert firsts == [stream.permutation(40)[0] for _ in range(5)]


def test_molecules_are_compared_by_their_morgan_fingerprints() -> None:
    keys = ["c1ccccc1", "CCO", "CCCO"]  # the alcohols are 5/9 similar, as counted by hand in test_diversity
    log = make_log([evaluated_row(0, call, key, 0.8) for call, key in enumerate(keys, 1)], [[[1]]])
    found = measure_hits(log)
    assert (found["different_hits_0.7_0.4"], found["different_hits_0.7_0.6"], found["div_hits"]) == (2, 3, 2)
