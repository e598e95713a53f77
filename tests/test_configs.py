"""The YAML files: complete, valid, documented, and packed into the wheel."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from evodiverse.settings import schema
from evodiverse.tasks.molecules.settings import MoleculeSettings
from evodiverse.tasks.programs.settings import ProgramSettings
from tests.runs import CONF, plan

OPTIONS = [
    (group.name, option.stem)
    for group in sorted(CONF.iterdir())
    if group.is_dir() and group.name != "hydra"
    for option in sorted(group.glob("*.yaml"))
]
METHODS = [option for group, option in OPTIONS if group == "method" and option != "pt_same_prompt"]


@pytest.fixture(scope="module")
def help_text() -> str:
    return subprocess.run(
        [sys.executable, "-m", "evodiverse", "--help"], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_help_lists_every_option_with_an_example(help_text: str, group: str, option: str) -> None:
    lines = [line for line in help_text.splitlines() if line.split()[:1] == [option]]
    assert [line for line in lines if f"{group}={option}" in line]


def test_help_names_no_option_that_does_not_exist(help_text: str) -> None:
    examples = [word for line in help_text.splitlines() for word in line.split() if "=" in word]
    named = {tuple(word.lstrip("+").split("=")) for word in examples}
    groups = {group for group, _ in OPTIONS}
    assert {pair for pair in named if pair[0] in groups} <= set(OPTIONS)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_valid_for_molecules(method: str) -> None:
    assert plan("task=jnk3", f"method={method}").path.name == "seed0"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_valid_for_programs(method: str) -> None:
    assert plan("task=circle_packing", f"method={method}").path.name == "seed0"


# DESIGN.md, "Domain conventions", programs
@pytest.mark.parametrize(
    ("method", "ladder", "capacity"),
    [
        ("pt", [1.0, 0.25], 500),
        ("pt3", [1.0, 0.5, 0.25], 500),
        ("ea", [1.0], 1000),
        ("ensemble", [1.0, 1.0], 500),
        ("island", [1.0, 1.0], 500),
        ("tempering", [0.25], 1000),
        ("random_swap", [1.0, 0.25], 500),
    ],
)
def test_methods_are_the_papers_for_programs(method: str, ladder: list[float], capacity: int) -> None:
    composed = plan("task=circle_packing", f"method={method}").config
    assert (composed.method.ladder, composed.method.capacity) == (ladder, capacity)
    assert (composed.method.parents, composed.method.offspring, composed.search.attempts) == (3, 1, 1)
    assert (composed.method.swap.size, composed.method.swap.target, composed.method.swap.window) == (1, 0.3, 5)
    assert composed.budget.oracle_calls == 1000


@pytest.mark.parametrize("task", ["jnk3", "gsk3b", "equation", "circle_packing"])
def test_no_score_ends_a_run_unless_asked_for(task: str) -> None:
    assert plan(f"task={task}").config.search.target is None


def test_the_molecule_tasks_differ_in_their_target_alone() -> None:
    first, second = (plan(f"task={task}").settings for task in ("jnk3", "gsk3b"))
    assert {key for key in first if first[key] != second[key]} == {
        "task.name",
        "task.oracle.published",
    }


@pytest.mark.parametrize("experiment", sorted((CONF / "experiment").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_run_of_an_experiment_is_valid(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-none")
    params = {**OmegaConf.load(experiment).hydra.sweeper.params, "seed": "0"}
    sweeps = [[f"{key}={value}" for value in str(values).split(",")] for key, values in params.items()]
    paths = {plan(f"+experiment={experiment.stem}", *overrides).path for overrides in itertools.product(*sweeps)}
    assert len(paths) == len(list(itertools.product(*sweeps)))


@pytest.mark.parametrize("experiment", sorted((CONF / "experiment").glob("*.yaml")), ids=lambda path: path.stem)
def test_an_experiment_begins_with_the_command_that_runs_it(experiment: Path) -> None:
    comments = [line for line in experiment.read_text().splitlines() if line.startswith("# ")]
    assert comments[1].endswith(f"evodiverse -m +experiment={experiment.stem}")


def documented_fields(owner: type) -> Iterator[tuple[str, Field[object]]]:
    for field in fields(owner):
        if isinstance(field.type, type) and is_dataclass(field.type):
            yield from documented_fields(field.type)
        elif "factory" not in repr(field.default_factory) and field.name not in {"task", "early_stop"}:
            yield f"{owner.__name__}.{field.name}", field


@pytest.mark.parametrize("owner", [schema.Config, MoleculeSettings, ProgramSettings])
def test_every_key_is_documented(owner: type) -> None:
    undocumented = [name for name, field in documented_fields(owner) if not field.metadata.get("doc")]
    assert undocumented == []


@pytest.mark.parametrize("path", sorted(CONF.rglob("*.yaml")), ids=lambda path: str(path.relative_to(CONF)))
def test_every_file_says_first_what_it_is(path: Path) -> None:
    assert path.read_text().startswith("# ")
    assert yaml.safe_load(path.read_text())
