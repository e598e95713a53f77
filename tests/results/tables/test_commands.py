"""Commands that fill tables make the missing runs, by sweeps of experiments."""

import pytest

from evodiverse.results.domains import find_domain
from evodiverse.results.tables.build import build_tables
from evodiverse.results.tables.layout import Row, paper_layouts
from evodiverse.results.tables.notes import NEED_A_MODEL, Absent, choose_commands
from evodiverse.runlog.runs import write_setting
from tests.results.tables.results import layout
from tests.runs import plan

pytestmark = pytest.mark.slow

# pt_same_prompt needs a model, and so a key.
ROWS = {
    (row.task, row.method, str(row.overrides)): row
    for layout in paper_layouts()
    for row in layout.rows
    if row.method not in NEED_A_MODEL
}


@pytest.mark.parametrize("row", ROWS.values(), ids=map(str, ROWS))
def test_every_row_of_the_paper_can_be_run_and_is_then_found_by_its_overrides(row: Row) -> None:
    words = [f"{key}={write_setting(value)}" for key, value in row.overrides.items()]
    equations = find_domain("evodiverse.tasks.equations")
    if row.task == "equation" and equations is not None:
        words += [word.partition(",")[0] for word in equations.choose_problems([row.science])]
    overrides = plan(f"task={row.task}", f"method={row.method}", "llm=off", *words).overrides
    assert {key: value for key, value in overrides.items() if key != "task.problem"} == row.overrides


MAIN = layout([Row(("a",), "equation", "pt")], llm=("a", "b"), fit="bfgs", experiment="eq_main")


def lacking(*models: str, fit: str | None = "bfgs") -> list[Absent]:
    return [(fit, model) for model in models]


@pytest.mark.parametrize(
    ("missing", "commands"),
    [
        (lacking("a", "b", "b"), ["evodiverse -m +experiment=eq_main"]),
        (lacking("b"), ["evodiverse -m +experiment=eq_main llm=gpt5"]),
        (lacking("other"), ["evodiverse -m +experiment=eq_main llm=other"]),
        (lacking("off", fit="lm"), ["evodiverse -m +experiment=eq_main llm=off task.fit=lm"]),
        (
            lacking("a", "b") + lacking("off", fit="lm"),
            ["evodiverse -m +experiment=eq_main", "evodiverse -m +experiment=eq_main llm=off task.fit=lm"],
        ),
        ([], []),
    ],
)
def test_one_command_makes_all_missing_runs_of_an_experiment(missing: list[Absent], commands: list[str]) -> None:
    assert list(choose_commands(MAIN, missing, {"b": ["llm=gpt5"]})) == commands


def test_methods_that_need_a_model_are_left_out_without_one() -> None:
    rows = [Row(("a",), "jnk3", method) for method in ("molleo", "pt", "pt_same_prompt")]
    prompts = layout(rows, llm=("a",), experiment="prompt_ablation_mol")
    for model, more in (("off", " llm=off method=molleo,pt"), ("a", "")):
        commands = [*choose_commands(prompts, [(None, model)], {})]
        assert commands == [f"evodiverse -m +experiment=prompt_ablation_mol{more}"]


def test_words_of_a_model_are_quoted_for_a_shell() -> None:
    (command,) = choose_commands(MAIN, lacking("mine"), {"mine": ["llm=litellm", "llm.model=openai/x y"]})
    assert command == "evodiverse -m +experiment=eq_main llm=litellm 'llm.model=openai/x y'"


def test_a_table_of_one_task_asks_for_its_runs_alone() -> None:
    tables = build_tables([], [], task="gsk3b")
    commands = {table.name: table.commands for table in tables}
    assert commands["mol_llm"] == ("evodiverse -m +experiment=mol_main task=gsk3b",)
    assert commands["cost_gsk3b"] == ("evodiverse -m +experiment=cost_gsk3b",)


def test_below_each_table_of_the_paper_that_runs_fill_stands_one_command() -> None:
    commands = {table.name: table.commands for table in build_tables([], [])}
    assert commands.pop("docking_top10") == ()
    experiments = {layout.name: layout.experiment for layout in paper_layouts()}
    assert commands == {name: (f"evodiverse -m +experiment={experiments[name]}",) for name in commands}
