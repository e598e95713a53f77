"""The life cycle of a run directory: start, resume, end, refusal; and the versions that a run records."""

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evodiverse.errors import InputError, ServiceError
from evodiverse.kit.files import decode_line
from evodiverse.runlog.parts import PARTS
from evodiverse.settings.assembly import run as start
from evodiverse.store.record import _code_digest, kept, own_versions
from evodiverse.store.run_directory import RunDirectory
from tests.runs import DATASETS, Silent, log, plan, rows, run_toy, stopped_after

pytestmark = pytest.mark.usefixtures("written_at_once")


def read(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text())


def change(run: Path, **changes: Any) -> None:
    (run / "run.json").write_text(json.dumps(read(run) | changes))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The outputs of a run that was interrupted; `interrupted` is a copy that a test may harm."""
    return stopped_after(4, tmp_path_factory.mktemp("stopped"))


@pytest.fixture
def interrupted(stopped: Path, tmp_path: Path) -> Path:
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    return tmp_path / "bits/pt/off/default/seed0"


def test_a_complete_run_records_what_it_is_and_how_it_went(tmp_path: Path) -> None:
    path = run_toy(tmp_path)
    record = read(path)
    assert (record["status"], record["stopped_by"], record["error"]) == ("complete", "budget", None)
    assert record["totals"]["oracle_calls"] == 200
    assert record["settings"]["method.ladder"] == [0.8, 0.2]
    assert record["overrides"] == {}
    assert record["sources"]["oracle"] == "a"
    task = Path(__file__).parents[1] / "toys" / "bits" / "task.py"
    assert record["sources"]["code/task.py"] == hashlib.sha256(task.read_bytes()).hexdigest()
    assert set(record["versions"][0]) == {"evodiverse", "code", "python", "numpy"}
    assert record["seconds"]["wall"] > record["seconds"]["oracle"] > 0
    assert record["seconds"]["wall"] > rows(path, "populations")[-1]["seconds"]["wall"]  # writing best/ takes time, too


def test_an_infinite_beta_is_recorded_as_json(tmp_path: Path) -> None:
    record = json.loads((run_toy(tmp_path, "method=graph_ga") / "run.json").read_text(), parse_constant=pytest.fail)
    assert record["settings"]["method.ladder"] == ["inf"]


def test_settings_that_differ_from_the_defaults_are_recorded(tmp_path: Path) -> None:
    record = read(run_toy(tmp_path, "method.swap.period=3", "task.length=6", "seed=2"))
    assert record["overrides"] == {"method.swap.period": 3, "task.length": 6}


def test_a_finished_run_says_so_and_does_nothing(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    before, said = log(run), []
    start(plan("task=bits", f"outputs={tmp_path}"), Silent(), said.append, lambda folder: pytest.fail("began"))
    assert said == [f"{run} is complete (stopped by budget); use overwrite=true to run it again"]
    assert log(run) == before


@pytest.mark.slow
def test_overwrite_starts_a_finished_run_over(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    (run / "evaluations" / "part-000000.parquet").unlink()
    assert len(log(run_toy(tmp_path, "overwrite=true"))["evaluations"]) > 200


def test_overwrite_replaces_a_damaged_record(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    (run / "run.json").write_text("{")
    assert read(run_toy(tmp_path, "overwrite=true"))["status"] == "complete"


def test_an_interrupted_run_says_so_and_resumes(interrupted: Path, tmp_path: Path) -> None:
    assert read(interrupted)["status"] == "interrupted"
    assert read(interrupted)["totals"]["iterations"] == 3
    assert read(run_toy(tmp_path))["status"] == "complete"


def test_a_signal_just_before_the_body_of_a_run_interrupts_it(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run", {})
    opening = kept(directory, {"status": "running"})
    opening.__enter__()
    del opening  # as Python does if a signal raises an exception before the block that has been entered begins
    assert read(directory.path)["status"] == "interrupted"


def test_seconds_add_up_over_sessions(interrupted: Path, tmp_path: Path) -> None:
    before, after = read(interrupted)["seconds"], read(run_toy(tmp_path))["seconds"]
    assert set(before) == {"wall", "operator", "oracle"}
    assert all(after[part] > before[part] > 0 for part in before)


def test_the_time_between_the_last_commit_and_a_stop_counts(interrupted: Path) -> None:
    assert read(interrupted)["seconds"]["wall"] > rows(interrupted, "populations")[-1]["seconds"]["wall"] > 0


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


def test_a_run_from_before_there_were_some_keys_resumes_where_they_are_null(interrupted: Path, tmp_path: Path) -> None:
    now = read(interrupted)["settings"]
    later = {"method.niche", "method.screen", *(key for key in now if key.startswith("task.defaults.niche."))}
    then = {key: value for key, value in now.items() if key not in later}
    assert len(then) < len(now) - 2
    change(interrupted, settings=then, digest="0" * 16)
    assert read(run_toy(tmp_path))["status"] == "complete"


def test_a_run_from_before_a_default_of_the_task_changed_resumes_if_nothing_refers_to_it(
    interrupted: Path, tmp_path: Path
) -> None:
    now = read(interrupted)["settings"]
    assert "task.defaults.niche.radius" in now
    change(interrupted, settings=now | {"task.defaults.niche.radius": 0.123}, digest="0" * 16)
    assert read(run_toy(tmp_path))["status"] == "complete"


def test_a_run_from_before_there_were_some_keys_is_refused_where_they_have_values(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "method=niche_ga")
    settings = {key: value for key, value in read(run)["settings"].items() if not key.startswith("method.niche")}
    change(run, settings=settings, digest="0" * 16)
    with pytest.raises(InputError, match=r"started with method.niche.radius=missing, method.niche.share=missing, now"):
        run_toy(tmp_path, "method=niche_ga")


def test_a_run_whose_data_was_changed_is_refused(interrupted: Path, tmp_path: Path) -> None:
    change(interrupted, sources={"oracle": "b"})
    with pytest.raises(
        InputError, match=r"was started with other data \(oracle\); use name=…, outputs=… or overwrite=true"
    ):
        run_toy(tmp_path)


def test_edited_code_of_a_users_domain_is_noticed_and_its_file_named(interrupted: Path, tmp_path: Path) -> None:
    change(interrupted, sources=read(interrupted)["sources"] | {"code/task.py": "0" * 64})
    with pytest.raises(
        InputError, match=r"was started with other data \(code/task\.py: .*/tests/toys/bits/task\.py\); use"
    ):
        run_toy(tmp_path)


def test_a_run_that_failed_continues_with_corrected_code(
    interrupted: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = read(interrupted)["sources"]
    change(interrupted, status="failed", sources=now | {"code/task.py": "0" * 64})
    with caplog.at_level(logging.WARNING, "evodiverse"):
        record = read(run_toy(tmp_path))
    assert re.search(r"continues with changed code \(code/task\.py: .*/tests/toys/bits/task\.py\)", caplog.text)
    assert (record["status"], record["sources"]) == ("complete", now)
    assert record["corrected"] == [{"code/task.py": "0" * 64}]


def test_a_run_that_failed_continues_with_its_data_alone(interrupted: Path, tmp_path: Path) -> None:
    change(interrupted, status="failed", sources=read(interrupted)["sources"] | {"oracle": "b"})
    with pytest.raises(InputError, match=r"was started with other data \(oracle\); use"):
        run_toy(tmp_path)


def test_what_measures_runs_may_change_and_what_is_gone_is_noticed(interrupted: Path, tmp_path: Path) -> None:
    sources = read(interrupted)["sources"]
    assert "code/metrics.py" not in sources
    change(interrupted, sources=sources | {"code/gone.py": "0" * 64})
    with pytest.raises(InputError, match=r"was started with other data \(code/gone\.py\); use"):
        run_toy(tmp_path)


def test_fewer_libraries_than_an_older_version_recorded_are_no_other_versions(
    interrupted: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change(interrupted, versions=[read(interrupted)["versions"][0] | {"rdkit": "2024.9.1"}])
    with caplog.at_level(logging.WARNING, "evodiverse"):
        record = read(run_toy(tmp_path))
    assert "continues with" not in caplog.text
    assert len(record["versions"]) == 1


@pytest.mark.parametrize("other", [{"evodiverse": "0.0.1"}, {"code": "0" * 16}])
def test_another_version_or_other_code_is_a_warning_and_both_are_recorded(
    interrupted: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, other: dict[str, str]
) -> None:
    now = read(interrupted)["versions"][0]
    change(interrupted, versions=[now | other])
    with caplog.at_level(logging.WARNING, "evodiverse"):
        record = read(run_toy(tmp_path))
    ((name, version),) = other.items()
    assert f"was started with {name} {version} and continues with {name} {now[name]}; the log may" in caplog.text
    assert record["versions"] == [now | other, now]


def test_a_finished_run_of_other_code_says_so(interrupted: Path, tmp_path: Path) -> None:
    (now,) = read(interrupted)["versions"]
    before = {name: version for name, version in now.items() if name != "code"}
    change(interrupted, status="complete", stopped_by="budget", versions=[now, before | {"python": "3.9"}])
    said: list[str] = []
    start(plan("task=bits", f"outputs={tmp_path}"), Silent(), said.append, lambda folder: pytest.fail("began"))
    made = f"was made with code unknown, now it is code {now['code']}"
    assert said == [f"{interrupted} is complete (stopped by budget), and {made}; use overwrite=true to run it again"]


@pytest.fixture
def older(interrupted: Path) -> Path:
    """A run as older versions left it, without a list of its parts."""
    (interrupted / PARTS).unlink()
    return interrupted


def test_an_older_run_is_resumed_and_its_parts_are_listed(older: Path, tmp_path: Path) -> None:
    run_toy(tmp_path)
    listed = [decode_line(line)["part"] for line in (older / PARTS).read_bytes().splitlines()]
    assert sorted(listed) == sorted(f"{part.parent.name}/{part.name}" for part in older.glob("*/part-*.parquet"))


def test_a_part_without_its_rows_is_noticed(older: Path, tmp_path: Path) -> None:
    part = max((older / "evaluations").iterdir())
    pq.write_table(pq.read_table(part).slice(0, 0), part)
    with pytest.raises(InputError, match=r"evaluations is damaged \(.*the checkpoint .*use overwrite=true"):
        run_toy(tmp_path)


@pytest.mark.parametrize("change_it", [lambda saved: {}, lambda saved: [], lambda saved: saved | {"xi": 1.0}])
def test_a_damaged_checkpoint_is_refused(
    interrupted: Path, tmp_path: Path, change_it: Callable[[dict[str, Any]], object]
) -> None:
    state = interrupted / "checkpoint" / "state.json"
    state.write_text(json.dumps(change_it(json.loads(state.read_text()))))
    with pytest.raises(InputError, match=r"state\.json is damaged .*overwrite=true"):
        run_toy(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "\xff", '{"xi": NaN}'])
def test_a_checkpoint_that_is_not_json_is_refused(interrupted: Path, tmp_path: Path, content: str) -> None:
    (interrupted / "checkpoint" / "state.json").write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=r"state\.json is damaged .*overwrite=true"):
        run_toy(tmp_path)


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (lambda part: part.unlink(), "it is missing"),
        (lambda part: part.write_bytes(part.read_bytes()[:-9]), "it has .* bytes, expected "),
        # a bit that Arrow does not read, in the name of the program that wrote the file
        (lambda part: part.write_bytes(part.read_bytes().replace(b"cpp", b"cqp")), "its content has changed"),
    ],
    ids=["lost", "cut", "flipped"],
)
def test_a_damaged_part_of_any_dataset_is_named(
    interrupted: Path, tmp_path: Path, dataset: str, harm: Callable[[Path], object], fault: str
) -> None:
    part = max((interrupted / dataset).iterdir())
    harm(part)
    with pytest.raises(InputError, match=rf"{dataset}/{part.name} is damaged \({fault}.*overwrite=true"):
        run_toy(tmp_path)


def test_a_damaged_list_of_parts_can_be_deleted(interrupted: Path, tmp_path: Path) -> None:
    content = (interrupted / PARTS).read_bytes()
    for harmed in (content.replace(b"swaps", b"swapt", 1), content[: content.rindex(b"\n", 0, -1) + 1]):
        (interrupted / PARTS).write_bytes(harmed)
        with pytest.raises(InputError, match=r"checkpoint/parts is damaged \(it lacks .*part-\d+.*; delete it"):
            run_toy(tmp_path)


def test_what_an_unfinished_commit_leaves_in_the_list_of_parts_does_not_count(
    interrupted: Path, tmp_path: Path
) -> None:
    content = (interrupted / PARTS).read_bytes()
    (interrupted / PARTS).write_bytes(content + bytes(40) + b"\n" + content.splitlines(keepends=True)[0] + b"torn")
    assert run_toy(tmp_path) == interrupted


@pytest.mark.parametrize("name", ["run.json", "checkpoint/state.json"])
def test_a_folder_where_a_file_should_be_is_refused(interrupted: Path, tmp_path: Path, name: str) -> None:
    (interrupted / name).unlink()
    (interrupted / name).mkdir()
    with pytest.raises(InputError, match=r"cannot read .*\.json \(Is a directory\)"):
        run_toy(tmp_path)


def test_a_file_where_hydras_folder_should_be_is_reported(tmp_path: Path) -> None:
    run = tmp_path / "bits/pt/off/default/seed0"
    run.mkdir(parents=True)
    (run / ".hydra").touch()
    with pytest.raises(ServiceError, match=r"cannot write to .* \(File exists\)"):
        run_toy(tmp_path)


def test_a_run_that_lost_its_record_is_refused(interrupted: Path, tmp_path: Path) -> None:
    (interrupted / "run.json").unlink()
    with pytest.raises(InputError, match=r"has lost its run\.json; use overwrite=true"):
        run_toy(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"status": "running"}', "\xff"])
def test_a_damaged_record_is_refused(interrupted: Path, tmp_path: Path, content: str) -> None:
    (interrupted / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json is (damaged|not the record of a run) .* overwrite=true"):
        run_toy(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [{"sources": []}, {"versions": {}}, {"versions": []}, {"versions": ["1"]}, {"digest": None}],
)
def test_a_record_with_fields_of_another_type_is_refused(
    interrupted: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    change(interrupted, **changes)
    with pytest.raises(
        InputError, match=rf"run\.json is damaged \({next(iter(changes))}.* is .*\); run it again with overwrite=true"
    ):
        run_toy(tmp_path)


def test_a_digest_that_does_not_fit_its_settings_is_refused(interrupted: Path, tmp_path: Path) -> None:
    change(interrupted, digest="0" * 16)
    with pytest.raises(InputError, match=r"run\.json is damaged \(its digest does not match its settings\)"):
        run_toy(tmp_path)


def test_a_finished_run_of_other_data_does_not_pass_for_this_one(tmp_path: Path) -> None:
    change(run_toy(tmp_path), sources={"oracle": "b"})
    with pytest.raises(
        InputError, match=r"was started with other data \(oracle\); use name=…, outputs=… or overwrite=true"
    ):
        run_toy(tmp_path)


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    run = tmp_path / "bits/pt/off/default/seed0"
    run.mkdir(parents=True)
    (run / "thesis.tex").touch()
    for overrides in ([], ["overwrite=true"]):
        with pytest.raises(InputError, match="holds other files and no run"):
            run_toy(tmp_path, *overrides)
    assert (run / "thesis.tex").exists()


def test_hydras_files_are_written_only_after_all_checks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"method.swap.size must not exceed"):
        run_toy(tmp_path, "method.swap.size=11")
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_cannot_be_started_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = RunDirectory(tmp_path / "run", {})
    shutil.rmtree(directory.path)
    with pytest.raises(ServiceError, match="cannot write to"), kept(directory, {"status": "running"}):
        pytest.fail("nothing may run without a record")
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("file", "is_noticed"),
    [("search/survivors.py", True), ("tasks/molecules/new.py", True), ("results/pages/page.py", False)],
)
def test_the_digest_of_the_code_changes_with_what_can_change_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, is_noticed: bool
) -> None:
    def digest() -> str:
        monkeypatch.setattr("evodiverse.store.record.__file__", str(tmp_path / "evodiverse" / "store" / "record.py"))
        _code_digest.cache_clear()
        return own_versions()["code"]

    changed = tmp_path / "evodiverse" / file
    changed.parent.mkdir(parents=True)
    (changed.parent / "other.py").write_text("A = 1\n")
    before = digest()
    changed.write_text("A = 1\n")
    assert (digest() != before) == is_noticed
    _code_digest.cache_clear()
