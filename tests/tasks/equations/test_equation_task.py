"""The equation domain: what is fitted, scored and logged, in the real sandbox."""

import csv
import json
import math
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import curve_fit

from evodiverse.ports import Discovery
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.equations import report
from evodiverse.tasks.equations.data import hold_back, read_dataset
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.initial import initial_skeletons
from evodiverse.tasks.equations.metrics import measure_split
from evodiverse.tasks.equations.problems import PROBLEMS, Dataset, Rows, Splits, Variable
from evodiverse.tasks.equations.settings import DataSettings, EquationSettings
from evodiverse.tasks.equations.skeleton import read_skeleton
from evodiverse.tasks.equations.task import EquationTask
from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis, Job, Rejection, Stream

X = np.linspace(0.5, 3, 60)
POLES = "params[2] / (x - params[3]) + params[4] / (x - params[5])"
EXACT_DATES = "params[0] * (x - params[1]) * (x - params[2]) * x + params[3]"
SPLITS = Splits(*(Rows(x[:, None], 3 * x + 2) for x in (X, X[:20] + 0.01, X[:10] + 5)))
DATASET = Dataset(Variable("y", ""), (Variable("x", ""),), SPLITS)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox([fitting.__name__])
    yield sandbox
    sandbox.close()


def make_task(
    sandbox: ProcessSandbox,
    dataset: Dataset = DATASET,
    *,
    hold_back: float | None = 0.0,
    normalize: str = "target",
    **settings: Any,
) -> EquationTask:
    data = DataSettings(hold_back=hold_back, normalize=normalize)
    return EquationTask(
        dataset, sandbox, EquationSettings(problem="csv/x", data=data, **settings), initial_skeletons(dataset.names)
    )


def evaluate(task: EquationTask, expression: str) -> Evaluation:
    (parsed,) = task.parse([f"def equation(x, params):\n    return {expression}\n"])
    assert isinstance(parsed, Hypothesis), parsed
    return task.evaluate([parsed])[0]


def test_a_law_is_found_exactly_and_holds_beyond(sandbox: ProcessSandbox) -> None:
    evaluation = evaluate(make_task(sandbox), "params[0] * x + params[1]")
    assert evaluation.valid
    assert evaluation.energy == math.log(1e-12)
    assert evaluation.score is not None
    assert -1e-20 < evaluation.score <= 0
    assert json.loads(str(evaluation.details["params"])) == pytest.approx([3, 2])
    assert evaluation.details["nmse_ood"] == pytest.approx(0, abs=1e-20)
    assert [evaluation.details[f"acc01_{name}"] for name in ("id", "ood", "95_id", "95_ood")] == [1, 1, 1, 1]


@pytest.mark.parametrize("fit", ["lm", "bfgs"])
@pytest.mark.parametrize("normalize", ["target", "none"])
def test_errors_are_those_of_numpy_s_polynomial_fit(sandbox: ProcessSandbox, fit: str, normalize: str) -> None:
    noisy = Rows(SPLITS.train.inputs, SPLITS.train.target + np.random.default_rng(0).normal(size=60))
    dataset = Dataset(DATASET.target, DATASET.variables, Splits(noisy, *SPLITS[1:]))
    task = make_task(sandbox, dataset, fit=fit, normalize=normalize)
    evaluation = evaluate(task, "params[0] * x + params[1]")
    slope, offset = np.polyfit(X, noisy.target, 1)
    mse = np.mean((slope * X + offset - noisy.target) ** 2)
    unit = np.var(noisy.target) if normalize == "target" else 1.0
    assert evaluation.score == pytest.approx(-mse / unit, rel=1e-6)
    assert evaluation.energy == pytest.approx(math.log(mse / unit), rel=1e-6)
    assert evaluation.details["mse"] == pytest.approx(mse / unit, rel=1e-6)
    assert evaluation.details["nmse_train"] == pytest.approx(mse / np.var(noisy.target), rel=1e-6)
    held_out = slope * SPLITS.test_ood.inputs[:, 0] + offset - SPLITS.test_ood.target
    nmse_ood = np.mean(held_out**2) / np.var(SPLITS.test_ood.target)
    assert evaluation.details["nmse_ood"] == pytest.approx(nmse_ood, rel=1e-4)


