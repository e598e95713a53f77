from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import curve_fit

from evodiverse.tasks.equations.fitter import find_ranges, find_units
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.skeleton import Skeleton, read_skeleton

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (400, 1))


def compiled(skeleton: Skeleton) -> object:
    scope: dict[str, object] = {"np": np}
    exec(skeleton.source, scope)  # noqa: S102
    return scope["equation"]


def fit(
    expression: str, target: NDArray[np.float64], method: str = "lm", inputs: NDArray[np.float64] = X
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    skeleton = read_skeleton(f"def equation(x, params):\n    return {expression}\n", ["x"])
    function = compiled(skeleton)
    units = find_units(skeleton.source, skeleton.n_params, find_ranges(["x"], inputs))
    own = (skeleton.n_params, skeleton.linear, units)
    params, _, predicted = fitting.fit(function, method, own, target, inputs)  # type: ignore[arg-type]
    return params, predicted


def test_a_linear_skeleton_is_solved_as_least_squares_solves_it() -> None:
    target = np.sin(3 * X[:, 0]) + RNG.normal(size=400)
    columns = np.stack([np.ones(400), X[:, 0], X[:, 0] ** 2], axis=1)
    expected, *_ = np.linalg.lstsq(columns, target)
    params, _ = fit("params[0] + params[1] * x + params[2] * x**2", target)
    assert params == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("first", [1e5, 1.7e9, 1.7e12])
@pytest.mark.parametrize(
    ("expression", "powers"),
    [
        ("params[0] + params[1] * x", [0, 1]),
        ("params[0] + params[1] * x**2", [0, 2]),
        ("params[0] * x + params[1] * x * x", [1, 2]),
        ("params[0] * x**0.5 + params[1] / x", [0.5, -1]),
    ],
)
def test_parameters_of_columns_that_hardly_vary_are_those_of_exact_least_squares(
    expression: str, powers: list[float], first: float
) -> None:
    x = first * (1 + 1e-7 * np.linspace(-1, 1, 60))
    target = 3 + np.linspace(-1, 1, 60) + 0.1 * RNG.normal(size=60)
    columns = np.stack([x**power for power in powers], axis=1)
    with mpmath.workdps(60):
        expected = mpmath.lu_solve(mpmath.matrix(columns.tolist()), mpmath.matrix(target.tolist()))
    params, _ = fit(expression, target, inputs=x[:, None])
    assert params == pytest.approx([float(value) for value in expected], rel=1e-6)


@pytest.mark.parametrize(
    ("expression", "law"),
    [
        ("params[0] * np.exp(-(((x - params[1]) / params[2]) ** 2))", lambda u: 5 * np.exp(-(((u - 0.4) / 0.15) ** 2))),
        ("params[0] * np.sin(params[1] * x) + params[2] * np.cos(params[1] * x)", lambda u: np.sin(12 * u + 1)),
        ("params[0] * np.tanh(params[1] * (x - params[2])) + params[3]", lambda u: 3 * np.tanh(5 * (u - 0.6)) + 0.5),
        ("params[0] * np.log(x - params[1]) + params[2]", lambda u: 2 * np.log(u + 0.2) + 1),
    ],
)
def test_a_law_in_milliseconds_since_1970_is_found(
    expression: str, law: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> None:
    time = 1.7e12 + 1000 * np.arange(200.0)
    target = law((time - time[0]) / np.ptp(time))
    _, predicted = fit(expression, target, inputs=time[:, None])
    assert predicted == pytest.approx(target, abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_a_frequency_is_found_wherever_it_lies(seed: int) -> None:
    amplitude, frequency, offset = np.random.default_rng(seed).uniform([0.5, 0.5, -3], [5, 6, 3])
    target = amplitude * np.sin(frequency * X[:, 0]) + offset
    params, predicted = fit("params[0] * np.sin(params[1] * x) + params[2]", target)
    assert np.abs(params) == pytest.approx(np.abs([amplitude, frequency, offset]), rel=1e-6)
    assert predicted == pytest.approx(target, rel=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_noise_is_fitted_as_well_as_by_another_library(seed: int) -> None:

    target = 2 * np.exp(-0.7 * X[:, 0]) + 0.3 * np.random.default_rng(seed).normal(size=400)
    expected, _ = curve_fit(lambda x, a, b: a * np.exp(b * x), X[:, 0], target, (2, -0.7))
    params, predicted = fit("params[0] * np.exp(params[1] * x)", target)
    best = expected[0] * np.exp(expected[1] * X[:, 0])
    assert np.sum((predicted - target) ** 2) <= np.sum((best - target) ** 2) * (1 + 1e-4)
    assert params == pytest.approx(expected, rel=1e-2)


def test_bfgs_starts_from_ones_as_in_the_released_code() -> None:
    params, _ = fit("params[0] * x + params[1]", 3 * X[:, 0] - 2, "bfgs")
    assert params == pytest.approx([3, -2], abs=1e-4)
    assert fit("params[0] * np.sin(params[1] * x)", np.sin(9 * X[:, 0]), "bfgs")[0][1] != pytest.approx(9, rel=1e-2)


@pytest.mark.parametrize("method", ["lm", "bfgs"])
def test_a_skeleton_without_parameters_is_only_evaluated(method: str) -> None:
    params, predicted = fit("x * 2", X[:, 0], method)
    assert len(params) == 0
    assert predicted == pytest.approx(2 * X[:, 0])


@pytest.mark.parametrize(
    "expression",
    [
        "np.log(params[0] * x)",
        "params[0] / (x - x)",
        "np.exp(np.exp(np.exp(params[0] * x * 50)))",
        "params[0] * x + params[1] * x",
        "params[0]",
        "params[0] * 1e200 * x",
        "params[0] * params[1] * params[2] * params[3]",
    ],
)
def test_whatever_a_skeleton_does_there_is_an_answer(expression: str) -> None:
    _, predicted = fit(expression, np.cos(X[:, 0]))
    assert predicted.shape == (400,)


def test_predictions_that_are_not_finite_are_told_from_those_that_are() -> None:
    skeleton = read_skeleton("def equation(x, params):\n    return params[0] * np.sqrt(x)\n", ["x"])
    inside, beyond = np.linspace(0, 1, 50)[:, None], np.linspace(-1, 0, 50)[:, None]
    own = (1, skeleton.linear, [(1.0,)])
    _, finite, *_ = fitting.fit(compiled(skeleton), "lm", own, inside[:, 0], inside, beyond)  # type: ignore[arg-type]
    assert list(finite) == [1, 0]


@pytest.mark.parametrize("name", ["oscillator1", "oscillator3", "reaction4", "material1", "aluminium"])
def test_true_skeletons_of_builtin_problems_are_recovered(name: str) -> None:
    problem = PROBLEMS[name]
    inputs, target, _ = problem.sample().train
    names = [variable.name for variable in problem.variables]
    skeleton = read_skeleton(problem.skeleton, names)
    units = find_units(skeleton.source, skeleton.n_params, find_ranges(names, inputs))
    own = (skeleton.n_params, skeleton.linear, units)
    _, _, predicted = fitting.fit(compiled(skeleton), "lm", own, target, inputs)  # type: ignore[arg-type]
    assert np.mean((predicted - target) ** 2) / np.var(target) < 1e-10


@pytest.mark.parametrize("sum_", ["x - params[1]", "params[1] - x", "x + params[1]"])
@pytest.mark.parametrize("seed", range(5))
def test_a_narrow_bell_is_found_wherever_it_lies(sum_: str, seed: int) -> None:
    place, width = np.random.default_rng(seed).uniform([1000, 0.2], [1010, 0.4])
    inputs = np.linspace(999, 1011, 400)[:, None]
    target = 5 * np.exp(-(((inputs[:, 0] - place) / width) ** 2))
    _, predicted = fit(f"params[0] * np.exp(-((({sum_}) / params[2]) ** 2))", target, inputs=inputs)
    assert predicted == pytest.approx(target, abs=1e-6)


NOISY = 2 * np.exp(-0.7 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=len(X))


def fit_decay(target: NDArray[np.float64], **loss: object) -> NDArray[np.float64]:
    source = "def equation(x, params):\n    return params[0] * np.exp(params[1] * x)\n"
    own = [2, (0,), [(1.0,), (1.0,)]]
    return fitting.fit(compiled(Skeleton(source, 2, (0,))), "lm", own, target, X, **loss)[0]  # type: ignore[arg-type]


def test_a_skeleton_is_not_evaluated_once_no_step_is_worth_it() -> None:
    sizes = []

    def decay(x: NDArray[np.float64], params: Any) -> Any:
        sizes.append(np.size(params[1]))
        return params[0] * np.exp(params[1] * x)

    fitting.fit(decay, "lm", [2, (0,), [(1.0,), (1.0,)]], NOISY, X)
    assert min(sizes) > 0


def test_weights_are_those_of_scipy_s_curve_fit() -> None:
    sigma = np.linspace(0.05, 1.5, len(X))
    expected, _ = curve_fit(lambda x, a, b: a * np.exp(b * x), X[:, 0], NOISY, (2, -0.7), sigma)
    assert fit_decay(NOISY, roots=1 / sigma) == pytest.approx(expected, rel=1e-3)
    assert fit_decay(NOISY) != pytest.approx(expected, rel=1e-3)


def test_a_robust_fit_hardly_follows_wild_measurements() -> None:
    wild = NOISY.copy()
    wild[::10] += 50
    clean = fit_decay(NOISY)
    assert fit_decay(wild, is_robust=True) == pytest.approx(clean, abs=0.15)
    assert fit_decay(wild) != pytest.approx(clean, abs=1)


@pytest.mark.parametrize("is_robust", [False, True])
def test_a_descent_from_given_parameters_ends_where_a_fit_from_scratch_does(is_robust: bool) -> None:
    wild = NOISY.copy()
    wild[::10] += 50
    decay = compiled(Skeleton("def equation(x, params):\n    return params[0] * np.exp(params[1] * x)\n", 2, (0,)))
    params, *_ = fitting.fit(decay, "descend_lm", [[1.0, -0.1], (0,)], wild, X, is_robust=is_robust)
    assert params == pytest.approx(fit_decay(wild, is_robust=is_robust), rel=1e-2)


def test_bfgs_descends_from_given_parameters_without_leaps_of_redundant_ones() -> None:
    source = "def equation(x, params):\n    return params[0] * np.exp(params[1] * (x + params[2]))\n"
    own = [[1.0, -0.5, 1.0], (0,)]
    params, _, predicted = fitting.fit(compiled(Skeleton(source, 3, (0,))), "descend_bfgs", own, NOISY, X)
    assert np.abs(params).max() < 10
    assert np.sum((predicted - NOISY) ** 2) == pytest.approx(
        np.sum((fit("params[0] * np.exp(params[1] * x)", NOISY)[1] - NOISY) ** 2), rel=1e-4
    )


def test_the_robust_loss_is_the_square_for_most_rows_and_grows_linearly_for_the_others() -> None:
    errors = np.array([1.0, -1.0, 2.0, -2.0, 2.0, 100.0])
    assert measure(errors).tolist() == [1, 1, 4, 4, 4, 2 * (200 - 2)]
    assert measure(errors, np.full(6, 4.0)).tolist() == [4, 4, 16, 16, 16, 4 * (400 - 4)]
    assert measure(errors[:0]).tolist() == []


def measure(errors: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    return fitting.measure_losses(errors, weights, is_robust=True)
