"""Whole searches with evaluators that have OpenEvolve's interface."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.programs.marks import RULE, split_marked
from tests import starts
from tests.llm.servers import Answer, Body, ModelServer, serving
from tests.runs import FROM_ROOT, ROOT, evodiverse, log, rows, run_here

pytestmark = pytest.mark.slow

TASKS = ROOT / "benchmarks" / "openevolve_tasks"


def search(name: str, outputs: Path, *overrides: str) -> Path:
    return run_here(
        "task=program",
        f"task.evaluator={TASKS / name / 'evaluator.py'}",
        f"outputs={outputs}",
        "evaluator.workers=1",
        *overrides,
    )


@pytest.mark.parametrize("name", ["circles", "filtering", "regression"])
def test_each_evaluator_runs_unchanged_and_only_blocks_of_programs_change(name: str, tmp_path: Path) -> None:
    evaluated = rows(search(name, tmp_path, "budget.oracle_calls=5"), "evaluations")
    start = evaluated[0]
    assert start["valid"]
    assert start["score"] > 0
    marked = split_marked(start["genotype"])
    assert marked is not None
    changed = [split_marked(row["genotype"]) for row in evaluated[1:] if row["genotype"] is not None]
    assert changed
    assert {tuple(parts[::2]) for parts in changed if parts} == {tuple(marked[::2])}
    assert all(parts[1::2] != marked[1::2] for parts in changed if parts)


def test_the_command_makes_a_task_that_runs_to_the_same_log_with_any_number_of_workers(tmp_path: Path) -> None:
    made = starts.run(
        *starts.main_of("evodiverse.commands.new"),
        *("program", "mine", "--from-openevolve", str(TASKS / "minimization")),
        cwd=tmp_path,
        env=FROM_ROOT,
    )
    command = shlex.split(made.stdout.splitlines()[-1].partition("&& ")[2])
    assert command[:3] == ["evodiverse", "task=program", "task.evaluator=task/evaluator.py"]
    few = "budget.oracle_calls=12"
    ran = evodiverse(*command[1:], few, "evaluator.workers=2", cwd=tmp_path / "mine", env=FROM_ROOT)
    assert ran.returncode == 0, ran.stderr
    (record,) = (tmp_path / "mine").rglob("run.json")
    logged = log(record.parent)
    assert logged["evaluations"][0]["stage"] == "stage2"
    assert logged == log(search("minimization", tmp_path, few))


def test_trust_is_in_the_record_of_the_run_and_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = search("scheduling", tmp_path, "budget.oracle_calls=3", "task.trust=true")
    assert json.loads((run / "run.json").read_text())["settings"]["task.trust"] is True
    assert "programs run outside of the sandbox, with all the rights of your account" in caplog.text
    with pytest.raises(InputError, match=r"sandbox\.require=strict: task\.trust=true runs programs outside"):
        search("scheduling", tmp_path / "strict", "task.trust=true", "sandbox.require=strict")


REPLY = "<<<<<<< SEARCH\n    return due\n=======\n    return due / {}\n>>>>>>> REPLACE\n"


def answer(body: Body, number: int) -> Answer:
    return Answer(REPLY.format(number + 2))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(ModelServer(answer)) as running:
        yield running


def test_a_model_is_shown_the_metrics_and_the_rule_of_the_marks(server: ModelServer, tmp_path: Path) -> None:
    run = search(
        "scheduling",
        tmp_path,
        "budget.oracle_calls=4",
        "llm=openai_compatible",
        "llm.model=toy",
        f"llm.api_base={server.url}",
        f"llm.cache={tmp_path / 'cache'}",
    )
    made = [row for row in rows(run, "evaluations") if row["operator"] == "llm"]
    assert any(row["valid"] and "return due / " in row["genotype"] for row in made)
    prompt = rows(run, "llm_calls")[0]["prompt"]
    assert RULE in prompt
    assert "uses its priority." in prompt
    assert "many: 0.6" in prompt