def test_the_raw_error_may_be_the_energy(sandbox: ProcessSandbox) -> None:
    evaluation = evaluate(make_task(sandbox, energy="raw_mse"), "params[0]")
    assert evaluation.energy == pytest.approx(1.0)
    assert evaluation.score == pytest.approx(-1.0)


@pytest.mark.parametrize("expression", ["np.log(x - 1)", "1 / (x - x)", "np.exp(np.exp(np.exp(x)))", "1e200 * x"])
def test_predictions_that_are_no_numbers_or_overflow_fail(sandbox: ProcessSandbox, expression: str) -> None:
    evaluation = evaluate(make_task(sandbox), expression)
    assert (evaluation.score, evaluation.energy, evaluation.valid) == (None, None, False)
    assert evaluation.error.startswith("non_finite: ")


@pytest.mark.parametrize(
    ("fit", "share", "n_held"), [("lm", None, 12), ("bfgs", None, 0), ("bfgs", 0.5, 30), ("lm", 0.0, 0)]
)
def test_the_papers_fit_sees_all_rows_and_ours_holds_a_fifth_back_unless_told_otherwise(
    sandbox: ProcessSandbox, fit: str, share: float | None, n_held: int
) -> None:
    noise = np.random.default_rng(0).normal(size=60)
    dataset = Dataset(DATASET.target, DATASET.variables, SPLITS._replace(train=Rows(X[:, None], noise)))
    evaluation = evaluate(make_task(sandbox, dataset, hold_back=share, fit=fit), "params[0]")
    fitted, held = hold_back(dataset.splits.train, n_held / 60)
    assert len(held.target) == n_held
    assert evaluation.details["mse"] == pytest.approx(np.var(fitted.target) / np.var(noise))
    assert ("nmse_held" in evaluation.details) == (n_held > 0)


def test_what_fails_on_held_out_data_alone_is_scored_all_the_same(sandbox: ProcessSandbox) -> None:
    evaluation = evaluate(make_task(sandbox), "params[0] * x + params[1] + np.where(x > 4, np.log(-x), 0)")
    assert evaluation.valid
    assert evaluation.details["acc01_id"] == 1
    assert "nmse_ood" not in evaluation.details
    assert (evaluation.details["acc01_ood"], evaluation.details["acc01_95_ood"]) == (0, 0)


def test_a_fit_that_takes_too_long_fails(sandbox: ProcessSandbox) -> None:
    big = Rows(np.tile(SPLITS.train.inputs, (20_000, 1)), np.tile(SPLITS.train.target, 20_000))
    task = make_task(sandbox, Dataset(DATASET.target, DATASET.variables, Splits(big, *SPLITS[1:])), timeout=0.2)
    evaluation = evaluate(task, " + ".join(f"np.sin(params[{at}] * x)" for at in range(10)))
    assert evaluation.score is None
    assert evaluation.error.startswith("timed_out: ")


def test_a_fit_that_fails_takes_none_down_with_it(sandbox: ProcessSandbox) -> None:
    task = make_task(sandbox)
    sources = ["params[0]", "np.log(-x)", "params[0] & x", "params[0] * x + params[1]"]
    parsed = task.parse([f"def equation(x, params):\n    return {source}\n" for source in sources])
    together = task.evaluate([one for one in parsed if isinstance(one, Hypothesis)])
    assert [evaluation.valid for evaluation in together] == [True, False, False, True]
    assert [evaluation.error.partition(":")[0] for evaluation in together] == ["", "non_finite", "crashed", ""]
    alone = [task.evaluate([one])[0] for one in parsed if isinstance(one, Hypothesis)]
    assert together == alone


