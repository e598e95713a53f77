"""Runs with a scaffold: no call goes to a molecule without the core, and few proposals are wasted."""

from pathlib import Path

import pytest

from evodiverse.errors import Interrupted
from tests.runs import log, rows, run_here, stop_after, write_at_once
from tests.tasks.molecules.cores import has_core

pytestmark = pytest.mark.slow

CORE = "[*:1]Nc1nccc([*:2])n1"
SHORT = ["task=jnk3", f'task.scaffold="{CORE}"', "task.initial.size=40", "method.capacity=40", "method.offspring=20"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("scaffold")
    return run_here(*SHORT, "method=pt", "budget.oracle_calls=240", f"outputs={outputs}")


def test_every_call_goes_to_a_molecule_with_the_core(run: Path) -> None:
    evaluated = [row for row in rows(run, "evaluations") if row["outcome"] == "evaluated"]
    assert len(evaluated) == 240
    assert all(has_core(CORE, row["key"]) for row in evaluated)


def test_few_proposals_are_rejected(run: Path) -> None:
    outcomes = [row["outcome"] for row in rows(run, "evaluations") if row["iteration"] > 0]
    assert outcomes.count("rejected") < 0.05 * len(outcomes)


def test_two_workers_and_a_kill_give_the_same_log(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_at_once(monkeypatch)
    arguments = [*SHORT, "method=pt", "budget.oracle_calls=240", "evaluator.workers=2", f"outputs={tmp_path}"]
    with pytest.raises(Interrupted):
        run_here(*arguments, display=stop_after(2))
    assert log(run_here(*arguments)) == log(run)


def test_screening_rates_molecules_with_the_core(tmp_path: Path) -> None:
    screened = run_here(*SHORT, "method=gp_bo", "budget.oracle_calls=60", f"outputs={tmp_path}")
    evaluated = [row for row in rows(screened, "evaluations") if row["outcome"] == "evaluated"]
    assert len(evaluated) == 60
    assert all(has_core(CORE, row["key"]) for row in evaluated)
