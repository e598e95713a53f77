"""Commands that fill tables make the missing runs; those without an experiment make no others."""

import shlex
from itertools import product

import pytest

from evodiverse.results.tables.build import build_tables
from evodiverse.results.tables.layout import Experiment, Row, paper_layouts
from evodiverse.results.tables.notes import NEED_A_MODEL, Absent, choose_commands
from evodiverse.tasks.equations.problems import PROBLEMS
from tests.runs import plan

EQUATIONS = "evodiverse.tasks.equations"


def absent(
    task: str,
    method: str,
    model: str = "deepseek",
    science: str | None = None,
    fit: str | None = None,
    **overrides: object,
) -> Absent:
    changed = {key.replace("__", "."): value for key, value in overrides.items()}
    domain = EQUATIONS if task == "equation" else None
    return Row(("",), task, method, science, fit, domain, changed), model


def runs_of(command: str) -> set[tuple[str, ...]]:
    """All combinations that a sweep runs."""
    words = shlex.split(command)
    assert words[:2] == ["evodiverse", "-m"]
    choices = []
    for word in words[2:]:
        key, _, values = word.partition("=")
        choices.append([f"{key}={value}" for value in ([values] if values.startswith("[") else values.split(","))])
    return set(product(*choices))


def test_methods_and_tasks_that_lack_the_same_are_swept_together() -> None:
    wanted = [absent(task, method) for task in ("jnk3", "gsk3b") for method in ("pt", "molleo")]
    assert choose_commands(None, wanted, {}) == [
        "evodiverse -m task=jnk3,gsk3b method=molleo,pt llm=deepseek seed=0,1,2"
    ]


def test_a_sweep_makes_no_run_that_is_there() -> None:
    wanted = [absent("jnk3", "pt"), absent("jnk3", "molleo"), absent("gsk3b", "pt")]
    assert choose_commands(None, wanted, {}) == [
        "evodiverse -m task=jnk3 method=molleo,pt llm=deepseek seed=0,1,2",
        "evodiverse -m task=gsk3b method=pt llm=deepseek seed=0,1,2",
    ]


def test_equations_are_swept_over_the_problems_of_their_science() -> None:
    (command,) = choose_commands(None, [absent("equation", "pt", "off", "chemistry")], {})
    problems = ",".join(f"builtin/reaction{number}" for number in range(1, 9))
    assert command == f"evodiverse -m task=equation task.problem={problems} method=pt llm=off seed=0,1,2"


def test_all_problems_are_swept_where_no_science_is_named() -> None:
    (command,) = choose_commands(None, [absent("equation", "pt", "off")], {})
    assert len(runs_of(command)) == 3 * len(PROBLEMS)


def test_overrides_are_quoted_for_a_shell() -> None:
    (command,) = choose_commands(None, [absent("equation", "pt", "off", "physics", method__ladder=[0.5, 0.01])], {})
    assert "'method.ladder=[0.5,0.01]'" in command


def test_a_model_is_chosen_by_the_words_given() -> None:
    words = {"mine": ["llm=litellm", "llm.model=openai/x y"]}
    (command,) = choose_commands(None, [absent("jnk3", "pt", "mine")], words)
    assert command == "evodiverse -m task=jnk3 method=pt llm=litellm 'llm.model=openai/x y' seed=0,1,2"


def test_the_same_run_is_asked_for_once() -> None:
    assert len(choose_commands(None, [absent("jnk3", "pt")] * 2, {})) == 1


# pt_same_prompt needs a model, and so a key.
ROWS = {
    (row.task, row.method, str(row.overrides)): row
    for layout in paper_layouts()
    for row in layout.rows
    if row.method not in NEED_A_MODEL
}


@pytest.mark.parametrize("row", ROWS.values(), ids=map(str, ROWS))
def test_every_row_of_the_paper_can_be_run_and_is_then_found_by_its_overrides(row: Row) -> None:
    (command,) = choose_commands(None, [absent(row.task, row.method, "off", row.science, **row.overrides)], {})
    overrides = plan(*min(runs_of(command))).overrides
    assert {key: value for key, value in overrides.items() if key != "task.problem"} == row.overrides


MAIN = Experiment("eq_main", frozenset({"a", "b"}), "bfgs")


def lacking(*models: str, fit: str = "bfgs", method: str = "pt") -> list[Absent]:
    return [absent("equation", method, model, "physics", fit=fit) for model in models]


@pytest.mark.parametrize(
    ("missing", "commands"),
    [
        ([*lacking("a"), *lacking("b", method="ensemble")], ["evodiverse -m +experiment=eq_main"]),
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
    assert choose_commands(MAIN, missing, {"b": ["llm=gpt5"]}) == commands


def test_methods_that_need_a_model_are_left_out_without_one() -> None:
    prompts = Experiment("prompt_ablation_mol", frozenset({"a"}))
    for model, more in (("off", " llm=off method=molleo,pt"), ("a", "")):
        methods = ["molleo", "pt", "pt_same_prompt"]
        commands = choose_commands(prompts, [absent("jnk3", "pt", model)], {}, methods)
        assert commands == [f"evodiverse -m +experiment=prompt_ablation_mol{more}"]


def test_a_table_of_one_task_asks_for_its_runs_alone() -> None:
    tables = build_tables([], [], task="gsk3b")
    commands = {table.name: table.commands for table in tables}
    assert commands["mol_llm"] == ("evodiverse -m +experiment=mol_main task=gsk3b",)
    assert commands["cost_gsk3b"] == ("evodiverse -m +experiment=cost_gsk3b",)


def test_below_each_table_of_the_paper_that_runs_fill_stands_one_command() -> None:
    commands = {table.name: table.commands for table in build_tables([], [])}
    assert commands.pop("docking_top10") == ()
    experiments = {layout.name: layout.experiment for layout in paper_layouts()}
    assert commands == {
        name: (f"evodiverse -m +experiment={experiments[name].name}",)  # type: ignore[union-attr]
        for name in commands
    }