def test_an_equation_without_numbers_takes_no_process_of_its_own(
    sandbox: ProcessSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[Job] = []
    run = sandbox.run
    monkeypatch.setattr(sandbox, "run", lambda some: (jobs.extend(some), run(some))[1])
    task = make_task(sandbox)
    broken = "params[0] * np.log(-x) + params[1] / (x - x)"
    texts = [f"def equation(x, params):\n    return {right}\n" for right in ("params[0] * x", broken, "x")]
    parsed = [one for one in task.parse(texts) if isinstance(one, Hypothesis)]
    assert [evaluation.valid for evaluation in task.evaluate(parsed)] == [True, False, True]
    assert len(jobs) == 1


def test_the_floor_of_the_energy_is_in_units_of_the_variance(sandbox: ProcessSandbox) -> None:
    small = Splits(*(Rows(inputs, 1e-8 * target) for inputs, target, _ in SPLITS))
    dataset = Dataset(DATASET.target, DATASET.variables, small)
    task = make_task(sandbox, dataset, normalize="none")
    evaluation = evaluate(task, "params[0]")
    assert evaluation.energy == pytest.approx(math.log(np.var(small.train.target)))


ENDINGS = {  # equations with which searches for 0.3 * c + 2.5 * exp(-0.7 * b) * a ended; they equal it on the data
    "superfluous term": (
        "params[0] * c + params[1] * np.exp(params[2] * b) * a + params[3] * (a + params[4]) * c / (c + params[5])",
        [0.29999999999950, 2.500000000000036, -0.70000000000042, 9.29115781e-13, 1.7026394769, 1.4287871224],
    ),
    "absolute value of one sign": (
        "params[0] * c + params[1] * np.exp(params[2] * np.absolute(b + params[3])) * a",
        [0.29999999999995, 0.27728870744862216, 0.6999999999999, -3.1414096889898984],
    ),
    "linear part of a function": (
        "params[0] * c + params[1] * np.exp(params[2] * b) * np.tanh(params[3] * a)",
        [0.2999999999994, -2480166.097506835, -0.69999999999962, -1.0079970057319436e-06],
    ),
    "factors that are 1": (
        (
            "params[0] * (c + params[1]) * a ** params[2] * np.tanh(params[3] * c) * a / (a + params[4])"
            " + params[5] * np.exp(params[6] * b) * np.tanh(a + params[7]) * a ** params[8]"
        ),
        [3.0110729867e-06, 16336444595.146517, -4.1e-12, 6.098772421914777e-06, 9.4e-14, -2.5, -0.7, -48.8, 1 - 1e-12],
    ),
}


def found(source: str, params: list[float], names: list[str], **errors: float) -> Discovery:
    header = f"def equation({', '.join(names)}, params):\n    return "
    details = {"params": json.dumps(params), **errors}
    return Discovery(
        Candidate(1, read_skeleton(header + source, names).source, "k", 0.0, 0.0, details=details), 0, None
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_shown_of_an_exact_law_is_the_law(sandbox: ProcessSandbox, ending: str) -> None:
    inputs = np.random.default_rng(0).uniform(0.5, 3, (60, 3))
    a, b, c = inputs.T
    train = Rows(inputs, 0.3 * c + 2.5 * np.exp(-0.7 * b) * a)
    splits = Splits(train, *[Rows(np.empty((0, 3)), np.empty(0))] * 2)
    task = make_task(sandbox, Dataset(DATASET.target, tuple(Variable(name, "") for name in "abc"), splits))
    line = task.headline([found(*ENDINGS[ending], ["a", "b", "c"], nmse_train=1e-23)])
    assert line.startswith("y = 0.3 * c + 2.5 * exp(-0.7 * b) * a  (NMSE ")


def test_an_equation_that_no_other_form_fits_as_well_stays_as_it_is(sandbox: ProcessSandbox) -> None:
    line = make_task(sandbox).headline([found("params[0] * x + params[1]", [3.0, 2.0], ["x"], nmse_train=0.0)])
    assert line == "y = 3 * x + 2  (NMSE 0)"


@pytest.mark.parametrize(("share", "fit"), [(0.0, "lm"), (0.2, "lm"), (0.0, "bfgs")])
def test_the_last_fit_descends_from_the_constants_found_if_one_from_scratch_is_worse(
    sandbox: ProcessSandbox, share: float, fit: str
) -> None:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.5, 3, 200))
    target = 2 * np.sin(300 * x) + rng.normal(scale=0.1, size=200)  # a frequency far beyond those that a fit tries
    dataset = replace(DATASET, splits=SPLITS._replace(train=Rows(x[:, None], target)))
    task = make_task(sandbox, dataset, hold_back=share, fit=fit)
    errors = {"nmse_train": 0.01} | ({"nmse_held": 0.01} if share else {})
    files = task.show_best([found("params[0] * np.sin(params[1] * x)", [1.9, 300.05], ["x"], **errors)])
    expected, _ = curve_fit(lambda x, a, b: a * np.sin(b * x), x, target, (1.9, 300.05))
    assert json.loads(files["equation.json"])["params"] == pytest.approx(expected, rel=5e-4)


