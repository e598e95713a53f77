"""Molecule searches that are killed again and again end with the log of one that was not."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runs import evodiverse, log

ARGUMENTS = ["task=jnk3", "method=pt", "budget.oracle_calls=3000", "search.early_stop=null"]
RUN = "outputs/jnk3/pt/off/budget.oracle_calls=3000,search.early_stop=null/seed0"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert evodiverse(*ARGUMENTS, cwd=folder).returncode == 0
    return folder / RUN


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_kills_at_random_moments_do_not_change_the_log(tmp_path: Path, whole: Path, n_workers: int) -> None:
    rng = random.Random(n_workers)  # noqa: S311 (moments, not secrets)
    command = [sys.executable, "-m", "evodiverse", *ARGUMENTS, f"evaluator.workers={n_workers}"]
    for _ in range(6):
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(2, 6))
        process.kill()
        process.wait()
    assert evodiverse(*ARGUMENTS, f"evaluator.workers={n_workers}", cwd=tmp_path).returncode == 0
    assert log(tmp_path / RUN) == log(whole)
