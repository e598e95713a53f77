"""What a run has found can be applied to other data, from Python and with `evodiverse-predict`."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.optimize import curve_fit
from scipy.stats import t

import evodiverse
from evodiverse.api import Run
from evodiverse.errors import InputError
from evodiverse.kit.tables import TextFile
from evodiverse.ports import Discovery
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.equations.csv_data import read_columns
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.problems import Dataset, FloatArray, Rows, Splits, Variable
from evodiverse.tasks.equations.result import Predict, bootstrap_intervals, find_intervals, read_result
from evodiverse.tasks.equations.settings import DataSettings, EquationSettings
from evodiverse.tasks.equations.task import EquationTask
from evodiverse.vocabulary import Candidate, Hypothesis
from tests.results.builders import write_record
from tests.runs import FROM_ROOT

RNG = np.random.default_rng(0)
LOAD, FORCE = RNG.uniform(1, 4, (2, 40))
LENGTH = 3 * np.sqrt(LOAD) / FORCE + 0.01 * RNG.normal(size=40)
NONE = Rows(np.empty((0, 2)), np.empty(0))
FORMS = ("params[0] * load + params[1]", "params[0] * np.sqrt(load) / force")


@pytest.fixture(scope="module")
def files() -> Iterator[dict[str, bytes]]:
    """What the task shows of a short front: the second equation is the law."""
    sandbox = ProcessSandbox([fitting.__name__])
    splits = Splits(Rows(np.stack([LOAD, FORCE], 1), LENGTH), NONE, Rows(np.array([[-1.0, 2.0]] * 3), np.arange(3.0)))
    dataset = Dataset(Variable("length", ""), (Variable("load", ""), Variable("force", "")), splits)
    task = EquationTask(dataset, sandbox, EquationSettings(problem="csv/x", data=DataSettings(hold_back=0.0)))
    parsed = task.parse([f"def equation(load, force, params):\n    return {form}\n" for form in FORMS])
    hypotheses = [one for one in parsed if isinstance(one, Hypothesis)]
    yield task.show_best(
        [
            Discovery(Candidate(call, one.genotype, one.key, made.score, made.energy, details=made.details), 0, None)
            for call, (one, made) in enumerate(zip(hypotheses, task.evaluate(hypotheses), strict=True), start=1)
        ]
    )
    sandbox.close()


@pytest.fixture
def run(files: dict[str, bytes], tmp_path: Path) -> Run:
    write_record(tmp_path / "run", task__domain="evodiverse.tasks.equations")
    (tmp_path / "run/best").mkdir()
    for name, content in files.items():
        (tmp_path / "run/best" / name).write_bytes(content)
    return evodiverse.load(tmp_path / "run")


def about(run: Run) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((run.path / "best/equation.json").read_text())
    return known


def test_predictions_are_those_of_the_module_that_the_run_writes(run: Run, files: dict[str, bytes]) -> None:
    module: dict[str, Any] = {}
    exec(files["equation.py"], module)  # noqa: S102
    columns = {"force": FORCE[:5], "note": ["a"] * 5, "load": LOAD[:5]}
    tables = [columns, pd.DataFrame(columns), pa.table(columns), np.stack([LOAD, FORCE], 1)[:5]]
    for table in tables:
        np.testing.assert_allclose(run.predict(table), module["equation"](LOAD[:5], FORCE[:5]), rtol=1e-15)


def test_any_equation_of_the_front_predicts_and_others_are_refused(run: Run) -> None:
    listed = (run.path / "best/hall_of_fame.csv").read_text().splitlines()
    sizes = [int(row["complexity"]) for row in csv.DictReader(listed)]
    simple = run.predict({"load": LOAD, "force": FORCE}, size=sizes[0])
    np.testing.assert_allclose(simple, LENGTH.mean(), rtol=0.05)  # the load alone says too little to pay for a slope
    with pytest.raises(InputError, match=f"no equation of size 99; its sizes are {', '.join(map(str, sizes))}"):
        run.predict({"load": LOAD, "force": FORCE}, size=99)


def test_what_is_not_finite_is_nan(run: Run) -> None:
    predicted = run.predict({"load": [-1, 4, 1, np.nan], "force": [1, 1, 0, 1]})
    assert np.isnan(predicted).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"load": [1.0]}, "the data lack the columns force; they have load"),
        ({"load": ["a"], "force": [1]}, "the column load must hold numbers"),
        ({"load": [1, 2], "force": [1]}, "must be one-dimensional and of the same length"),
        (np.ones((4, 3)), r"expected an array of shape \(n, 2\) for load, force, got \(4, 3\)"),
        ([1.0, 2.0], r"got \(2,\)"),
        (pd.Series([1.0, 2.0]), r"expected an array of shape \(n, 2\) for load, force, got \(2,\)"),
        (5, r"expected an array of shape \(n, 2\) for load, force, got \(\)"),
    ],
)
def test_data_that_do_not_fit_are_refused(run: Run, data: object, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        run.predict(data)


def test_intervals_are_shown_beside_the_constants_and_follow_from_data(run: Run, files: dict[str, bytes]) -> None:
    shown = np.array(about(run)["intervals"])
    params = about(run)["params"]
    expected = find_intervals(lambda values: values[0] * np.sqrt(LOAD) / FORCE, params, LENGTH)
    np.testing.assert_allclose(shown, expected, rtol=1e-9)
    data = {"load": LOAD, "force": FORCE, "length": LENGTH}
    np.testing.assert_allclose(run.intervals(data), expected, rtol=1e-9)
    np.testing.assert_allclose(run.intervals(data, bootstrap=200), expected, rtol=0.01)
    assert f"# 95% intervals: {shown[0][0]:.4g} to {shown[0][1]:.4g}\n" in files["equation.py"].decode()
    with pytest.raises(InputError, match="row 2 has no finite target"):
        run.intervals({**data, "length": [1, np.nan, *LENGTH[2:]]})


def test_a_split_without_an_error_says_why(run: Run) -> None:
    assert about(run)["no_error"] == {"ood": "sqrt(-1) in row 1 is not a finite number (3 of 3 rows)"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda known: known.pop("front"), "is from an older version; run it again with overwrite=true"),
        (lambda known: known["front"][1].update(source="import os"), "is damaged"),
        (lambda known: known["front"][1].update(params=[]), "is damaged"),
        (lambda known: known.update(call=7), "is damaged"),
    ],
)
def test_files_that_cannot_be_used_are_named(run: Run, change: Any, expected: str) -> None:
    known = about(run)
    change(known)
    (run.path / "best/equation.json").write_text(json.dumps(known))
    with pytest.raises(InputError, match=rf"equation\.json {expected}"):
        run.predict({"load": LOAD, "force": FORCE})


def test_an_equation_that_is_too_large_does_not_affect_the_others(run: Run) -> None:
    known = about(run)
    doubling = "".join(f"    load = load * load + {at}\n" for at in range(12))
    known["front"][0]["source"] = f"def equation(load, force, params):\n{doubling}    return load\n"
    (run.path / "best/equation.json").write_text(json.dumps(known))
    data = {"load": LOAD, "force": FORCE}
    assert np.isfinite(run.predict(data)).all()
    with pytest.raises(InputError, match="is too large to be read; choose another size"):
        run.predict(data, size=known["front"][0]["complexity"])


def test_a_run_without_equations_is_refused(tmp_path: Path) -> None:
    write_record(tmp_path)
    with pytest.raises(InputError, match="use a run of equations that has found one"):
        evodiverse.load(tmp_path).predict({})


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", "from evodiverse.commands.predict import main; raise SystemExit(main())"]
    return subprocess.run([*words, *map(str, arguments)], env=FROM_ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_the_command_adds_a_column_to_the_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text('note,force,load\n"a, b",2,4.0\nc,1,-1\n')
    told = command(run.path, tmp_path / "new.csv")
    assert (told.returncode, told.stderr) == (0, "")
    (first, second) = csv.DictReader(io.StringIO(told.stdout))
    assert first == {"note": "a, b", "force": "2", "load": "4.0", "predicted": first["predicted"]}
    assert float(first["predicted"]) == run.predict({"load": [4], "force": [2]})[0]
    assert second["predicted"] == ""
    (tmp_path / "german.csv").write_text("load;force\n4,0;2,0\n")
    told = command(run.path, tmp_path / "german.csv", "--size", about(run)["front"][0]["complexity"])
    assert told.returncode == 0
    told = command(run.path, tmp_path / "german.csv", "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == f"4,0;2,0;{first['predicted'].replace('.', ',')}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("load\n1\n", "the data lack the columns force; they have load"),
        ("load,force\n1,a\n", "row 1 of the column 'force' must be a number, got 'a'; correct or remove it"),
        ("load,force\n1\n", "row 1 has 1 cell, expected 2; correct it"),
        ("load,force,predicted\n1,1,1\n", "already has a column predicted; rename it"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_line_and_exit_code_2(
    run: Run, tmp_path: Path, text: str, expected: str
) -> None:
    (tmp_path / "new.csv").write_text(text)
    told = command(run.path, tmp_path / "new.csv")
    assert (told.returncode, told.stdout) == (2, "")
    assert expected in told.stderr
    assert told.stderr.count("\n") == 1


def test_columns_are_found_as_the_run_has_read_them(run: Run) -> None:
    """Columns that differ only in their units, in another order, and texts that pandas reads as truth values."""
    known = about(run) | {"labels": {"load": "x [m]", "force": "x (s)"}}
    (run.path / "best/equation.json").write_text(json.dumps(known))
    expected = run.predict({"load": LOAD, "force": FORCE})
    np.testing.assert_array_equal(run.predict({"x (s)": FORCE, "x [m]": LOAD}), expected)
    known |= {"categories": {"load": ["on", "true"], "force": ["on", "FALSE"]}, "labels": {}}
    (run.path / "best/equation.json").write_text(json.dumps(known))
    table = pd.read_csv(io.StringIO("on\ntrue\nFALSE\n"))
    np.testing.assert_array_equal(run.predict(table), run.predict({"load": [1, 0], "force": [0, 1]}))


def test_a_row_without_a_value_has_no_prediction(run: Run, tmp_path: Path) -> None:
    known = about(run) | {"categories": {"load": ["sex", "male"], "other": ["sex", "female"]}}
    (run.path / "best/equation.json").write_text(json.dumps(known))
    path = tmp_path / "new.csv"
    path.write_text("force,sex\n4,male\nNA,male\n,male\n4,NA\n4,\n4,n/a\n")
    table, result = TextFile(path).table(), read_result(run.path)
    columns = read_columns(path, table, [cells for _, cells in table.rows], result)
    expected = [result.predict({"load": [1], "force": [4]})[0], *[np.nan] * 5]
    np.testing.assert_array_equal(result.predict(columns), expected)
    for of_pandas in (pd.read_csv(path), pd.read_csv(path).astype({"sex": "string"}), pa.table(pd.read_csv(path))):
        np.testing.assert_array_equal(run.predict(of_pandas), expected)
    with pytest.raises(InputError, match="the column sex has the value 'm'; known are male, female"):
        run.predict({"force": [1, 2], "sex": ["m", None]})


def test_intervals_weigh_the_rows_as_the_run_did(run: Run) -> None:
    known = about(run) | {"sigma": "sd"}
    (run.path / "best/equation.json").write_text(json.dumps(known))
    sigma = np.linspace(0.1, 1, 40)
    data = {"load": LOAD, "force": FORCE, "length": LENGTH, "sd": sigma}
    expected = find_intervals(lambda values: values[0] * np.sqrt(LOAD) / FORCE, known["params"], LENGTH, 1 / sigma)
    np.testing.assert_allclose(run.intervals(data), expected, rtol=1e-9)
    with pytest.raises(InputError, match="lack the columns sd"):
        run.intervals({name: data[name] for name in ("load", "force", "length")})
    with pytest.raises(InputError, match=r"sd of task\.data\.sigma must be above 0"):
        run.intervals({**data, "sd": sigma - 0.1})


def test_predictions_replace_no_device_and_need_a_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("load,force\n1,1\n")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = command(run.path, tmp_path / "new.csv", "--out", str(pipe))
    assert told.returncode == 2
    assert "is neither a file nor a folder" in told.stderr
    assert pipe.is_fifo()
    told = command(run.path, tmp_path / "new.csv", "--out", tmp_path / "none/x.csv")
    assert told.returncode == 2
    expected = f"cannot write {tmp_path}/none/x.csv (No such file or directory); name a file in a writable folder"
    assert told.stderr.splitlines() == [f"evodiverse: {expected}"]


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
