"""Tables over the values of settings, against pandas."""

from itertools import product

import pandas as pd
import pytest

from evodiverse.errors import InputError
from evodiverse.results.tables.cells import EMPTY
from evodiverse.results.tables.marginals import marginal_tables
from evodiverse.results.tables.results import Result, compare_by
from tests.results.tables.results import result

GRID = list(product((2, 5, 10), ([0.8, 0.2], [0.8, 0.4]), (0, 1, 2)))


def auc(period: int, ladder: list[float], seed: int) -> float:
    return 0.1 * period + ladder[1] + 0.01 * seed * period


@pytest.fixture
def results() -> list[Result]:
    return [
        result(
            metrics={"diverse_auc": auc(period, ladder, seed)},
            seed=seed,
            method__swap__period=period,
            method__ladder=ladder,
        )
        for period, ladder, seed in GRID
    ]


def test_the_marginals_of_one_key_are_means_over_seeds(results: list[Result]) -> None:
    (table,) = marginal_tables(results, ["method.swap.period"])
    frame = pd.DataFrame(
        {"period": period, "seed": seed, "auc": auc(period, ladder, seed)} for period, ladder, seed in GRID
    )
    by_seed = frame.groupby(["period", "seed"])["auc"].mean().groupby("period").agg(["mean", "std"])
    assert [line.of[0] for line in table.lines] == ["2", "5", "10", "all"]
    for line, (_, expected) in zip(table.lines, by_seed.iterrows(), strict=False):
        assert line.cells[0].mean == pytest.approx(expected["mean"])
        assert line.cells[0].spread == pytest.approx(expected["std"])
        assert line.cells[0].n_runs == 6


def test_two_keys_make_rows_and_columns_with_margins(results: list[Result]) -> None:
    table = next(table for table in marginal_tables(results, ["method.ladder", "method.swap.period"]))
    assert [column.title for column in table.columns] == [
        *(f"method.swap.period={period}" for period in (2, 5, 10)),
        "all",
    ]
    assert [line.of[0] for line in table.lines] == ["[0.8,0.2]", "[0.8,0.4]", "all"]
    assert table.lines[0].cells[1].mean == pytest.approx(0.5 + 0.2 + 0.05)
    assert table.lines[-1].cells[-1].n_runs == len(GRID)


def test_a_domain_without_metrics_of_its_own_has_the_best_score() -> None:
    runs = [
        result({}, "mine", seed=seed, task__domain="somebody.domain", more={"totals": {"best_score": seed / 4}})
        for seed in (1, 2)
    ]
    (table,) = marginal_tables(runs, ["method"])
    assert [(column.title, cell.mean) for column, cell in zip(table.columns, table.lines[0].cells, strict=True)] == [
        ("best score ↑", 0.375)
    ]


def test_metrics_and_the_score_to_be_reached_are_the_users_choice() -> None:
    curves = {"curve.best_calls": [1, 40, 90], "curve.best": [0.1, 0.5, 0.8]}
    runs = [result({**curves, "top10": 0.4}, seed=0), result({**curves, "top10": 0.6, "curve.best": [0.1] * 3}, seed=1)]
    (table,) = marginal_tables(compare_by(runs, ["calls_to_0.45", "top10"]), ["method"])
    assert [column.title for column in table.columns] == ["calls to 0.45 ↓", "mean of the ten best ↑"]
    assert [cell.text for cell in table.lines[0].cells][1] == "0.500 ± 0.141"
    assert table.lines[0].cells[0].text.endswith("(1 of 2)")
    with pytest.raises(InputError, match=r"--metric: no run has top11; .*top10"):
        compare_by(runs, ["top11"])
    with pytest.raises(InputError, match=r"compare calls_to_0\.45, as a run may never reach it; omit one$"):
        marginal_tables(compare_by(runs, ["calls_to_0.45"]), ["seed"], "0")


def test_a_note_warns_of_runs_that_read_different_data() -> None:
    runs = [
        result({"top10": 0.5}, "mine", seed=seed, more={"sources": {"oracle": sha256}})
        for seed, sha256 in enumerate("ab")
    ]
    assert [table.notes[1:] for table in marginal_tables(runs, ["method"])] == [
        ("Careful: these runs read different data (oracle).",)
    ]
    assert [table.notes[1:] for table in marginal_tables(runs[:1], ["method"])] == [()]