@pytest.mark.parametrize(
    ("expression", "is_said"),
    [
        ("params[0] / (x - params[1])", True),
        ("params[0] * (x - params[1])**-2", True),
        ("params[0] / (x + params[1])", False),
        ("params[0] * (x - params[1])**2 / x", False),
    ],
)
def test_a_pole_between_the_rows_is_said(sandbox: ProcessSandbox, expression: str, is_said: bool) -> None:
    line = make_task(sandbox).headline([found(expression, [1.0, 1.2], ["x"], nmse_train=1e-9)])
    assert ("; a divisor changes sign within the data)" in line) == is_said


def test_every_form_in_which_an_equation_is_shown_has_the_stated_error(
    sandbox: ProcessSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = np.arange(45000.0, 45060.0)  # the days of a spreadsheet, where four digits of the slope are too few
    target = 12.3456 * days - 555432.1 + 0.3 * np.sin(days**2)
    train = Rows(days[:, None], target)
    task = make_task(sandbox, Dataset(DATASET.target, DATASET.variables, SPLITS._replace(train=train)))
    params = np.polyfit(days - 45000, target, 1)
    fitted = [float(params[0]), float(params[1] - 45000 * params[0])]
    error = float(np.mean((fitted[0] * days + fitted[1] - target) ** 2) / np.var(target))
    best = found("params[0] * x + params[1]", fitted, ["x"], nmse_train=error)
    drawn: list[str] = []
    monkeypatch.setattr(report, "draw_fit", lambda *given: (drawn.extend(given[-1]), b"")[1])
    files = task.show_best([best])
    line, _, stated = task.headline([best]).removeprefix("y = ").removesuffix(")").partition("  (NMSE ")
    (row,) = csv.DictReader(files["hall_of_fame.csv"].decode().splitlines())
    module: dict[str, Any] = {}
    exec(files["equation.py"], module)  # noqa: S102
    assert f"y = {line}" in drawn
    latex = row["latex"].removeprefix("y = ").replace("x", "* x")
    shown = [eval(text, {"x": days}) for text in (line, row["equation"], latex)]  # noqa: S307
    for values in (*shown, module["equation"](days)):
        nmse = np.mean((values - target) ** 2) / np.var(target)
        assert nmse == pytest.approx(float(row["nmse_train"]), rel=5e-4, abs=1e-20)
        assert nmse == pytest.approx(float(stated), rel=0.1, abs=1e-20)
    assert max(len(number) for number in re.findall(r"[\d.]+", line)) <= 10


def test_a_constant_equation_has_an_interval_too(sandbox: ProcessSandbox) -> None:
    files = make_task(sandbox).show_best([found("params[0]", [2.0], ["x"], nmse_train=1.0)])
    ((low, high),) = json.loads(files["equation.json"])["intervals"]
    assert low < json.loads(files["equation.json"])["params"][0] < high


def test_an_equation_nested_too_deeply_to_be_analyzed_is_shown_without_intervals(sandbox: ProcessSandbox) -> None:
    loops = "    for i in range(20):\n        for j in range(20):\n            y = np.sin(np.sin(y))\n"
    text = f"def equation(x, params):\n    y = params[0] * x\n{loops}    return y\n"
    candidate = Candidate(1, read_skeleton(text, ["x"]).source, "k", 0.0, 0.0, details={"params": "[3.0]"})
    files = make_task(sandbox).show_best([Discovery(candidate, 0, None)])
    assert json.loads(files["equation.json"])["intervals"] == [None]
    rows, source = DATASET.splits.train, candidate.genotype
    assert report.explain_no_error(rows, None, ["x"], source, [3.0]) == "a prediction is not a finite number"


def test_what_is_best_is_shown_also_if_it_cannot_be_fitted_again(sandbox: ProcessSandbox) -> None:
    task = make_task(sandbox, timeout=1e-9)
    details = {"params": "[3.0, 2.0]", "mse": 0.0}
    source = read_skeleton("def equation(x, params):\n    return params[0] * x + params[1]\n", ["x"]).source
    found = Discovery(Candidate(1, source, "k", 0.0, 0.0, details=details), 0, None)
    files = task.show_best([found])
    assert set(files) == {"equation.py", "equation.tex", "equation.json", "fit.png", "hall_of_fame.csv"}
    assert task.show_best([found]) == {}  # what is there already is not made again


def test_the_module_that_is_written_holds_no_code_of_anybody_else(sandbox: ProcessSandbox) -> None:
    hostile = Variable('y"""\nraise SystemExit("hostile")\n"""', 'say """ here')
    task = make_task(sandbox, Dataset(hostile, DATASET.variables, SPLITS))
    source = read_skeleton("def equation(x, params):\n    return params[0] * x\n", ["x"]).source
    found = Discovery(Candidate(1, source, "k", 0.0, 0.0, details={"params": "[3.0]"}), 0, None)
    scope: dict[str, Any] = {}
    exec(task.show_best([found])["equation.py"], scope)  # noqa: S102
    assert scope["equation"](2.0) == 6.0


NOISE = 0.01 * np.random.default_rng(0).normal(size=60)
DATES = 1.7e12 + 1000 * np.arange(60.0)


@pytest.mark.parametrize(
    ("x", "y", "wild", "law", "others"),
    [
        (X, np.exp(X) + NOISE, 1e6, "params[0] * np.exp(x)", ["params[0] * x + params[1]", "params[0] * x ** 2"]),
        (X, np.exp(X) + NOISE, 0.0, "params[0] * np.exp(x)", ["params[0] * x + params[1]", "params[0] * x ** 2"]),
        (X[::5], 2 * X[::5] + NOISE[::5], None, "params[0] * x", [f"params[0] * x + params[1] * x ** 2 + {POLES}"]),
        (DATES, 0.002 * DATES - 3.4e9, None, "params[0] * x + params[1]", ["params[0] * x", EXACT_DATES]),
    ],
)
def test_the_law_is_chosen(
    sandbox: ProcessSandbox,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    wild: float | None,
    law: str,
    others: list[str],
) -> None:
    rows = Rows(x[:, None], y.copy())
    held = hold_back(rows, 0.2)[1].inputs
    if wild is not None:
        rows.target[x == held[-3, 0]] = wild
    task = make_task(sandbox, replace(DATASET, splits=Splits(rows, *SPLITS[1:])), hold_back=0.2)
    genotypes = [f"def equation(x, params):\n    return {expression}\n" for expression in [*others, law]]
    parsed = [one for one in task.parse(genotypes) if isinstance(one, Hypothesis)]
    found = [
        Discovery(Candidate(call, one.genotype, one.key, result.score, result.energy, details=result.details), 0, None)
        for call, (one, result) in enumerate(zip(parsed, task.evaluate(parsed), strict=True), start=1)
    ]
    assert task.headline(found) == task.headline(found[-1:])
    assert all(float(str(found[-1].details.get(name, 0.0))) < 0.01 for name in ("nmse_train", "nmse_held"))


def test_a_text_that_is_no_skeleton_is_rejected_with_its_line(sandbox: ProcessSandbox) -> None:
    (parsed,) = make_task(sandbox).parse(["def equation(x, params):\n    import os\n    return x\n"])
    assert isinstance(parsed, Rejection)
    assert str(parsed).startswith("unparsable: line 2: ")


def test_two_texts_of_one_skeleton_have_one_key(sandbox: ProcessSandbox) -> None:
    texts = ["def equation(x, params):\n    return params[3]*x", "def f(z, p):\n    '''!'''\n    return p[0] * z\n"]
    one, other = make_task(sandbox).parse(texts)
    assert isinstance(one, Hypothesis)
    assert one == other


def test_a_task_that_is_sent_away_can_still_read(sandbox: ProcessSandbox) -> None:
    sent = pickle.loads(pickle.dumps(make_task(sandbox)))
    assert len(pickle.dumps(sent)) < 5_000
    (parsed,) = sent.parse(["def equation(x, params):\n    return x\n"])
    assert isinstance(parsed, Hypothesis)


@pytest.mark.parametrize(("n", "n_params"), [(1, [2, 3]), (4, [5, 9]), (5, [6, 6]), (9, [10, 10]), (12, [10, 10])])
def test_a_search_starts_from_a_linear_and_a_quadratic_skeleton(n: int, n_params: list[int]) -> None:
    names = [f"x{at}" for at in range(n)]
    skeletons = [read_skeleton(source, names) for source in initial_skeletons(names)]
    assert [skeleton.n_params for skeleton in skeletons] == n_params
    assert [len(skeleton.linear) for skeleton in skeletons] == n_params
    assert ["**" in skeleton.source for skeleton in skeletons] == [False, True]


def test_the_initial_skeletons_can_be_evaluated(sandbox: ProcessSandbox) -> None:
    task = make_task(sandbox, read_dataset(EquationSettings(problem="builtin/reaction3")))
    initial = task.initial(Stream(0, 0))
    parsed = [one for one in task.parse(initial) if isinstance(one, Hypothesis)]
    linear, quadratic = task.evaluate(parsed)
    assert linear.score is not None
    assert quadratic.score is not None
    assert linear.score <= quadratic.score < 0


def test_every_law_explains_its_own_data(sandbox: ProcessSandbox) -> None:
    problem = PROBLEMS["material2"]
    task = make_task(sandbox, read_dataset(EquationSettings(problem="builtin/material2")))
    (parsed,) = task.parse([problem.skeleton])
    assert isinstance(parsed, Hypothesis)
    (evaluation,) = task.evaluate([parsed])
    assert evaluation.details["nmse_ood"] == pytest.approx(0, abs=1e-10)
    assert evaluation.details["acc01_ood"] == 1


@pytest.mark.parametrize(("n_wrong", "strict", "lenient"), [(0, 1, 1), (1, 0, 1), (5, 0, 1), (6, 0, 0), (100, 0, 0)])
def test_both_readings_of_the_accuracy(n_wrong: int, strict: int, lenient: int) -> None:
    target = np.linspace(-2, 2, 100)
    target[50] = 0.0  # is met exactly or not at all
    predicted = target * 1.0999
    predicted[:n_wrong] = target[:n_wrong] * 1.2 + 1e-9
    measured = measure_split("id", predicted, target)
    assert (measured["acc01_id"], measured["acc01_95_id"]) == (strict, lenient)
    assert measured["nmse_id"] == pytest.approx(
        np.sum((predicted - target) ** 2) / np.sum((target - target.mean()) ** 2)
    )


def test_a_held_out_target_that_never_changes_has_no_nmse() -> None:
    assert measure_split("id", np.ones(3), np.ones(3)) == {"nmse_id": None, "acc01_id": 1, "acc01_95_id": 1}
    assert measure_split("id", np.full(3, 0.2), np.full(3, 0.1))["nmse_id"] is None  # though its mean is rounded
    assert measure_split("ood", np.ones(0), np.ones(0)) == {}


def test_the_summary_is_the_mean_error_of_the_best_ten(sandbox: ProcessSandbox) -> None:
    candidates = [Candidate(call, "", "", -float(call), 0.0) for call in range(1, 21)]
    candidates.append(Candidate(21, "", "", None, None))
    assert make_task(sandbox).summarize(candidates) == pytest.approx(5.5)
    assert math.isnan(make_task(sandbox).summarize([]))


def test_standard_errors_and_a_robust_loss_decide_the_errors(sandbox: ProcessSandbox) -> None:
    target = 3 * X + np.random.default_rng(0).normal(size=60)
    target[::20] += 30
    weights = np.where(np.arange(60) % 20, 1.0, 1e-6) / np.mean(np.where(np.arange(60) % 20, 1.0, 1e-6))
    variance = np.var(target)
    plain, weighed = (Rows(X[:, None], target, given) for given in (None, weights))
    found = {}
    for name, rows, loss in (("squared", plain, "squared"), ("sigma", weighed, "squared"), ("huber", plain, "huber")):
        dataset = replace(DATASET, splits=SPLITS._replace(train=rows))
        found[name] = evaluate(make_task(sandbox, dataset, hold_back=0.2, loss=loss), "params[0] * x")
        fitted, held = hold_back(rows, 0.2)
        (slope,) = json.loads(str(found[name].details["params"]))
        losses = [
            fitting.measure_losses(slope * part.inputs[:, 0] - part.target, part.weights, is_robust=loss == "huber")
            for part in (fitted, held)
        ]
        assert found[name].details["nmse_train"] == pytest.approx(np.mean(losses[0]) / variance)
        assert slope == pytest.approx(3, abs=0.25) or name == "squared"
    assert json.loads(str(found["squared"].details["params"]))[0] > 3.4
    assert found["sigma"].details["nmse_held"] == pytest.approx(np.mean(losses[1]) / variance, rel=2)
