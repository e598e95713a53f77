"""The table of a benchmark has a column for each method, sums over the tasks, and what others published."""

from dataclasses import replace
from statistics import fmean

import pytest

from evodiverse.results.tables.build import benchmark_table
from evodiverse.results.tables.cells import Table
from evodiverse.results.tables.layout import Benchmark, Layout, found_layouts
from evodiverse.results.tables.results import Result
from tests.results.tables.results import result
from tests.runs import CONF, ROOT

(PMO,) = (layout for layout in found_layouts(ROOT / "evodiverse/tasks/molecules/tables.yaml") if layout.benchmark)
SMALL = Benchmark(
    metric="auc",
    budget=100,
    methods=("GA",),
    uncounted=("7",),
    tasks={"set/one": ("0.50 ± 0.01",), "set/two": ("0.60 ± 0.02",)},
    totals=("1.1",),
    experiment="small",
)
LAYOUT = Layout("small", "A benchmark", ("task",), (), benchmark=SMALL)


def run(task: str, auc: float, method: str = "pt", seed: int = 0, **more: object) -> Result:
    return result({"auc": auc}, f"set/{task}", method, seed=seed, **{"budget__oracle_calls": 100, **more})  # type: ignore[arg-type]


def table(*results: Result) -> Table:
    return benchmark_table(LAYOUT, SMALL, results)


def texts(built: Table) -> dict[str, list[str]]:
    return {line.of[0]: [cell.text for cell in line.cells] for line in built.lines}


def test_tasks_are_rows_and_methods_columns_before_those_published() -> None:
    built = table(run("one", 0.2), run("one", 0.4, seed=1), run("two", 0.7, "graph_ga"))
    assert [column.full_title for column in built.columns] == ["graph_ga", "pt", "published: GA"]
    assert texts(built)["one"] == ["—", "0.300 ± 0.141", "0.50 ± 0.01"]
    assert texts(built)["two"] == ["0.700", "—", "0.60 ± 0.02"]
    assert texts(built)["calls outside the count"] == ["0", "0", "7"]


def test_the_sum_is_over_the_seeds_that_have_all_tasks() -> None:
    whole = [run(task, auc, seed=seed) for seed in (0, 1) for task, auc in (("one", 0.1 + seed), ("two", 0.2))]
    assert texts(table(*whole))["sum of 2"] == ["0.800 ± 0.707", "1.1"]
    assert texts(table(*whole, run("one", 0.9, seed=2)))["sum of 2"] == ["0.800 ± 0.707", "1.1"]
    assert texts(table(run("one", 0.9)))["sum of 2"] == ["—", "1.1"]


def test_runs_of_another_budget_or_task_do_not_count() -> None:
    built = table(run("one", 0.5, budget__oracle_calls=99), run("three", 0.5))
    assert built.lines == ()


def test_runs_with_overrides_have_a_column_of_their_own() -> None:
    changed = run("one", 0.3, overrides={"method.swap.period": 2})
    built = table(run("one", 0.5), changed)
    assert [column.title for column in built.columns] == ["pt", "pt method.swap.period=2", "GA"]


def test_the_command_that_fills_gaps_is_named_while_there_are_any() -> None:
    assert table(run("one", 0.5)).commands == ("evodiverse -m +experiment=small",)
    assert table(run("one", 0.5), run("two", 0.5)).commands == ()


def test_pmo_has_its_23_tasks_each_of_which_is_an_option() -> None:
    assert PMO.benchmark is not None
    tasks = [*PMO.benchmark.tasks]
    assert tasks == [f"pmo/{file.stem}" for file in sorted((CONF / "task" / "pmo").glob("*.yaml"))]
    assert len(tasks) == 23


@pytest.mark.parametrize("at", range(5))
def test_published_values_add_up_to_the_published_sums(at: int) -> None:
    benchmark = PMO.benchmark
    assert benchmark is not None
    means = [float(values[at].partition(" ")[0]) for values in benchmark.tasks.values()]
    assert 23 * fmean(means) == pytest.approx(float(benchmark.totals[at]), abs=0.02)  # values are rounded to 0.001


def test_a_layout_of_the_same_benchmark_without_runs_has_no_lines() -> None:
    assert benchmark_table(replace(LAYOUT, title="Another"), SMALL, []).lines == ()