@pytest.mark.parametrize(
    ("key", "expected"),
    [("method", ["Careful: these runs differ in budget.oracle_calls."]), ("budget.oracle_calls", [])],
)
def test_a_note_warns_of_budgets_that_differ_unless_the_table_shows_them(key: str, expected: list[str]) -> None:
    runs = [
        result({"top10": 0.5}, "mine", seed=seed, budget__oracle_calls=calls) for seed, calls in enumerate((1, 300))
    ]
    (table,) = marginal_tables(runs, [key])
    assert [*table.notes[1:]] == expected


@pytest.mark.parametrize(("key", "counts"), [("method", [1, 1]), ("budget.oracle_calls", [1, 1, 1])])
def test_a_run_that_a_longer_one_continues_is_no_further_observation(key: str, counts: list[int]) -> None:
    runs = [result({"diverse_auc": calls / 1000}, "mine", budget__oracle_calls=calls) for calls in (100, 300)]
    (table,) = marginal_tables(runs, [key])
    assert [line.cells[0].n_runs for line in table.lines] == counts
    assert table.lines[-1].cells[0].mean == 0.3


def test_a_note_counts_the_runs_that_ended_early() -> None:
    runs = [
        result({"top10": 0.5}, "mine", seed=seed, more={"stopped_by": why})
        for seed, why in enumerate(("budget", "early_stop"))
    ]
    (table,) = marginal_tables(runs, ["method"])
    assert table.notes[1:] == ("Ended before their budget was spent: 1 by early_stop (of 2 runs).",)


def test_a_note_says_whether_cells_are_means_or_medians() -> None:
    for kind, shown in {"molecules": "Mean ± sample standard deviation", "equations": "Median,"}.items():
        run = result({"best_nmse": 0.5}, "mine", task__domain=f"evodiverse.tasks.{kind}")
        (table,) = marginal_tables([run], ["method"])
        assert table.notes[0].startswith(shown)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["method.swap.perid"], r"no run has the setting method\.swap\.perid; did you mean method\.swap\.period"),
        (["method", "task", "seed"], "--by takes one or two keys, got method,task,seed"),
        ([""], "--by takes one or two keys, got none"),
    ],
)
def test_invalid_keys_are_refused(results: list[Result], keys: list[str], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        marginal_tables(results, keys)


def test_values_are_compared_with_another_one_in_pairs_of_runs() -> None:
    scores = {"pt": [0.5, 0.6, 0.7], "graph_ga": [0.6, 0.8, 0.8], "restarts": [0.1]}
    runs = [
        result({"top10": score}, method=method, seed=seed)
        for method, some in scores.items()
        for seed, score in enumerate(some)
    ]
    (table,) = marginal_tables(runs, ["method"], "graph_ga")
    at = [column.title for column in table.columns].index("mean of the ten best ↑ − graph_ga")
    cells = {line.of[0]: line.cells[at] for line in table.lines}
    assert cells["pt"].mean == pytest.approx((-0.1 - 0.2 - 0.1) / 3)
    assert cells["pt"].text.endswith("p = 0.25")  # 2 / 2^3
    assert (cells["restarts"].text, cells["restarts"].n_runs) == ("-0.500", 1)
    assert cells["graph_ga"] == cells["all"] == EMPTY
    assert (
        "Careful: 1 pair in a cell cannot give a p-value below 1, whatever the difference; use more seeds."
        in table.notes
    )


def test_a_pair_agrees_in_all_but_the_key() -> None:
    def run(period: int, **changed: object) -> Result:
        return result({"top10": 0.5}, overrides={"method.swap.period": period, **changed})

    runs = [run(2), run(5), run(2, **{"budget.oracle_calls": 99}), run(5, **{"method.capacity": 9})]
    (table,) = marginal_tables(runs, ["method.swap.period"], "5")
    assert [line.cells[-1].n_runs for line in table.lines] == [1, 0, 0]


def test_a_comparison_needs_one_key_and_a_value_that_runs_have(results: list[Result]) -> None:
    with pytest.raises(InputError, match=r"no run has method\.swap\.period=6; --against takes one of 2, 5, 10"):
        marginal_tables(results, ["method.swap.period"], "6")
    with pytest.raises(InputError, match="--against compares the values of one key"):
        marginal_tables(results, ["method.swap.period", "seed"], "5")
