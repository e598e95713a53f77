"""Values of results that were verified apart from their scores."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evodiverse.tasks.programs.circle_packing.packing import shrink
from evodiverse.tasks.programs.evaluator import BestKnown, Verified
from tests.tasks.programs.samples import find_fault

KNOWN = BestKnown("2.6359830849", "a paper")


def verified(value: str, *, is_larger_better: bool = True, best_known: BestKnown | None = KNOWN) -> Verified:
    return Verified("sum", Fraction(value), "by hand", best_known, is_larger_better)


@pytest.mark.parametrize(
    ("value", "is_larger_better", "is_record"),
    [
        ("2.6359830849", True, False),
        ("2.63598308494", True, False),  # the published value has been cut there
        ("2.6359830851", True, True),
        ("2.6359830847", True, False),
        ("2.6359830847", False, True),
        ("2.6359830851", False, False),
    ],
)
def test_a_record_is_better_by_more_than_the_published_digits(value, is_larger_better, is_record):
    assert verified(value, is_larger_better=is_larger_better).is_record is is_record


def test_nothing_is_a_record_where_no_value_is_known():
    assert not verified("1000", best_known=None).is_record
    assert verified("1000", best_known=None).behind is None


def test_the_file_says_how_far_a_value_is_from_the_best_known():
    told = verified("2.6").tell()
    assert told["behind_by"] == pytest.approx(0.0359830849)
    assert (told["value"], told["best_known"], told["source"]) == (2.6, 2.6359830849, "a paper")
    assert told["is_record"] is False


def test_the_exact_check_finds_each_kind_of_fault():
    assert find_fault([[0.25, 0.5], [0.75, 0.5]], [0.25, 0.25]) is None
    assert find_fault([[0.25, 0.5], [0.75, 0.5]], [0.25, math.nextafter(0.25, 1)]) == "circle 1 leaves the square"
    assert find_fault([[0.3, 0.5], [0.75, 0.5]], [0.25, 0.25]) == "circles 0 and 1 overlap"
    assert find_fault([[0.3, 0.5]], [-0.1]) == "circle 0 has a negative radius"


@given(arrays(float, (6, 3), elements=st.floats(0, 1)))
def test_the_exact_check_passes_whatever_was_shrunk(circles):
    centers, radii = circles[:, :2], circles[:, 2] / 3
    assert find_fault(centers.tolist(), shrink(centers, radii).tolist()) is None


def test_the_exact_check_refuses_what_floats_cannot_distinguish():
    radius = math.nextafter(math.sqrt(0.5) / 4, 1)
    centers = np.array([[0.25, 0.25], [0.5, 0.5]])
    assert find_fault(centers.tolist(), [radius, radius]) == "circles 0 and 1 overlap"
