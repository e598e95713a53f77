"""The metrics of equation runs, on runs worked by hand."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evodiverse.diversity.distances import Vectors
from evodiverse.runlog.log import Log, Measurement
from evodiverse.tasks.equations import metrics as equations
from evodiverse.tasks.equations.data import builtin_splits
from evodiverse.tasks.equations.metrics import (
    COLUMNS,
    count_structures,
    measure_accuracy,
    measure_equations,
    measure_held_back,
    read_body,
)
from evodiverse.tasks.equations.problems import PROBLEMS, Rows
from evodiverse.tasks.equations.symbolic import Law
from tests.results.builders import evaluated_row, make_log

# call, score, NMSE and accuracy, strict and lenient, on held-out data; the second failed, the last is no number there
ROWS = [
    (1, -0.5, 0.6, 0, 0),
    (2, None, None, None, None),
    (3, -0.1, 0.3, 0, 1),
    (4, -0.01, 0.02, 1, 1),
    (5, -0.2, None, 0, 0),
]


def genotype(call: int) -> str:
    return f"def equation(x, params):\n    return {call}\n"


def encode(bodies: Sequence[str]) -> Vectors:
    """Programs 1 and 4 point one way, 3 and 5 another; whatever stands above their bodies would be noticed."""
    return np.array([[1.0, 0.0] if body in {"return 1\n", "return 4\n"} else [0.0, 1.0] for body in bodies])


def log_of(rows: Sequence[tuple[int, float | None, float | None, int | None, int | None]] = ROWS) -> Log:
    attempts = [
        {
            **dict.fromkeys(COLUMNS),
            **evaluated_row(0, call, f"k{call}", score),
            "genotype": genotype(call),
            "nmse_train": None if score is None else -score,
            "nmse_id": nmse,
            "nmse_ood": None if nmse is None else 10 * nmse,
            "acc01_id": strict,
            "acc01_95_id": lenient,
            "acc01_ood": None if strict is None else 0,
            "acc01_95_ood": lenient,
        }
        for call, score, nmse, strict, lenient in rows
    ]
    reused = {**attempts[2], "call": None, "outcome": "reused"}
    return make_log([*attempts, reused], [[[1], [1]], [[1, 4], [1, 3, 4]]])


def test_what_was_fitted_decides_which_equation_is_best() -> None:
    found = measure_equations(log_of(), {})
    best = {"best_nmse": 0.02, "best_nmse_ood": 0.2, "best_acc": 1, "best_acc_95": 1, "best_acc_ood": 0}
    assert {name: found[name] for name in best} == best
    means = {"top10_acc": 0.25, "top10_acc_95": 0.5, "top10_acc_ood": 0.0, "top10_acc_95_ood": 0.5}
    assert {name: found[name] for name in means} == means
    assert math.isinf(found["top10_nmse"])  # one of the best predicts values that are no numbers


def test_where_nothing_was_held_out_there_is_no_value() -> None:
    found = measure_equations(log_of([(call, score, None, None, None) for call, score, *_ in ROWS]), {})
    assert {value for name, value in found.items() if "structures" not in name} == {None}
    assert len(found) == 14


def test_only_the_best_ten_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equations, "N_TOP", 2)
    found = measure_equations(log_of(), {})
    assert (found["top10_nmse"], found["top10_acc"], found["top10_acc_95"]) == (pytest.approx(0.16), 0.5, 1.0)


def held(residuals: NDArray[np.float64], predicted: float = 0.5) -> tuple[Any, Any]:
    """The error on rows held back and its standard error, if these are what predictions of fitted rows' size miss."""
    fitted, rows = np.linspace(0, 1, 10), Rows(np.empty((len(residuals), 0)), predicted + residuals)
    found = measure_held_back(np.full(len(residuals), predicted), rows, fitted, 1.0, 0.0, is_robust=False)
    return found.get("nmse_held"), found.get("nmse_held_se")


@pytest.mark.parametrize("n_wild", [1, 4])
@pytest.mark.parametrize("size", [0.0, 0.1])
def test_wild_measurements_among_the_rows_held_back_do_not_count(n_wild: int, size: float) -> None:
    residuals = size * np.random.default_rng(0).normal(size=40)
    wild = np.concatenate([residuals[n_wild:], [-20.0, 3.0, 1e6, 7.0][:n_wild]])
    assert held(wild) == held(residuals[n_wild:])


