"""The feature space: places of candidates, and the competition with the nearest fitter ones."""

from math import dist, inf, nan
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.features import measure_competition, place

coordinates = st.sampled_from([0.0, 0.1, 0.25, 0.6, 1.0, 7.0])
candidates = st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 0.9]), coordinates, coordinates), max_size=14)


@given(candidates, st.integers(1, 5))
def test_competition_fitness_is_the_mean_distance_to_the_nearest_fitter_candidates(
    some: list[tuple[float, float, float]], n_neighbors: int
) -> None:
    expected = []
    for at, (score, *here) in enumerate(some):
        fitter = [
            there for other, (rival, *there) in enumerate(some) if rival > score or (rival == score and other < at)
        ]
        distances = sorted(dist(here, there) for there in fitter)[:n_neighbors]
        expected.append(fmean(distances) if distances else inf)
    scores, places = np.array([score for score, *_ in some]), np.array([where for _, *where in some]).reshape(-1, 2)
    assert measure_competition(scores, places, n_neighbors).tolist() == pytest.approx(expected)


def test_a_candidate_without_a_place_neither_competes_nor_wins() -> None:
    places = np.array([[0.0, nan], [0.0, 0.0], [3.0, 4.0]])
    assert measure_competition(np.array([9.0, 2.0, 1.0]), places, 3).tolist() == [-inf, inf, 5.0]


def test_features_are_scaled_by_their_bounds_and_may_lie_outside() -> None:
    details = [{"a": 5, "b": 1.5, "c": "text"}, {"b": -2.0, "a": 30.0}]
    assert place(details, {"a": [0, 10], "b": [-1, 1]}).tolist() == [[0.5, 1.25], [3.0, -0.5]]


@pytest.mark.parametrize("missing", [{}, {"a": None}, {"a": "3"}, {"a": nan}, {"a": inf}])
def test_a_value_that_is_no_finite_number_gives_no_place(missing: dict[str, object]) -> None:
    assert np.isnan(place([missing], {"a": [0, 1]})).all()
