"""20,000 evaluations in one process leave no file open, and no memory in use except what a run must remember."""

import gc
import os
from pathlib import Path

import pytest

from evodiverse.data.cache import artifact_path
from evodiverse.runner.workers import Bench, Workers
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.store.files import Journal
from evodiverse.tasks.molecules import domain
from evodiverse.tasks.molecules.settings import MoleculeSettings, Oracle
from evodiverse.vocabulary import Hypothesis, Stream
from tests.runs import run_toy

pytestmark = pytest.mark.leak
N_EVALUATIONS = 20_000
N_CACHED = 30_000
"""More molecules than any cache of them holds."""
BATCH = 500


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def test_evaluating_molecules_leaks_neither_files_nor_memory(tmp_path: Path) -> None:
    settings = MoleculeSettings(Oracle(published="jnk3"))
    settings.initial.size = N_CACHED + N_EVALUATIONS
    task = domain.build_task(settings, artifact_path, ProcessSandbox)
    smiles = task.initial(Stream(0, 1))
    journal = Journal(tmp_path / "journal")
    with Workers(Bench(task, domain.build_operator(settings), journal), 1) as workers:
        before: tuple[int, float] | None = None
        for at in range(0, settings.initial.size, BATCH):
            workers.evaluate([Hypothesis(text, text) for text in smiles[at : at + BATCH]])
            journal.replace([])
            if at == N_CACHED:  # everything that is loaded at first use is loaded by now, and all caches are full
                before = open_files(), resident_mb()
        after = open_files(), resident_mb()
    assert before is not None
    assert after[0] == before[0]
    assert after[1] - before[1] < 1e-3 * N_EVALUATIONS  # a molecule that is kept takes ten times that


def test_a_run_leaks_no_files_and_remembers_two_kilobytes_per_candidate(tmp_path: Path) -> None:
    long = ["task.length=40", "method.capacity=120", "method.offspring=70", "search.patience=1000"]
    run_toy(tmp_path, *long, "budget.oracle_calls=1000")
    before = open_files(), resident_mb()
    run_toy(tmp_path, *long, f"budget.oracle_calls={N_EVALUATIONS}")
    after = open_files(), resident_mb()
    assert after[0] == before[0]
    assert after[1] - before[1] < 2e-3 * N_EVALUATIONS