def test_wild_predictions_and_errors_in_many_rows_count() -> None:
    residuals = np.zeros(40)
    residuals[0] = 20
    assert held(residuals, 30.0) == (10.0, pytest.approx(9.87, abs=0.01))
    residuals[:8] = 20
    assert held(residuals)[0] == 80.0
    normal = np.random.default_rng(1).normal(size=200)
    assert held(normal)[0] == np.mean(normal**2)


# The one equation that is chosen

LAW = ("params[0] * P - params[1] * P * P - params[2] / (1 + params[3] / P**2)", [0.35, 0.035, 0.5, 1.5])
LINE = ("params[0] * P", [0.2])
BETTER_LINE = ("params[0] * P + params[1] / P", [0.2, 0.1])


def accuracy_of(*found: tuple[tuple[str, list[float]], float, float], selected: int | None = None) -> Measurement:
    """Measure equations of population2, each with its errors on the fitted data and on rows held back."""
    rows = [
        {
            **dict.fromkeys(COLUMNS),
            **evaluated_row(0, call, f"k{call}", -fitted),
            "genotype": f"def equation(P, params):\n    return {expression}\n",
            "params": json.dumps(params),
            "nmse_train": fitted,
            "nmse_held": held,
            "nmse_held_se": held / 10,
            "nmse_id": 2 * held,
            "selected": None if selected is None else float(call == selected),
        }
        for call, ((expression, params), fitted, held) in enumerate(found, start=1)
    ]
    problem = PROBLEMS["population2"]
    return measure_accuracy(make_log(rows, [[[1]]]), Law(problem, builtin_splits(problem)))


def test_a_run_that_ends_with_the_law_has_found_it() -> None:
    found = accuracy_of((LINE, 0.1, 0.1), (LAW, 1e-9, 1e-9))
    assert (found["sa_1"], found["sa_50"], found["chosen_nmse"]) == (1, 1, 2e-9)


def test_a_law_that_is_not_chosen_counts_among_the_best_fifty(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [(LINE, 0.1, 0.1), (BETTER_LINE, 0.03, 0.03), (LAW, 0.02, 0.5)]
    found = accuracy_of(*every)
    assert (found["sa_1"], found["sa_50"], found["chosen_nmse"]) == (0, 1, 0.06)
    assert accuracy_of(*every[:2])["sa_50"] == 0
    monkeypatch.setattr(equations, "N_BEST", 1)
    assert accuracy_of(*every)["sa_50"] == 0


def test_the_choice_of_a_baseline_is_its_own() -> None:
    found = accuracy_of((LINE, 0.1, 0.1), (LAW, 1e-9, 1e-9), selected=1)
    assert (found["sa_1"], found["sa_50"], found["chosen_nmse"]) == (0, 1, 0.2)


def test_data_without_a_law_have_no_symbolic_accuracy() -> None:
    (row,) = [{**dict.fromkeys(COLUMNS), **evaluated_row(0, 1, "k", -0.5), "genotype": genotype(1), "nmse_train": 0.5}]
    found = measure_accuracy(make_log([row], [[[1]]]), None)
    assert (found["sa_1"], found["sa_50"]) == (None, None)
    assert found["chosen_complexity"] == 1


# Structures


def structures_of(*found: tuple[str, float | None]) -> tuple[float, float]:
    """Count structures and those that differ, of expressions with their errors on the fitted data, by call."""
    calls = range(1, len(found) + 1)
    genotypes = [f"def equation(x, v, params):\n    return {expression}\n" for expression, _ in found]
    errors = [error for _, error in found]
    rows = [
        evaluated_row(0, call, f"k{call}", None if error is None else -error)
        for call, error in zip(calls, errors, strict=True)
    ]
    texts, known = (dict(zip(calls, values, strict=True)) for values in (genotypes, errors))
    counts = count_structures(make_log(rows, [[[1]]]), texts, known)
    return counts["n_structures_1e3"], counts["n_different_structures_1e3"]


def test_equations_that_differ_in_their_constants_alone_are_one_structure() -> None:
    assert structures_of(("params[0] * x + v", 1e-4), ("v + 3.5 * x", 1e-5), ("params[0] * x", 1e-6)) == (2, 2)


def test_only_errors_below_the_limit_count_and_no_failed_equation() -> None:
    assert structures_of(("x", 1e-3), ("v", 9.99e-4), ("x * v", None), ("x ** 2", math.inf)) == (1, 1)
    assert structures_of() == structures_of(("x", 0.5)) == (0, 0)


def test_structures_that_share_seven_of_ten_terms_do_not_differ() -> None:
    seven = [f"x ** {power}" for power in range(2, 9)]
    ten = [*seven, "v", "np.sin(x)", "np.sin(v)"]
    assert structures_of((" + ".join(ten), 1e-5), (" + ".join(seven), 1e-4)) == (2, 1)
    assert structures_of((" + ".join(ten), 1e-5), (" + ".join(seven[1:]), 1e-4)) == (2, 2)


def test_the_equation_with_the_smaller_error_decides_and_of_two_alike_the_older() -> None:
    whole, left, right = (
        " + ".join(f"x ** {power}" for power in powers) for powers in (range(10), range(7), range(3, 10))
    )
    assert structures_of((left, 2e-4), (right, 2e-4), (whole, 1e-4)) == (3, 1)
    assert structures_of((left, 2e-4), (right, 2e-4), (whole, 3e-4)) == (3, 2)
    assert structures_of((left, 2e-4), (right, 2e-4), (whole, 2e-4)) == (3, 2)


TERMS = st.sets(st.sampled_from(["x", "v", "x * v", "x ** 2", "np.sin(x)", "np.exp(v)"]), min_size=1)


@given(st.lists(st.tuples(TERMS, st.sampled_from([1e-5, 1e-4, 1e-3, None])), max_size=12))
def test_structures_are_counted_as_the_definition_says(found: list[tuple[set[str], float | None]]) -> None:
    good = sorted((error, call) for call, (_, error) in enumerate(found) if error is not None and error < 1e-3)
    taken: list[set[str]] = []
    for _, call in good:
        terms = found[call][0]
        if all(len(terms & other) / len(terms | other) < 0.7 for other in taken):
            taken.append(terms)
    expected = (len({frozenset(found[call][0]) for _, call in good}), len(taken))
    assert structures_of(*((" + ".join(sorted(terms)), error) for terms, error in found)) == expected


def test_diversity_is_that_within_each_final_pool_hot_to_cold_and_their_mean() -> None:
    found = measure_equations(log_of(), {"toy": encode})
    assert found["buffer_pools.toy"] == pytest.approx([2 / 3, 0, 1 / 3])
    assert found["buffer_diversity.toy"] == pytest.approx(1 / 3)


def test_the_elite_of_a_pool_is_its_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equations, "N_ELITE", 2)
    assert measure_equations(log_of(), {"toy": encode})["top100_pools.toy"] == pytest.approx([1, 0, 0.5])


