"""The life of a run directory: begun, resumed, finished, refused."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from evodiverse import __version__
from evodiverse.errors import InputError, Interrupted
from evodiverse.settings import build
from tests.runs import Silent, log, plan, run_toy, stop_after


def read(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text())


def change(run: Path, **changes: Any) -> None:
    (run / "run.json").write_text(json.dumps(read(run) | changes))


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    with pytest.raises(Interrupted):
        run_toy(tmp_path, display=stop_after(4))
    return tmp_path / "bits/pt/off/default/seed0"


def test_a_complete_run_records_what_it_is_and_how_it_went(tmp_path: Path) -> None:
    record = read(run_toy(tmp_path))
    assert (record["status"], record["stopped_by"], record["error"]) == ("complete", "budget", None)
    assert record["totals"]["oracle_calls"] == 200
    assert record["settings"]["method.ladder"] == [0.8, 0.2]
    assert record["sources"] == {"oracle": "a"}
    assert set(record["versions"][0]) == {"evodiverse", "python", "numpy", "rdkit"}
    assert record["wall_seconds"] > 0


def test_an_infinite_beta_is_recorded_as_json(tmp_path: Path) -> None:
    record = json.loads((run_toy(tmp_path, "method=graph_ga") / "run.json").read_text(), parse_constant=pytest.fail)
    assert record["settings"]["method.ladder"] == ["inf"]


def test_a_finished_run_says_so_and_does_nothing(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    before, said = log(run), []
    build.run(plan("task=bits", f"outputs={tmp_path}"), Silent(), said.append, lambda folder: pytest.fail("began"))
    assert said == [f"{run} is complete (stopped by budget); overwrite=true runs it afresh"]
    assert log(run) == before


def test_overwrite_starts_a_finished_run_afresh(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    (run / "evaluations" / "part-000000.parquet").unlink()
    assert len(log(run_toy(tmp_path, "overwrite=true"))["evaluations"]) > 200


def test_overwrite_mends_a_damaged_record(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    (run / "run.json").write_text("{")
    assert read(run_toy(tmp_path, "overwrite=true"))["status"] == "complete"


def test_an_interrupted_run_says_so_and_goes_on(interrupted: Path, tmp_path: Path) -> None:
    assert read(interrupted)["status"] == "interrupted"
    assert read(interrupted)["totals"]["iterations"] == 3
    assert read(run_toy(tmp_path))["status"] == "complete"


def test_wall_time_adds_up_over_sessions(interrupted: Path, tmp_path: Path) -> None:
    before = read(interrupted)["wall_seconds"]
    assert read(run_toy(tmp_path))["wall_seconds"] > before > 0


def test_settings_that_cannot_change_the_log_may_change_on_resume(interrupted: Path, tmp_path: Path) -> None:
    assert run_toy(tmp_path, "evaluator.workers=2") == interrupted
    assert read(interrupted)["status"] == "complete"


def test_a_directory_begun_with_other_settings_is_refused_with_the_keys(interrupted: Path, tmp_path: Path) -> None:
    settings = read(interrupted)["settings"] | {"method.swap.period": 7, "method.elites": 1}
    change(interrupted, settings=settings, digest="0" * 16)
    expected = (
        r"was started with method.elites=1, method.swap.period=7, now it is method.elites=2, method.swap.period=2"
    )
    with pytest.raises(InputError, match=expected):
        run_toy(tmp_path)


def test_a_run_whose_data_was_changed_is_refused(interrupted: Path, tmp_path: Path) -> None:
    change(interrupted, sources={"oracle": "b"})
    with pytest.raises(InputError, match=r"began with another oracle; use outputs=… or overwrite=true"):
        run_toy(tmp_path)


def test_another_version_is_a_warning_and_both_are_recorded(
    interrupted: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = read(interrupted)["versions"][0] | {"evodiverse": "0.0.1"}
    change(interrupted, versions=[old])
    with caplog.at_level(logging.WARNING, "evodiverse"):
        record = read(run_toy(tmp_path))
    assert "was started with evodiverse 0.0.1 and goes on with evodiverse" in caplog.text
    assert [versions["evodiverse"] for versions in record["versions"]] == ["0.0.1", __version__]


def test_a_log_with_missing_parts_is_refused(interrupted: Path, tmp_path: Path) -> None:
    (interrupted / "evaluations" / "part-000001.parquet").unlink()
    with pytest.raises((InputError, ValueError), match="missing"):
        run_toy(tmp_path)


def test_a_run_that_lost_its_record_is_refused(interrupted: Path, tmp_path: Path) -> None:
    (interrupted / "run.json").unlink()
    with pytest.raises(InputError, match=r"has lost its run\.json; use overwrite=true"):
        run_toy(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"status": "running"}'])
def test_a_damaged_record_is_refused(interrupted: Path, tmp_path: Path, content: str) -> None:
    (interrupted / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json is damaged .* overwrite=true"):
        run_toy(tmp_path)


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    run = tmp_path / "bits/pt/off/default/seed0"
    run.mkdir(parents=True)
    (run / "thesis.tex").touch()
    for overrides in ([], ["overwrite=true"]):
        with pytest.raises(InputError, match="holds no run but other files"):
            run_toy(tmp_path, *overrides)
    assert (run / "thesis.tex").exists()


def test_hydras_files_are_written_only_after_all_checks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"method.swap.size must not exceed"):
        run_toy(tmp_path, "method.swap.size=11")
    assert list(tmp_path.iterdir()) == []
