"""PySR's hall of fame: read from a stand-in, and from PySR itself where that and Julia are."""

import shutil
import sys
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evodiverse.tasks.equations.baselines import pysr
from evodiverse.tasks.equations.baselines.engine import Order
from evodiverse.tasks.equations.operators.trees import evaluate

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
    assert [model.constants for model in front.models] == [(), (2.5,)]
    model = front.models[front.selected]
    assert evaluate(model.tree, {"S": INPUTS[:, 0], "beta": INPUTS[:, 1]}, model.constants) == pytest.approx(TARGET)


def test_the_budget_and_the_seed_are_pysr_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysr", SimpleNamespace(PySRRegressor=Regressor))
    pysr.find_models(ORDER)
    asked = made[-1].settings
    assert (asked["timeout_in_seconds"], asked["max_evals"], asked["random_state"]) == (20, None, 3)
    assert (asked["deterministic"], asked["parallelism"]) == (True, "serial")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(find_spec("pysr") is None, reason="PySR is not installed; pip install pysr")
@pytest.mark.skipif(shutil.which("julia") is None, reason="Julia is not installed, without which PySR would fetch it")
def test_pysr_itself_finds_the_law() -> None:
    front = pysr.find_models(ORDER)
    columns = {"S": INPUTS[:, 0], "beta": INPUTS[:, 1]}
    errors = [np.var(evaluate(model.tree, columns, model.constants) - TARGET) for model in front.models]
    assert min(errors) < 1e-6 * np.var(TARGET)