def test_a_single_pool_has_no_mean_behind_it() -> None:
    log = make_log([{**evaluated_row(0, call, "", -1.0), "genotype": genotype(call)} for call in (1, 3)], [[[1, 3]]])
    found = equations.measure_pools(log, log.column("genotype"), {"toy": encode})
    assert found == {"buffer_diversity.toy": 1.0, "buffer_pools.toy": [1.0], "top100_pools.toy": [1.0]}


def test_a_pool_of_one_has_no_diversity_and_does_not_count_in_the_mean() -> None:
    log = make_log(
        [{**evaluated_row(0, call, "", -1.0), "genotype": genotype(call)} for call in (1, 3)], [[[1, 3], [1]]]
    )
    found = equations.measure_pools(log, log.column("genotype"), {"toy": encode})
    assert (found["buffer_pools.toy"], found["buffer_diversity.toy"]) == ([None, 1.0, 1.0], 1.0)


@pytest.mark.parametrize(
    ("problem", "science"),
    [
        ("builtin/oscillator3", "physics"),
        ("builtin/aluminium", "materials"),
        ("srbench/chemistry/CRK0", "chemistry"),
        ("srbench/transform/II.6.15b_1_0", "transform"),
        ("csv/mine", None),
        ("csv/reaction1", None),
    ],
)
def test_a_run_belongs_to_the_science_of_its_problem(problem: str, science: str | None) -> None:
    assert equations.EquationMetrics({"task.problem": problem}).subject.group == science


def test_a_users_data_belong_to_the_science_that_they_say() -> None:
    settings = {"task.problem": "csv/mine", "task.data.science": "geology"}
    assert equations.EquationMetrics(settings).subject.group == "geology"


def test_a_body_is_what_stands_below_the_header_whatever_its_indentation() -> None:
    several = "def equation(x, v, params):\n    a = params[0] * x\n    return a + v\n"
    assert read_body(several) == "a = params[0] * x\nreturn a + v\n"
