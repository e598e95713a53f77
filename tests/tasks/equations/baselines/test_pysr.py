"""PySR's hall of fame: read from a stand-in, and from PySR itself where that and Julia are."""

import shutil
import sys
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evodiverse.tasks.equations.baselines import Order, pysr
from evodiverse.tasks.equations.skeleton import SkeletonError

INPUTS = np.random.default_rng(0).uniform(0.5, 2, size=(100, 2))
TARGET = 2.5 * np.cos(INPUTS[:, 0]) + INPUTS[:, 1]
ORDER = Order(INPUTS, TARGET, ("S", "beta"), 3, 20, None)


class Regressor:
    """A stand-in for PySR's, whose hall of fame has two equations."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.equations_ = pd.DataFrame({"complexity": [1, 6], "equation": ["x1", "(2.5 * cos(x0)) + x1"]})
        made.append(self)

    def fit(self, inputs: np.ndarray, target: np.ndarray) -> None:
        assert (inputs.shape, target.shape) == ((100, 2), (100,))

    def get_best(self) -> pd.Series:
        return self.equations_.loc[1]


made: list[Regressor] = []


def test_the_hall_of_fame_is_read_with_our_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysr", SimpleNamespace(PySRRegressor=Regressor))
    front = pysr.find_models(ORDER)
    assert [model.constants for model in front.models] == [[], [2.5]]
    model = front.models[front.selected]
    assert model.tree.evaluate({"S": INPUTS[:, 0], "beta": INPUTS[:, 1]}, model.constants) == pytest.approx(TARGET)


def test_the_budget_and_the_seed_are_pysr_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysr", SimpleNamespace(PySRRegressor=Regressor))
    pysr.find_models(ORDER)
    asked = made[-1].settings
    assert (asked["timeout_in_seconds"], asked["max_evals"], asked["random_state"]) == (20, None, 3)
    assert (asked["deterministic"], asked["parallelism"]) == (True, "serial")


NAMES = {"x0": "a", "x1": "b"}
A, B = np.array([0.5, 2.0, 3.0]), np.array([1.5, -0.5, 0.25])


@pytest.mark.parametrize(
    ("text", "expected", "constants"),
    [
        ("((x0 * 2.5) + cos(x1)) / -0.5", (A * 2.5 + np.cos(B)) / -0.5, (2.5, -0.5)),
        ("x1 ^ 2 - 1.5e-7", B**2 - 1.5e-7, (1.5e-7,)),
        ("-x0 ^ 2.0", -(A**2), ()),
        ("x0 ^ -3", A**-3.0, ()),
        ("x0 ^ 0.5 ^ x1", A ** (0.5**B), (0.5,)),
        ("x0 ^ x1 * 3", A**B * 3, (3.0,)),
        ("log(x0) + sqrt(abs(x1))", np.log(A) + np.sqrt(np.abs(B)), ()),
    ],
)
def test_a_text_means_what_its_author_means(text: str, expected: np.ndarray, constants: tuple[float, ...]) -> None:
    model = pysr.read_infix(text, NAMES)
    assert tuple(model.constants) == constants
    assert model.tree.evaluate({"a": A, "b": B}, model.constants) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["x2 + 1", "__import__('os').system('true')", "open(x0)", "x0.real", "x0 if x1 else 1", "True", "x0; x1", "x0 +"],
)
def test_whatever_is_no_arithmetic_of_the_variables_is_refused(text: str) -> None:
    with pytest.raises(SkeletonError, match=r"line|not Python"):
        pysr.read_infix(text, NAMES)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(find_spec("pysr") is None, reason="PySR is not installed; pip install pysr")
@pytest.mark.skipif(shutil.which("julia") is None, reason="Julia is not installed, without which PySR would fetch it")
def test_pysr_itself_finds_the_law() -> None:
    front = pysr.find_models(ORDER)
    columns = {"S": INPUTS[:, 0], "beta": INPUTS[:, 1]}
    errors = [np.var(model.tree.evaluate(columns, model.constants) - TARGET) for model in front.models]
    assert min(errors) < 1e-6 * np.var(TARGET)
