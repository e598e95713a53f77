"""The Gaussian process, compared with scikit-learn's and with sums over all counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import PairwiseKernel

from evodiverse.search.process import MAX_COUNT, NOISE, Kernel, Process, choose_sample, encode, stack

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.6, size=(60, 25)).astype(np.float64)
VALUES = RNG.random(60)


def min_max(one: np.ndarray, other: np.ndarray, gamma: float) -> float:
    """Return the kernel of two rows of counts, from its definition."""
    return float(np.minimum(one, other).sum() / np.maximum(one, other).sum())


@given(arrays(np.int64, (4, 6), elements=st.integers(0, MAX_COUNT)))
def test_products_of_codes_are_sums_of_smaller_counts(counts: np.ndarray) -> None:
    bits = stack(encode(counts))
    assert (bits @ bits.T).toarray().tolist() == np.minimum(counts[:, None], counts).sum(axis=2).tolist()


def test_high_counts_and_fractions_are_cut() -> None:
    (high, width), (low, _) = encode(np.array([[MAX_COUNT + 5.0, 0.0], [0.9, 1.9]]))
    assert high.tolist() == list(range(MAX_COUNT))
    assert low.tolist() == [MAX_COUNT]
    assert width == 2 * MAX_COUNT


def test_forecasts_are_those_of_scikit_learn() -> None:
    kernel = PairwiseKernel(metric=min_max)
    reference = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None).fit(COUNTS[:40], VALUES[:40])
    means, deviations = reference.predict(COUNTS[40:], return_std=True)
    found = Process(stack(encode(COUNTS[:40])), VALUES[:40]).forecast(stack(encode(COUNTS[40:])))
    assert found[0] == pytest.approx(means, abs=1e-6)
    assert found[1] == pytest.approx(deviations, abs=1e-6)


def test_means_alone_are_those_of_forecasts() -> None:
    process, asked = Process(stack(encode(COUNTS)), VALUES), stack(encode(RNG.poisson(0.6, size=(5_000, 25))))
    assert process.mean(asked) == pytest.approx(process.forecast(asked)[0], abs=1e-12)


def test_the_kernel_is_the_ratio_of_smaller_to_larger_counts() -> None:
    found = Kernel(stack(encode(COUNTS[:40])))(stack(encode(COUNTS[40:])))
    expected = [[min_max(one, other, 1.0) for other in COUNTS[:40]] for one in COUNTS[40:]]
    assert found == pytest.approx(np.array(expected), abs=1e-6)


def test_a_known_hypothesis_has_its_value_and_little_doubt() -> None:
    means, deviations = Process(stack(encode(COUNTS)), VALUES).forecast(stack(encode(COUNTS)))
    assert means == pytest.approx(VALUES, abs=0.01)
    assert deviations == pytest.approx(np.full(60, np.sqrt(NOISE)), abs=1e-3)


def test_a_hypothesis_that_shares_nothing_has_the_prior() -> None:
    process = Process(stack(encode(np.array([[1.0, 0.0]]))), np.array([0.7]))
    assert process.forecast(stack(encode(np.array([[0.0, 3.0]])))).tolist() == [[0.0], [1.0]]


def test_equal_features_with_different_values_give_their_mean() -> None:
    process = Process(stack(encode(np.array([[1.0, 2.0]] * 2))), np.array([0.2, 0.4]))
    assert process.forecast(stack(encode(np.array([[1.0, 2.0]]))))[0] == pytest.approx([0.3], abs=1e-4)


def test_a_sample_has_the_best_and_some_of_the_others() -> None:
    values = RNG.permutation(900).astype(np.float64)
    sample = choose_sample(values, np.random.default_rng(1), most=300)
    assert sample.size == np.unique(sample).size == 300
    assert sample.tolist() == sorted(sample)
    assert sorted(values[sample])[-200:] == list(range(700, 900))
    assert min(values[sample]) < 100


def test_a_sample_of_few_has_all() -> None:
    assert choose_sample(VALUES, np.random.default_rng(1), most=60).tolist() == list(range(60))
