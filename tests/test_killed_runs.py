"""Molecule searches that are killed repeatedly end with the log of one that was not."""

import random
import time
from pathlib import Path

import pytest

from tests import starts
from tests.runs import FROM_ROOT, TOY_CONF, evodiverse, log

ARGUMENTS = ["task=jnk3", "method=pt", "budget.oracle_calls=3000", "search.early_stop=null"]
RUN = "outputs/jnk3/pt/off/budget.oracle_calls=3000,search.early_stop=null/seed0"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert evodiverse(*ARGUMENTS, cwd=folder).returncode == 0
    return folder / RUN


def kill_at_random(arguments: list[str], cwd: Path, seed: int, longest: float) -> None:
    """Start a run ten times, and kill it each time at a random moment within ``longest`` seconds."""
    rng = random.Random(seed)  # noqa: S311 (moments, not secrets)
    for _ in range(10):
        process = starts.start("-m", "evodiverse", *arguments, cwd=cwd, env=FROM_ROOT)
        time.sleep(rng.uniform(0, longest))
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n_workers", [1, 4])
def test_kills_at_random_moments_do_not_change_the_log(tmp_path: Path, whole: Path, n_workers: int) -> None:
    arguments = [*ARGUMENTS, f"evaluator.workers={n_workers}"]
    kill_at_random(arguments, tmp_path, seed=n_workers, longest=3)
    assert evodiverse(*arguments, cwd=tmp_path).returncode == 0
    assert log(tmp_path / RUN) == log(whole)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n_workers", [1, 4])
def test_no_finished_evaluation_is_repeated_by_a_slow_oracle(tmp_path: Path, n_workers: int) -> None:
    """A kill between the oracle's last line and the journal is possible but rare, so one repetition is tolerated."""
    diary = tmp_path / "diary"
    slow = ["--config-dir", str(TOY_CONF), "task=bits", "task.pause=0.05", f"task.diary={diary}"]
    arguments = [*slow, f"evaluator.workers={n_workers}", "budget.oracle_calls=400"]
    kill_at_random(arguments, tmp_path, seed=n_workers, longest=2)
    assert evodiverse(*arguments, cwd=tmp_path, env=FROM_ROOT).returncode == 0
    evaluated = diary.read_text().split()
    assert len(set(evaluated)) == 400
    assert len(evaluated) <= 401
