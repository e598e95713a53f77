"""Transforms by hand, and what holds for all."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.molecules.objective.transforms import (
    TRANSFORMS,
    DoubleSigmoid,
    Gaussian,
    Linear,
    MaxGaussian,
    MinGaussian,
    Sigmoid,
    Step,
    Thresholded,
    Transform,
)

EXAMPLES = [
    Gaussian(2.0, 0.5),
    MinGaussian(2.0, 0.5),
    MaxGaussian(2.0, 0.5),
    Linear(1.0, 3.0),
    Linear(3.0, 1.0),
    Sigmoid(1.0, 3.0),
    DoubleSigmoid(1.0, 3.0, 0.1),
    Step(2.0),
    Step(2.0, above=False),
    Thresholded(0.75),
]


@pytest.mark.parametrize(
    ("transform", "raw", "expected"),
    [
        (Gaussian(2.0, 0.5), 2.0, 1.0),
        (Gaussian(2.0, 0.5), 2.5, exp(-0.5)),
        (Gaussian(2.0, 0.5), 1.5, exp(-0.5)),
        (MinGaussian(2.0, 0.5), -9.0, 1.0),
        (MinGaussian(2.0, 0.5), 2.5, exp(-0.5)),
        (MaxGaussian(2.0, 0.5), 99.0, 1.0),
        (MaxGaussian(2.0, 0.5), 1.5, exp(-0.5)),
        (Linear(1.0, 3.0), 1.5, 0.25),
        (Linear(10.0, 1.0), 1.0, 1.0),
        (Linear(10.0, 1.0), 4.0, 6 / 9),
        (Linear(1.0, 3.0), 7.0, 1.0),
        (Linear(1.0, 3.0), 0.0, 0.0),
        (Sigmoid(1.0, 3.0), 2.0, 0.5),
        (Sigmoid(1.0, 3.0), 3.0, 1 / (1 + exp(-2))),
        (Sigmoid(3.0, 1.0), 3.0, 1 / (1 + exp(2))),
        (DoubleSigmoid(1.0, 9.0, 0.5), 5.0, (1 + 19**-8) ** -2),
        (DoubleSigmoid(1.0, 9.0, 0.5), 1.0, 0.5),
        (DoubleSigmoid(1.0, 9.0, 0.5), 9.5, 0.05),
        (DoubleSigmoid(1.0, 1.5, 0.5), 1.25, (19**0.5 / (1 + 19**0.5)) ** 2),
        (Step(2.0), 2.0, 1.0),
        (Step(2.0), 1.99, 0.0),
        (Step(2.0, above=False), 2.0, 1.0),
        (Step(2.0, above=False), 2.01, 0.0),
        (Thresholded(0.75), 0.75, 1.0),
        (Thresholded(0.75), 0.25, 1 / 3),
    ],
)
def test_a_transform_by_hand(transform: Transform, raw: float, expected: float) -> None:
    assert transform(np.array([raw]))[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("transform", EXAMPLES, ids=lambda transform: type(transform).__name__)
@given(raw=st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_every_number_becomes_a_score(transform: Transform, raw: list[float]) -> None:
    with np.errstate(over="ignore"):
        scores = transform(np.array(raw))
    assert scores.shape == (len(raw),)
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("transform", EXAMPLES, ids=lambda transform: type(transform).__name__)
def test_what_is_no_number_stays_none(transform: Transform) -> None:
    assert np.isnan(transform(np.array([np.nan])))[0]


def test_every_transform_is_tested_here() -> None:
    assert {type(example) for example in EXAMPLES} == set(TRANSFORMS.values())
