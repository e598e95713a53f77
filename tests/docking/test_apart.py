"""Docking in separate processes."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evodiverse.docking.apart import dock_each
from evodiverse.docking.docked import Docked, Job
from tests.docking.receptors import make_job


def count_atoms(job: Job) -> Docked:
    return Docked(-float(len(job.key)), "a pose")


def refuse_oxygen(job: Job) -> Docked:
    if "O" in job.key:
        raise ValueError("oxygen\nand more")
    return count_atoms(job)


def die_of_oxygen(job: Job) -> Docked:
    if "O" in job.key:
        os._exit(3)
    return count_atoms(job)


def print_and_dock(job: Job) -> Docked:
    os.write(1, b"noise")
    os.write(2, b"noise")
    return count_atoms(job)


def wait_forever(job: Job) -> Docked:
    Path(job.key).write_text(str(os.getpid()))
    signal.pause()
    return count_atoms(job)


def make_jobs(folder: Path, keys: Sequence[str]) -> list[Job]:
    job = make_job(folder)
    return [replace(job, key=key) for key in keys]


@pytest.mark.parametrize("n_processes", [1, 3])
def test_every_job_has_a_result_with_any_number_of_processes(tmp_path: Path, n_processes: int) -> None:
    jobs = make_jobs(tmp_path, ["C", "CC", "CCC", "CCCC"])
    results = {job.key: docked.score for job, docked in dock_each(jobs, count_atoms, n_processes)}
    assert results == {"C": -1.0, "CC": -2.0, "CCC": -3.0, "CCCC": -4.0}


def test_an_exception_affects_only_its_own_molecule(tmp_path: Path) -> None:
    results = {job.key: docked for job, docked in dock_each(make_jobs(tmp_path, ["CO", "C"]), refuse_oxygen, 1)}
    assert results["CO"] == Docked(None, error="ValueError: oxygen and more")
    assert results["C"].score == -1.0


def test_a_dead_process_affects_only_its_own_molecule(tmp_path: Path) -> None:
    results = {job.key: docked for job, docked in dock_each(make_jobs(tmp_path, ["CO", "C"]), die_of_oxygen, 2)}
    assert results["CO"] == Docked(None, error="its process ended with exit code 3")
    assert results["C"].score == -1.0


def test_output_of_libraries_is_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    list(dock_each(make_jobs(tmp_path, ["C"]), print_and_dock, 1))
    assert capfd.readouterr() == ("", "")


def test_no_process_outlives_an_iteration_that_is_closed_early(tmp_path: Path) -> None:
    short, endless = make_jobs(tmp_path, ["C", str(tmp_path / "started")])
    docking = dock_each([endless, short], _dock_or_wait, 2)
    assert next(docking)[0] == short
    while not (started := tmp_path / "started").exists() or not started.read_text():
        pass
    docking.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def _dock_or_wait(job: Job) -> Docked:
    return count_atoms(job) if job.key == "C" else wait_forever(job)
