"""The recorded sweeps: each composes to valid runs, and the sweep of a table has exactly the runs of its rows."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import OmegaConf

from evodiverse.results.tables.layout import Layout, Row, paper_layouts
from evodiverse.results.tables.notes import NEED_A_MODEL
from evodiverse.results.tables.results import OFF, Result, read_result
from evodiverse.runlog.runs import Run
from evodiverse.settings.compose import CONFIG_NAME, hydra_session
from evodiverse.settings.plan import Plan, plan_run
from evodiverse.settings.schema import register
from evodiverse.settings.sweep import Composer
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.settings import GROUPS
from tests.runs import CONF, plan
from tests.tasks.equations.srbench import write_benchmark

pytestmark = pytest.mark.slow

FILES = sorted((CONF / "experiment").glob("*.yaml"))
LISTS = [file for file in FILES if file.stem.startswith("srbench")]  # lists of problems for other experiments
WHOLE = [file.stem for file in FILES if file not in LISTS]
TABLES = {layout.name: layout for layout in paper_layouts()}
KEYS = ("OPENROUTER_API_KEY", "OPENAI_API_KEY")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    register()
    for key in KEYS:
        monkeypatch.setenv(key, "sk-none")


@cache
def sweep(experiment: str, *more: str) -> list[tuple[str, ...]]:
    """Return the command lines of an experiment: only for seed 0, one problem per science and one task of PMO."""
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        composed = compose("config", overrides=[f"+experiment={experiment}"], return_hydra_config=True)
    params = [f"{key}={value}" for key, value in OmegaConf.to_container(composed.hydra.sweeper.params).items()]  # type: ignore[union-attr]
    overrides = OverridesParser.create().parse_overrides([*params, f"+experiment={experiment}", *more])
    (runs,) = BasicSweeper.split_arguments(overrides, max_batch_size=None)
    kept: dict[tuple[str, ...], tuple[str, ...]] = {}
    for run in runs:
        if any(word.startswith("seed=") and word not in ("seed=0", "seed=20") for word in run):
            continue
        alike = tuple(group_of(word) for word in run)
        kept.setdefault(alike, tuple(run))
    return list(kept.values())


def group_of(word: str) -> str:
    """Return a word of a command line, or the name of the group to which it belongs."""
    if word.startswith("task.problem="):
        return PROBLEMS[word.partition("builtin/")[2]].domain
    return "task=pmo" if word.startswith("task=pmo/") else word


def off(experiment: str) -> list[str]:
    """Return the overrides that run an experiment without a model; methods that need one are left out."""
    methods = [word.partition("=")[2] for run in sweep(experiment) for word in run if word.startswith("method=")]
    others = [method for method in dict.fromkeys(methods) if method not in NEED_A_MODEL]
    return ["llm=off", *([f"method={','.join(others)}"] if NEED_A_MODEL & set(methods) else [])]


def as_result(planned: Plan) -> Result:
    """Return a run of a plan as tables see it, after it has ended by its budget."""
    stopped_by = "budget" if planned.config.budget.llm_calls is None else "llm_calls"
    record = {"settings": planned.settings, "overrides": planned.overrides, "stopped_by": stopped_by}
    return read_result(Run(planned.path, record), {})


def one_of_each_method(runs: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return one run for each method; whether it needs a model depends on nothing else."""
    return list({tuple(word for word in run if word.startswith("method=")): run for run in runs}.values())


def plans_of(runs: Sequence[Sequence[str]]) -> list[Plan]:
    """Return the plans of runs, composed as the command composes the runs of a sweep."""
    with hydra_session(None) as hydra:
        master = hydra.compose_config(CONFIG_NAME, ["hydra.mode=MULTIRUN"], RunMode.MULTIRUN)
        composer = Composer(hydra.config_loader, master)
        return [plan_run(*composer.compose(run)) for run in runs]


def methods_of(layout: Layout) -> list[tuple[Row, str]]:
    """Return the rows of a table with their methods: a row's own, and the one that it is compared with."""
    return [(row, method) for row in layout.rows for method in (row.method, row.against) if method]


def find_rows_without_runs(layout: Layout, results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return the rows and methods of a table that lack the runs of one of its models, or have those of others."""
    models = set(layout.llm or [OFF])
    return [
        (str(row.of), method)
        for row, method in methods_of(layout)
        if {result.model for result in results if result.belongs(row, method)} != models
    ]


def fills(layout: Layout, result: Result) -> bool:
    """Return whether a run appears in a table, in its own row or as the one that a row is compared with."""
    return (
        layout.admits(result.model)
        and result.fit in (None, layout.fit or result.fit)
        and any(result.belongs(row, method) for row, method in methods_of(layout))
    )


@pytest.mark.parametrize("experiment", WHOLE)
def test_the_runs_of_an_experiment_are_valid_distinct_and_exactly_those_of_its_tables(experiment: str) -> None:
    plans = plans_of(sweep(experiment))
    assert len({planned.path for planned in plans}) == len(plans) > 1
    results = [as_result(planned) for planned in plans]
    for layout in TABLES.values():
        if layout.experiment == experiment:
            assert find_rows_without_runs(layout, results) == []
            assert [result.run.path for result in results if not fills(layout, result)] == []


@pytest.mark.parametrize("experiment", WHOLE)
def test_every_experiment_also_runs_without_a_model(experiment: str) -> None:
    plans = plans_of(one_of_each_method(sweep(experiment, *off(experiment))))
    assert {planned.config.llm.client for planned in plans} == {"none"}


def test_every_table_has_an_experiment() -> None:
    assert {layout.experiment for layout in TABLES.values() if layout.experiment} <= {*WHOLE}
    assert [name for name, layout in TABLES.items() if layout.experiment is None] == []


@pytest.mark.parametrize("experiment", WHOLE)
def test_every_problem_of_an_experiment_is_builtin_and_named_once(experiment: str) -> None:
    params = OmegaConf.load(CONF / "experiment" / f"{experiment}.yaml").hydra.sweeper.params
    problems = [problem.strip() for problem in str(params.get("task.problem", "")).split(",") if problem]
    assert len(set(problems)) == len(problems)
    assert {problem.removeprefix("builtin/") for problem in problems} <= set(PROBLEMS)


@pytest.mark.parametrize("file", LISTS, ids=lambda file: file.stem)
def test_a_list_of_problems_replaces_those_of_another_experiment(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path))  # the test writes these data, which must not be redistributed
    (listed,) = OmegaConf.load(file).hydra.sweeper.params.values()
    problems = [problem.strip() for problem in listed.split(",")]
    _, science, _ = problems[0].split("/")
    write_benchmark(tmp_path / "llm-srbench", GROUPS[science], [problem.rpartition("/")[2] for problem in problems])
    both = f"+experiment=[three_rungs,{file.stem}]"
    plans = [plan(both, "llm=off", f"task.problem={problem}") for problem in (problems[0], problems[-1])]
    assert [as_result(planned).science for planned in plans] == [science, science]
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        composed = compose("config", overrides=[both], return_hydra_config=True)
    assert composed.hydra.sweeper.params["task.problem"] == listed


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_experiment_begins_with_the_command_that_runs_it(file: Path) -> None:
    comments = [line for line in file.read_text().splitlines() if line.startswith("# ")]
    ending = rf',{file.stem}]"' if file in LISTS else f"evodiverse -m +experiment={file.stem}"
    assert comments[1].endswith(ending)
