"""The content of cells, computed by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evodiverse.results.tables.cells import EMPTY, Cell, make_cell, make_difference_cell, make_test_cell, pair_up
from evodiverse.results.tables.layout import Column
from evodiverse.runlog.log import Value
from tests.results.tables.results import equation, result

SCORE = Column("score", "score")


def cell(column: Column, *values: Value) -> Cell:
    """The cell of runs with one seed each."""
    return make_cell(column, [result({"score": value}, seed=seed) for seed, value in enumerate(values)])


def test_a_cell_is_the_mean_and_the_sample_standard_deviation() -> None:
    assert cell(SCORE, 0.1, 0.2, 0.6) == Cell("0.30 ± 0.26", pytest.approx(0.3), pytest.approx(0.264575), 3)


def test_a_single_run_has_no_spread_and_nothing_is_a_dash() -> None:
    assert cell(SCORE, 0.254) == Cell("0.25", 0.254, None, 1)
    assert cell(SCORE) == cell(SCORE, None) == EMPTY
    assert EMPTY.text == "—"
    assert cell(SCORE, 0.5, None, 0.7).n_runs == 2


def test_runs_of_one_seed_are_averaged_before_the_spread_is_taken() -> None:
    values = [("builtin/reaction1", 0, 0.0), ("builtin/reaction2", 0, 1.0), ("builtin/reaction1", 1, 0.2)]
    results = [equation({"score": value}, problem, seed=seed) for problem, seed, value in values]
    assert make_cell(SCORE, results) == Cell("0.35 ± 0.21", pytest.approx(0.35), pytest.approx(0.212132), 3)


def test_pools_are_summarized_one_by_one_as_far_as_ladders_go() -> None:
    assert cell(SCORE, [0.5, 0.7], [0.6, 0.9]).text == "0.55 ± 0.07 / 0.80 ± 0.14"
    assert cell(SCORE, [0.5, None]).text == "0.50 / —"
    assert cell(SCORE, [0.5, 0.7]).mean is None
    assert cell(SCORE, [0.5, 0.7], [0.6]).text == "0.55 ± 0.07 / 0.70"
    overall = replace(SCORE, style="overall", digits=1)
    assert cell(overall, [0.5, 0.7, 0.6]).text == "0.5 / 0.7 (0.6)"
    assert cell(overall, [0.5]).text == "0.5"


@pytest.mark.parametrize(
    ("style", "digits", "values", "text"),
    [
        ("fixed", 0, (1234.4, 1234.4), "1,234 ± 0"),
        ("scientific", 2, (1.23e-5, 3.23e-5), "2.2e-05 ± 1.4e-05"),
        ("significant", 2, (0.0012345,), "0.00123"),
        ("precise", 2, (12.88922990786,), "12.8892"),
        ("percent", 0, ([59.4, 40.6],), "59% / 41%"),
        ("setting", 0, (1000, 1000), "1,000"),
        ("setting", 0, (1000, 3000), "2,000 ± 1,414"),
        ("scientific", 2, (1.0, math.inf), "∞"),
    ],
)
def test_numbers_are_written_in_the_style_of_the_column(
    style: str, digits: int, values: tuple[Value, ...], text: str
) -> None:
    assert cell(replace(SCORE, style=style, digits=digits), *values).text == text


def test_a_median_is_that_of_all_runs_and_has_no_spread() -> None:
    assert cell(replace(SCORE, median=True), 1.0, 2.0, math.inf) == Cell("2.00", 2.0, None, 3)


# Tests


def test_pairs_are_those_of_one_seed_problem_and_model() -> None:
    ours = [
        equation({}, problem, seed=seed) for problem in ("builtin/reaction1", "builtin/aluminium") for seed in (0, 1)
    ]
    theirs = [equation({}, "builtin/reaction1", "ensemble", seed=seed) for seed in (1, 2)]
    theirs += [equation({}, "builtin/aluminium", "ensemble", llm="local")]
    ((one, other),) = pair_up(ours, theirs)
    assert (one, other) == (ours[1], theirs[0])


PAIRS = [
    (result({"score": ours}, seed=seed), result({"score": theirs}, method="molleo", seed=seed))
    for seed, (ours, theirs) in enumerate([(0.5, 0.4), (0.9, 0.7), (0.4, 0.1)])
]


@pytest.mark.parametrize(
    ("test", "text"), [("t", "0.037"), ("permutation", "0.125"), ("bootstrap", "+0.20 [+0.10, +0.30]")]
)
def test_a_cell_shows_the_result_of_a_test(test: str, text: str) -> None:
    found = make_test_cell(replace(SCORE, test=test), PAIRS)
    assert (found.text, found.n_runs) == (text, 3)


def test_small_p_values_are_written_with_their_exponent() -> None:
    pairs = [(result({"score": 1 + step / 1000}), result({"score": 0.0})) for step in range(4)]
    found = make_test_cell(replace(SCORE, test="t"), pairs)
    assert found.mean == pytest.approx(stats.ttest_rel([1, 1.001, 1.002, 1.003], [0] * 4).pvalue / 2)
    assert found.text == f"{found.mean:.1e}"


@pytest.mark.parametrize("test", ["t", "permutation", "bootstrap"])
def test_without_pairs_a_test_has_no_result(test: str) -> None:
    assert make_test_cell(replace(SCORE, test=test), []) == EMPTY


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([300, 500, 400], Cell("400", 400, None, 3)),
        ([300, 500], Cell("400", 400, None, 2)),
        ([300, None, 400], Cell("400 (2 of 3)", 400, None, 3)),
        ([None, None, 400], Cell("over 900 (1 of 3)", None, None, 3)),
        ([None, 400], Cell("over 1,000 (1 of 2)", None, None, 2)),
        ([None], Cell("over 1,000 (0 of 1)", None, None, 1)),
    ],
)
def test_a_run_that_never_reached_a_score_counts_as_later_than_its_end(
    calls: list[float | None], expected: Cell
) -> None:
    runs = [
        result({"calls_to_0.5": value}, seed=seed, budget__oracle_calls=1000, more={"totals": {"oracle_calls": made}})
        for seed, (value, made) in enumerate(zip(calls, (1000, 900, 1000), strict=False))
    ]
    other = result({}, seed=9)  # of another kind of task, which has no such metric
    assert make_cell(Column("0.5", "calls_to_0.5", style="calls"), [*runs, other]) == expected


def test_a_difference_is_a_mean_within_pairs_with_its_interval_and_a_two_sided_p_value() -> None:
    differences = [0.1, 0.3, 0.2, 0.2, 0.1, 0.4]
    pairs = [(result({"score": 0.5 + value}), result({"score": 0.5})) for value in differences]
    low, high = stats.t.interval(0.95, 5, loc=np.mean(differences), scale=stats.sem(differences))
    exact = stats.permutation_test(
        (np.array(differences),), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples"
    ).pvalue
    found = make_difference_cell(SCORE, pairs)
    assert found.text == f"+0.22 [{low:+.2f}, {high:+.2f}], p = {exact:.2g}"
    assert exact == 2 / 2**6
    assert (found.mean, found.n_runs) == (pytest.approx(np.mean(differences)), 6)
    assert make_difference_cell(SCORE, pairs[:1]).text == "+0.10"
    assert make_difference_cell(SCORE, []) == EMPTY


def test_errors_are_compared_by_the_ratio_of_their_geometric_means() -> None:
    column = Column("NMSE", "score", style="scientific", median=True)
    pairs = [(result({"score": one}), result({"score": 1.0})) for one in (0.01, 1.0, 0.0)]
    assert make_difference_cell(column, pairs).text.startswith("×0.1 [")
    assert make_difference_cell(column, pairs).n_runs == 2
