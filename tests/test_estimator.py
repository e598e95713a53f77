"""The estimator for scikit-learn, on real searches."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.utils.estimator_checks import check_estimator

from evodiverse import EquationRegressor
from evodiverse.errors import InputError
from tests.runs import FROM_ROOT

RNG = np.random.default_rng(0)
DATA = pd.DataFrame(RNG.uniform(1, 3, (60, 2)), columns=["dose in mg", "weight"])
TARGET = 2 * DATA["dose in mg"] / DATA["weight"] + 0.1 * RNG.normal(size=60)


@pytest.mark.slow
def test_an_equation_is_found_and_can_be_applied_and_written(tmp_path: Path) -> None:
    model = EquationRegressor(calls=100, outputs=tmp_path, settings={"method.swap.period": 1}).fit(DATA, TARGET)
    assert model.score(DATA, TARGET) > 0.98
    assert model.variables_ == ["dose_in_mg", "weight"]
    assert model.equation_ in model.equations_
    sizes = [one.size for one in model.equations_]
    assert sizes == sorted(sizes)
    assert [one.error for one in model.equations_] == sorted((one.error for one in model.equations_), reverse=True)
    for size in (None, sizes[0]):
        dose, weight = sympy.symbols(model.variables_, real=True)
        function = sympy.lambdify([dose, weight], model.sympy(size))
        expected = np.broadcast_to(function(*DATA.to_numpy().T), len(DATA))
        np.testing.assert_allclose(model.predict(DATA, size), expected, rtol=1e-6)
        assert model.latex(size).startswith("y = ")
    with pytest.raises(InputError, match="no equation of size 999"):
        model.latex(999)
    (made,) = tmp_path.rglob("run.json")
    before = made.stat().st_mtime_ns
    again = EquationRegressor(calls=100, outputs=tmp_path, settings={"method.swap.period": 1}).fit(DATA, TARGET)
    assert again.equations_ == model.equations_
    assert made.stat().st_mtime_ns == before  # the run is only read
    EquationRegressor(calls=4, outputs=tmp_path).fit(DATA, TARGET + 1)
    assert len(list(tmp_path.glob("data-*.csv"))) == 2  # no run loses its data


@pytest.mark.slow
def test_columns_that_settings_leave_out_may_stay_in_the_data_and_numbers_may_be_numpys() -> None:
    data = DATA.assign(row=np.arange(60), sd=0.1)
    settings = {"task.data.ignore": ["row"], "task.data.sigma": "sd"}
    model = EquationRegressor(calls=np.int64(4), settings=settings).fit(data, TARGET)  # type: ignore[arg-type]
    assert model.variables_ == ["dose_in_mg", "weight"]
    np.testing.assert_array_equal(model.predict(data.assign(row=0, sd=9)), model.predict(data))


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_pass() -> None:
    check_estimator(EquationRegressor(calls=4), on_skip=None)  # all of them apply


def test_scikit_learn_is_only_loaded_for_the_estimator() -> None:
    code = "import sys, evodiverse; evodiverse.load; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], env=FROM_ROOT, capture_output=True, text=True, check=True)
    assert "sklearn" not in loaded.stdout.split()
    assert EquationRegressor.__module__ == "evodiverse.estimator"
