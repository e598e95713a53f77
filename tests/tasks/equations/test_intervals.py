"""Intervals of constants agree with scipy's covariance, and say which constants the rows do not determine."""

import numpy as np
import pytest
from scipy.optimize import curve_fit
from scipy.stats import t

from evodiverse.tasks.equations.intervals import Predict, bootstrap_intervals, find_intervals
from evodiverse.tasks.equations.problems import FloatArray

X = np.linspace(0.1, 5, 80)
Y = 3 * np.exp(-0.7 * X) + 0.5 + 0.05 * np.random.default_rng(0).normal(size=80)


def decay(x: FloatArray, a: float, b: float, c: float) -> FloatArray:
    return a * np.exp(b * x) + c


def predict(params: FloatArray) -> FloatArray:
    return decay(X, *params)


def test_intervals_are_those_of_scipys_covariance() -> None:
    params, covariance = curve_fit(decay, X, Y, [1, -1, 0])
    half = t.ppf(0.975, 77) * np.sqrt(np.diag(covariance))
    found = find_intervals(predict, params, Y)
    np.testing.assert_allclose(found, np.stack([params - half, params + half], 1), rtol=1e-6)
    np.testing.assert_allclose(np.diff(found), np.diff([params - half, params + half], axis=0).T, rtol=1e-4)


def test_intervals_of_weighed_rows_are_those_of_scipys_covariance() -> None:
    sigma = np.linspace(0.02, 1, 80)
    params, covariance = curve_fit(decay, X, Y, [1, -1, 0], sigma)
    half = t.ppf(0.975, 77) * np.sqrt(np.diag(covariance))
    found = find_intervals(predict, params, Y, 7 / sigma)
    np.testing.assert_allclose(np.diff(found)[:, 0], 2 * half, rtol=1e-4)
    sampled = bootstrap_intervals(predict, params, Y, 300, 7 / sigma)
    assert (sampled[:, 0] < params).all()
    assert (params < sampled[:, 1]).all()
    assert (np.abs(sampled.mean(axis=1) - params) < half / 2).all()  # as the fit, and not as one without weights


def test_the_bootstrap_finds_similar_intervals_and_always_the_same() -> None:
    params, _ = curve_fit(decay, X, Y, [1, -1, 0])
    found = bootstrap_intervals(predict, params, Y, 300)
    np.testing.assert_allclose(np.diff(found), np.diff(find_intervals(predict, params, Y)), rtol=0.35)
    assert (found[:, 0] < params).all()
    assert (params < found[:, 1]).all()
    np.testing.assert_array_equal(found, bootstrap_intervals(predict, params, Y, 300))


def test_a_zero_constant_has_an_interval() -> None:
    y = Y - Y.mean()
    half = t.ppf(0.975, 79) * np.std(y, ddof=1) / 80**0.5
    np.testing.assert_allclose(find_intervals(lambda params: np.full(80, params[0]), [0.0], y), [[-half, half]])


@pytest.mark.parametrize(
    ("function", "params", "determined"),
    [
        (lambda params: params[0] * params[1] * np.exp(params[2] * X), [2.0, 1.5, -0.7], [False, False, True]),
        (lambda params: params[0] * X + 0 * params[1], [1.0, 2.0], [True, False]),
        (lambda params: np.sqrt(X - params[0]) + params[1], [0.1, 2.0], [False, True]),  # undefined just above it
    ],
)
def test_a_constant_that_the_rows_do_not_determine_has_no_ends(
    function: Predict, params: list[float], determined: list[bool]
) -> None:
    assert np.isfinite(find_intervals(function, params, Y)).all(axis=1).tolist() == determined


def test_as_many_constants_as_rows_and_no_constants_at_all() -> None:
    assert not np.isfinite(find_intervals(lambda params: params, list(Y), Y)).any()
    assert find_intervals(lambda _: Y, [], Y).shape == bootstrap_intervals(lambda _: Y, [], Y, 10).shape == (0, 2)
