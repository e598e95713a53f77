"""Runs are measured once, and again when they change."""

import os
from pathlib import Path

import pytest

from evodiverse.analysis import measuring
from evodiverse.analysis.measuring import Tools, measure_runs
from evodiverse.analysis.metrics.values import Measurement
from evodiverse.errors import DataError, InputError
from evodiverse.runlog.runs import Run
from tests.analysis.builders import make_record, write_run

SCORES = {"c1ccccc1": 0.9, "ClCCl": 0.8, "CCO": 0.3}


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    return [write_run(tmp_path / f"seed{seed}", SCORES, [[[1], [3]], [[1, 2], []]], seed=seed) for seed in range(3)]


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path / "cache", {})


def measured(runs: list[Run], tools: Tools, n_processes: int = 1) -> list[Measurement]:
    found = measure_runs(runs, tools, n_processes, lambda _: None)
    assert [run for run, _ in found.runs] == runs
    assert not found.damaged
    return [metrics for _, metrics in found.runs]


def test_what_was_measured_is_used_again(runs: list[Run], tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    first = measured(runs, tools)
    assert first[0]["top10"] == pytest.approx(0.85)
    monkeypatch.setattr(Tools, "measure", pytest.fail)
    assert measured(runs, tools) == first


def test_a_run_that_changed_is_measured_again_and_it_alone(
    runs: list[Run], tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(runs, tools)
    again: list[Run] = []
    monkeypatch.setattr(Tools, "measure", lambda _, run: again.append(run) or {})
    part = runs[1].path / "populations" / "part-000000.parquet"
    os.utime(part, ns=(0, 0))
    measured(runs, tools)
    assert again == [runs[1]]


def test_other_settings_of_the_record_are_another_run(runs: list[Run], tools: Tools) -> None:
    other = Run(runs[0].path, make_record(budget__oracle_calls=99))
    assert tools.kept(other) != tools.kept(runs[0])


def test_other_metrics_measure_all_runs_anew(runs: list[Run], tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tools.kept(runs[0])
    monkeypatch.setattr(measuring, "_version", lambda: "another")
    assert tools.kept(runs[0]) != before


def test_an_encoder_that_is_installed_later_measures_programs_anew_but_not_molecules(
    tools: Tools, runs: list[Run]
) -> None:
    more = Tools(tools.folder, {"tfidf": None})
    assert more.kept(runs[0]) == tools.kept(runs[0])
    equation = Run(runs[0].path, make_record(task__domain="evodiverse.tasks.equations"))
    assert more.kept(equation) != tools.kept(equation)


def test_processes_measure_what_one_does(runs: list[Run], tools: Tools, tmp_path: Path) -> None:
    assert measured(runs, tools, n_processes=2) == measured(runs, Tools(tmp_path / "other", {}))


@pytest.mark.parametrize("n_processes", [1, 2])
def test_a_damaged_run_is_told_and_the_others_are_measured(runs: list[Run], tools: Tools, n_processes: int) -> None:
    (runs[1].path / "evaluations" / "part-000000.parquet").write_bytes(b"")
    found = measure_runs(runs, tools, n_processes, lambda _: None)
    assert [run for run, _ in found.runs] == [runs[0], runs[2]]
    ((run, error),) = found.damaged
    assert run == runs[1]
    assert isinstance(error, InputError)
    assert "part-000000.parquet cannot be read" in str(error)


def test_a_run_that_cannot_be_measured_does_not_take_the_others_with_it(runs: list[Run], tools: Tools) -> None:
    strange = Run(runs[1].path, {**runs[1].record, "settings": {"task.domain": "evodiverse.tasks.molecules"}})
    found = measure_runs([runs[0], strange], tools, 1, lambda _: None)
    assert [run for run, _ in found.runs] == [runs[0]]
    assert "cannot be measured (KeyError: 'method.ladder')" in str(found.damaged[0][1])


def test_progress_counts_runs_as_they_are_done(runs: list[Run], tools: Tools) -> None:
    told: list[int] = []
    measured(runs[:1], tools)
    measure_runs(runs, tools, 1, told.append)
    assert told == [1, 2, 3]


def test_a_cache_that_cannot_be_written_ends_it(runs: list[Run], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(DataError, match="cannot be written"):
        measure_runs(runs, Tools(tmp_path / "cache", {}), 1, lambda _: None)


def test_a_damaged_file_of_the_cache_is_measured_over(runs: list[Run], tools: Tools) -> None:
    first = measured(runs[:1], tools)
    for damaged in ("{", "[1]"):
        tools.kept(runs[0]).write_text(damaged)
        assert measured(runs[:1], tools) == first


def test_what_was_measured_is_not_written_through_a_link(runs: list[Run], tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    kept = tools.kept(runs[0])
    kept.parent.mkdir(parents=True)
    kept.symlink_to(tmp_path / "victim")
    measured(runs[:1], tools)
    assert (tmp_path / "victim").read_text() == "precious"
