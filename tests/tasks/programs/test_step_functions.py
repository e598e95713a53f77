"""Step functions: what is measured is exact, rules are strict, and the blocks improve what is measured."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.errors import ServiceError
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.autocorrelation import blocks as autocorrelation
from evodiverse.tasks.programs.autocorrelation.evaluator import (
    Autocorrelation,
    find_flatness,
    find_peak,
    find_signed_peak,
)
from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.exact import PLACES, convolve, to_integers
from evodiverse.tasks.programs.minimum_overlap import blocks as minimum_overlap
from evodiverse.tasks.programs.minimum_overlap.evaluator import MinimumOverlap, find_overlap
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Candidate, Reason, Rejection

UNIT = st.lists(st.floats(0, 1), min_size=1, max_size=8)
SIGNED = st.lists(st.integers(-1000, 1000), min_size=1, max_size=8)
MEASURES = {1: find_peak, 2: find_flatness, 3: find_signed_peak}


def evaluator(n=None):
    if n is None:
        return MinimumOverlap(ProgramSettings(reference=0.38))
    return Autocorrelation(ProgramSettings(n=n, reference=1.5))


@given(st.lists(st.integers(0, 10**30), min_size=1), st.lists(st.integers(0, 10**9), min_size=1))
def test_a_convolution_is_the_product_of_polynomials(ours, theirs):
    product = [0] * (len(ours) + len(theirs) - 1)
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            product[i + j] += a * b
    assert convolve(ours, theirs) == product


def test_heights_are_cut_toward_zero_far_below_the_largest():
    assert to_integers([1.0, -(0.5**PLACES)]) == [2 ** (PLACES - 1), 0]
    assert to_integers([1e300, 5e-324]) == [int(1e300) >> (math.frexp(1e300)[1] - PLACES), 0]
    assert to_integers([3.0, -1.5, 0.0]) == [2**PLACES * 3 // 4, -(2**PLACES) * 3 // 8, 0]


@pytest.mark.parametrize(
    ("heights", "overlap"),
    [
        ([1.0], Fraction(1, 2)),
        ([0.25], Fraction(1, 2)),  # brought to 1/2
        ([0.0, 1.0], Fraction(1)),
        ([0.25, 0.5, 0.25], None),
        ([0.5, 0.75, 0.5, 0.25], None),
    ],
)
def test_overlaps_are_those_of_the_function_brought_to_integral_one(heights, overlap):
    mean, n = sum(map(Fraction, heights)) / len(heights), len(heights)
    if mean > Fraction(1, 2):
        f = [Fraction(height) / (2 * mean) for height in heights]
    else:
        f = [1 - (1 - Fraction(height)) / (2 - 2 * mean) for height in heights]
    assert sum(f) == Fraction(n, 2)
    pairs = [[(i, i + k) for i in range(n) if 0 <= i + k < n] for k in range(-n, n + 1)]
    most = max(sum((f[i] * (1 - f[j]) for i, j in each), Fraction(0)) for each in pairs) * Fraction(2, n)
    assert find_overlap(heights) == most
    assert overlap in {None, most}


@given(UNIT)
def test_a_function_and_its_complement_and_its_mirror_image_overlap_alike(heights):
    whole = [round(height * 2**20) / 2**20 for height in heights]
    assert find_overlap(whole) == find_overlap(whole[::-1]) == find_overlap([1 - height for height in whole])


def test_haugland_s_functions_of_two_and_three_steps_have_their_published_overlaps():
    assert float(find_overlap([1 / 3, 2 / 3])) == pytest.approx(4 / 9)
    outer, inner = 0.5 - math.sqrt(1 / 40), 0.5 + math.sqrt(1 / 10)
    assert float(find_overlap([outer, inner, outer])) == pytest.approx(2 / 5)


def sample(heights, n):
    """Return what an inequality measures, from the autoconvolution sampled between the steps."""
    fine = np.repeat(np.array(heights, float), 400)
    values = np.convolve(fine, fine)
    width = 0.5 / len(fine)
    most, integral = np.abs(values).max() * width, fine.sum() * width
    return (values**2).sum() * width**3 / (most * integral**2) if n == 2 else most / integral**2


@pytest.mark.parametrize("n", MEASURES)
@pytest.mark.parametrize("heights", [[1, 2, 4], [3, 0, 1, 5], [1]])
def test_autoconvolutions_are_those_of_fine_samples(n, heights):
    assert float(MEASURES[n](list(map(float, heights)))) == pytest.approx(sample(heights, n), rel=2e-3)


def test_the_third_inequality_admits_any_sign_and_looks_at_both_sides():
    assert find_signed_peak([1.0, -3.0, 1.0, 3.0]) == Fraction(8 * 17, 4)
    assert find_signed_peak([2.0, 2.0]) == find_peak([1.0, 1.0]) == 2
    assert find_flatness([1.0]) == Fraction(2, 3)


@given(SIGNED.filter(lambda heights: sum(heights) > 0), st.integers(-200, 200))
def test_a_common_factor_and_the_direction_do_not_matter(heights, exponent):
    scaled = [math.ldexp(height, exponent) for height in heights]
    assert find_signed_peak(scaled) == find_signed_peak([float(height) for height in heights[::-1]])


@pytest.mark.parametrize(
    ("n", "heights", "why"),
    [
        (None, [0.5, 1.0000000000000002], "height 1 is not from 0 to 1"),
        (None, [-5e-324], "height 0 is not from 0 to 1"),
        (1, [1.0, -5e-324], "height 1 is below 0"),
        (2, [-1.0], "height 0 is below 0"),
        (1, [0.0, 0.0], "all heights are 0"),
        (3, [1.0, -1.0], "the integral is not above 0"),
        (3, [-1.0, -1.0], "the integral is not above 0"),
        (3, [0.0], "the integral is not above 0"),
        (1, [], "expected from 1 to 2,000 steps, got 0"),
        (1, [1.0] * 2001, "expected from 1 to 2,000 steps, got 2001"),
        (1, [True], "the result is not a list of numbers"),
        (1, 1.0, "the result is not a list of numbers"),
        (1, [10**400], "a height is too large for a float"),
    ],
)
def test_nothing_is_tolerated_beyond_the_rules(n, heights, why):
    assert evaluator(n).score(heights) == Rejection(Reason.INVALID, why)


@pytest.mark.parametrize(("n", "better"), [(None, [0.2, 0.9, 0.2]), (1, [1.0, 1.0]), (2, [2.0, 1.0]), (3, [1.0, 1.0])])
def test_a_result_is_verified_from_the_log_and_a_changed_log_is_found_out(n, better):
    tested = evaluator(n)
    scored = tested.score(better)
    assert isinstance(scored, Scored)
    candidate = Candidate(7, "source", "key", scored.score, -scored.score, details=scored.details)
    verified = tested.verify(Discovery(candidate, 1, 0))
    assert float(verified.value) == pytest.approx(scored.details["value"], rel=1e-15)
    assert verified.is_larger_better is (n == 2)
    assert not verified.is_record
    (picture,) = tested.illustrate(Discovery(candidate, 1, 0)).values()
    assert picture.startswith(b"\x89PNG")
    changed = {**scored.details, "value": math.nextafter(float(str(scored.details["value"])), 0)}
    with pytest.raises(ServiceError, match="the result of call 7 differs from the logged one"):
        tested.verify(Discovery(Candidate(7, "source", "key", 1.0, -1.0, details=changed), 1, 0))


def test_each_inequality_says_what_it_measures_and_what_is_better():
    assert len({evaluator(n).quantity for n in MEASURES}) == 3
    assert [evaluator(n).is_larger_better for n in MEASURES] == [False, True, False]


@pytest.mark.parametrize("n", MEASURES)
def test_polished_steps_are_better_and_measured_as_the_evaluator_does(n):
    start = autocorrelation.lay_noise(np.random.default_rng(0), 20)
    better = autocorrelation.polish(start, n, 10)
    assert autocorrelation.quality(better, n) > autocorrelation.quality(start, n)
    sign = 1 if n == 2 else -1
    assert sign * float(MEASURES[n](better.tolist())) == pytest.approx(autocorrelation.quality(better, n))


def test_polished_overlaps_are_smaller_and_measured_as_the_evaluator_does():
    start = minimum_overlap.lay_waves(np.random.default_rng(1), 21)
    better = minimum_overlap.polish(start, 40)
    assert minimum_overlap.quality(better) > -0.3845 > minimum_overlap.quality(start)
    assert -float(find_overlap(better.clip(0, 1).tolist())) == pytest.approx(minimum_overlap.quality(better))
