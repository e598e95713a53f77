"""In which units a fit looks for parameters."""

import math

import numpy as np
import pytest

from evodiverse.tasks.equations.fitter import Range, Unit, find_ranges, find_units
from evodiverse.tasks.equations.skeleton import read_skeleton

NAMES = ("x", "t", "date")
RANGES = {"x": Range(0.0, 4.0, 2.0), "t": Range(100.0, 140.0, 120.0), "date": Range(990.0, 1010.0, 1000.0)}


def units(expression: str) -> list[Unit]:
    skeleton = read_skeleton(f"def equation(x, t, date, params):\n    return {expression}\n", NAMES)
    return find_units(skeleton.source, skeleton.n_params, RANGES)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("np.exp(params[0] * t)", [(1 / 120,)]),
        ("np.exp(params[0] / t)", [(120,)]),
        ("np.log(1 + params[0] * x)", [(0.5,)]),
        ("x / (x + params[0])", [(2, 0, -4)]),
        ("np.tanh(t + params[0])", [(120, -100, -140)]),
        ("np.tanh(t - params[0])", [(120, 100, 140)]),
        ("np.tanh(params[0] - t)", [(120, 100, 140)]),
        ("x ** params[0]", [(1,)]),
        ("1 / (1 + params[0] * (t - params[1]) ** 2)", [(1 / 400,), (120, 100, 140)]),
        ("params[0] + x * t", [(240,)]),
        ("np.sin(params[0] * date) + params[1] * date", [(0.1,), (0.1,)]),
        ("np.tanh(date - params[0])", [(10, 990, 1010)]),
    ],
)
def test_a_parameter_is_as_large_as_what_it_meets(expression: str, expected: list[tuple[float, ...]]) -> None:
    assert [pytest.approx(unit) for unit in units(expression)] == expected


@pytest.mark.parametrize(
    "expression",
    [
        *("params[0] * (x - x)", "params[0] * 0 * x", "params[0] / (1e-300 * x)"),
        *("date + (params[0] * x) ** 0.001", "date**60 + np.sqrt(params[0] * x)"),
    ],
)
def test_a_unit_is_a_number_whatever_a_parameter_meets(expression: str) -> None:
    assert all(0 < unit[0] < math.inf for unit in units(expression))


def test_a_skeleton_too_large_for_a_tree_has_units_of_one() -> None:
    body = "    y = x\n    for i in range(20):\n        y = y * y + params[0]\n    return y\n"
    huge = read_skeleton(f"def equation(x, t, date, params):\n{body}", NAMES)
    assert find_units(huge.source, huge.n_params, RANGES) == [(1.0,)] * huge.n_params


def test_ranges_are_those_of_the_columns() -> None:
    assert find_ranges(["a", "b"], np.array([[3.0, -1.0], [-4.0, 1.0]])) == {
        "a": (-4.0, 3.0, pytest.approx(math.sqrt(12.5))),
        "b": (-1.0, 1.0, 1.0),
    }
