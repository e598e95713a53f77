"""Tables over runs: metrics, spreads and Markdown."""

import json
from pathlib import Path

import pytest

from evodiverse.analysis.runs import Run, find_runs
from evodiverse.analysis.tables import MoleculeResult, markdown, measure, molecule_table, spread
from tests.analysis.builders import swap_row, write_run
from tests.runs import run_here

TABLE = """\
| task | method | llm | top-10 AUC  | top-10 average | swap acceptance | oracle calls | runs |
| ---- | ------ | --- | ----------- | -------------- | --------------- | ------------ | ---- |
| jnk3 | ea     | off | 0.70        | 0.60           | -               | 2            | 1    |
| jnk3 | pt     | off | 0.70 ± 0.28 | 0.60 ± 0.28    | 0.75 ± 0.35     | 2            | 2    |"""


def toy_run(path: Path, *, step: float = 0.0, swaps: tuple[bool, ...] = (), **settings: object) -> Run:
    """A run of two molecules whose pools hold the worse, then the better one; ``step`` is added to both scores."""
    rows = [swap_row(accepted=accepted) for accepted in swaps]
    scores = {"c1ccccc1": 0.7 + step, "CCO": 0.5 + step}
    return write_run(path, scores, [[[2], []], [[1], []]], rows, **settings)


# Spread


def test_the_spread_is_the_mean_and_the_sample_standard_deviation() -> None:
    assert spread([0.1, 0.2, 0.6]) == "0.30 ± 0.26"  # 0.22 over n instead of n - 1


def test_the_spread_of_one_value_is_the_value() -> None:
    assert spread([0.254]) == "0.25"


def test_the_spread_of_nothing_is_a_dash() -> None:
    assert spread([]) == "-"


# Markdown


def test_the_columns_of_a_table_are_as_wide_as_their_widest_cell() -> None:
    assert markdown(["a", "long"], [["wide", "1"], ["b", "22"]]) == (
        "| a    | long |\n"  #
        "| ---- | ---- |\n"
        "| wide | 1    |\n"
        "| b    | 22   |"
    )


def test_a_table_without_rows_has_its_header() -> None:
    assert markdown(["a", "bc"], []) == "| a | bc |\n| - | -- |"


# Metrics of a run


def test_a_run_is_measured_over_its_whole_budget(tmp_path: Path) -> None:
    run = toy_run(tmp_path, swaps=(True, False))  # (12 - 2) / 4: three iterations, of which it ran one
    assert measure(run) == MoleculeResult(pytest.approx(0.7), pytest.approx(0.6), 0.5, 2)


def test_a_real_run_is_measured_by_its_own_log(tmp_path: Path) -> None:
    small = ["task.initial.size=6", "method.offspring=3", "method.swap.period=1", "budget.oracle_calls=27"]
    path = run_here("task=jnk3", "method=pt", "evaluator.workers=1", f"outputs={tmp_path}", *small)
    (run,) = find_runs(tmp_path)
    result = measure(run)
    assert result.oracle_calls == json.loads((path / "run.json").read_text())["totals"]["oracle_calls"] == 27
    assert 0 < result.auc <= max(score for _, score in run.candidates().values())


def test_a_run_whose_budget_the_initial_molecules_use_up_is_measured(tmp_path: Path) -> None:
    run = write_run(tmp_path, {"c1ccccc1": 0.7, "CCO": 0.5}, [[[1], [2]]], budget__oracle_calls=2)
    assert measure(run) == MoleculeResult(pytest.approx(0.6), pytest.approx(0.6), None, 2)


def test_a_real_run_whose_budget_is_its_initial_population_is_measured(tmp_path: Path) -> None:
    small = ["task.initial.size=3", "budget.oracle_calls=6"]
    run_here("task=jnk3", "method=pt", "evaluator.workers=1", f"outputs={tmp_path}", *small)
    (run,) = find_runs(tmp_path)
    assert measure(run).oracle_calls == 6


# The table


def test_a_row_is_a_task_a_method_and_a_model_over_their_seeds(tmp_path: Path) -> None:
    toy_run(tmp_path / "ea", method__name="ea")
    toy_run(tmp_path / "pt" / "seed0", step=0.2, swaps=(True, True))
    toy_run(tmp_path / "pt" / "seed1", step=-0.2, swaps=(True, False), seed=1)
    assert molecule_table(find_runs(tmp_path)) == TABLE


def test_tasks_have_rows_of_their_own(tmp_path: Path) -> None:
    toy_run(tmp_path / "a", task__name="gsk3b")
    toy_run(tmp_path / "b", task__name="jnk3")
    rows = molecule_table(find_runs(tmp_path)).splitlines()[2:]
    assert [row.split()[1] for row in rows] == ["gsk3b", "jnk3"]


def test_models_have_rows_of_their_own(tmp_path: Path) -> None:
    toy_run(tmp_path / "local", llm__name="local")
    toy_run(tmp_path / "off" / "seed0")
    toy_run(tmp_path / "off" / "seed1", seed=1)
    rows = [row.split() for row in molecule_table(find_runs(tmp_path)).splitlines()[2:]]
    assert [(row[5], row[-2]) for row in rows] == [("local", "1"), ("off", "2")]


def test_a_run_whose_budget_the_initial_molecules_use_up_has_a_row(tmp_path: Path) -> None:
    write_run(tmp_path, {"c1ccccc1": 0.7, "CCO": 0.5}, [[[1], [2]]], budget__oracle_calls=2)
    (row,) = molecule_table(find_runs(tmp_path)).splitlines()[2:]
    assert [cell.strip() for cell in row.split("|")[4:-1]] == ["0.60", "0.60", "-", "2", "1"]


def test_runs_without_a_swap_do_not_count_in_the_acceptance(tmp_path: Path) -> None:
    toy_run(tmp_path / "seed0", swaps=(True, False, False, False))
    toy_run(tmp_path / "seed1", seed=1)
    row = molecule_table(find_runs(tmp_path)).splitlines()[2]
    assert [cell.strip() for cell in row.split("|")][6] == "0.25"


def test_a_run_that_accepted_no_swap_counts_in_the_acceptance(tmp_path: Path) -> None:
    toy_run(tmp_path / "seed0", swaps=(True, False))
    toy_run(tmp_path / "seed1", swaps=(False, False), seed=1)
    assert "| 0.25 ± 0.35     |" in molecule_table(find_runs(tmp_path))


def test_large_numbers_of_calls_have_separators(tmp_path: Path) -> None:
    scores = {"C" * n: 0.5 for n in range(1, 1202)}
    write_run(tmp_path, scores, [[[1], []]], budget__oracle_calls=2000)
    assert "| 1,201        |" in molecule_table(find_runs(tmp_path))
