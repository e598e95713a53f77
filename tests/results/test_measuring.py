"""Runs are measured once, and again when they change."""

import os
from pathlib import Path

import pytest

from evodiverse.errors import DataError, InputError
from evodiverse.results import measuring
from evodiverse.results.measuring import Measurer, measure_runs
from evodiverse.runlog.log import Measurement
from evodiverse.runlog.runs import Run
from tests.results.builders import make_record, write_run

pytestmark = pytest.mark.slow

SCORES = {"c1ccccc1": 0.9, "ClCCl": 0.8, "CCO": 0.3}


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    return [write_run(tmp_path / f"seed{seed}", SCORES, [[[1], [3]], [[1, 2], []]], seed=seed) for seed in range(3)]


@pytest.fixture
def measurer(tmp_path: Path) -> Measurer:
    return Measurer(tmp_path / "cache", {})


def measured(runs: list[Run], measurer: Measurer, n_processes: int = 1) -> list[Measurement]:
    found = measure_runs(runs, measurer, n_processes, lambda _: None)
    assert [run for run, _ in found.runs] == runs
    assert not found.damaged
    return [metrics for _, metrics in found.runs]


def test_what_was_measured_is_used_again(runs: list[Run], measurer: Measurer, monkeypatch: pytest.MonkeyPatch) -> None:
    first = measured(runs, measurer)
    assert first[0]["top10"] == pytest.approx(0.85)
    monkeypatch.setattr("evodiverse.results.measuring.measure", pytest.fail)
    assert measured(runs, measurer) == first


def test_a_run_that_changed_is_measured_again_and_it_alone(
    runs: list[Run], measurer: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(runs, measurer)
    again: list[Run] = []
    monkeypatch.setattr("evodiverse.results.measuring.measure", lambda run, *_: again.append(run) or {})
    part = runs[1].path / "populations" / "part-000000.parquet"
    os.utime(part, ns=(0, 0))
    measured(runs, measurer)
    assert again == [runs[1]]


def test_other_settings_of_the_record_or_other_metrics_are_measured_again(
    runs: list[Run], measurer: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = measurer.kept(runs[0])
    assert measurer.kept(Run(runs[0].path, make_record(budget__oracle_calls=99))) != before
    monkeypatch.setattr(measuring, "_version", lambda *_: "another")
    assert measurer.kept(runs[0]) != before


def test_an_encoder_that_is_installed_later_measures_programs_again_but_not_molecules(
    measurer: Measurer, runs: list[Run]
) -> None:
    more = Measurer(measurer.folder, {"tfidf": None})
    assert more.kept(runs[0]) == measurer.kept(runs[0])
    equation = Run(runs[0].path, make_record(task__domain="evodiverse.tasks.equations"))
    assert more.kept(equation) != measurer.kept(equation)


def test_processes_measure_what_one_does(runs: list[Run], measurer: Measurer, tmp_path: Path) -> None:
    assert measured(runs, measurer, n_processes=2) == measured(runs, Measurer(tmp_path / "other", {}))


@pytest.mark.parametrize("n_processes", [1, 2])
def test_a_damaged_run_is_reported_and_the_others_are_measured(
    runs: list[Run], measurer: Measurer, n_processes: int
) -> None:
    (runs[1].path / "evaluations" / "part-000000.parquet").write_bytes(b"")
    found = measure_runs(runs, measurer, n_processes, lambda _: None)
    assert [run for run, _ in found.runs] == [runs[0], runs[2]]
    ((run, error),) = found.damaged
    assert run == runs[1]
    assert isinstance(error, InputError)
    assert "part-000000.parquet cannot be read" in str(error)


def test_a_run_that_cannot_be_measured_does_not_take_the_others_with_it(runs: list[Run], measurer: Measurer) -> None:
    strange = Run(runs[1].path, {**runs[1].record, "settings": {"task.domain": "evodiverse.tasks.molecules"}})
    found = measure_runs([runs[0], strange], measurer, 1, lambda _: None)
    assert [run for run, _ in found.runs] == [runs[0]]
    assert "cannot be measured (KeyError: 'method." in str(found.damaged[0][1])


def test_progress_counts_runs_as_they_are_done(runs: list[Run], measurer: Measurer) -> None:
    told: list[int] = []
    measured(runs[:1], measurer)
    measure_runs(runs, measurer, 1, told.append)
    assert told == [1, 2, 3]


def test_a_cache_that_cannot_be_written_ends_it(runs: list[Run], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(DataError, match="cannot be written"):
        measure_runs(runs, Measurer(tmp_path / "cache", {}), 1, lambda _: None)


def test_a_damaged_file_of_the_cache_is_measured_over(runs: list[Run], measurer: Measurer) -> None:
    first = measured(runs[:1], measurer)
    for damaged in ("{", "[1]"):
        measurer.kept(runs[0]).write_text(damaged)
        assert measured(runs[:1], measurer) == first


def test_what_was_measured_is_not_written_through_a_link(runs: list[Run], measurer: Measurer, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    kept = measurer.kept(runs[0])
    kept.parent.mkdir(parents=True)
    kept.symlink_to(tmp_path / "victim")
    measured(runs[:1], measurer)
    assert (tmp_path / "victim").read_text() == "precious"
