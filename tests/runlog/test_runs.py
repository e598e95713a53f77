"""Runs are found when they are complete, and read from all their parts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import InputError
from evodiverse.runlog.runs import Run, find_records, read_record, survey_runs
from tests.results.builders import initial_row, make_record, write_parts, write_record


def charged(*calls: int) -> list[dict[str, object]]:
    return [dict(initial_row(call, f"k{call}", call / 100)) for call in calls]


# Which runs there are


def test_a_damaged_record_leaves_the_other_runs_alone(tmp_path: Path) -> None:
    write_record(tmp_path / "whole")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{")
    survey = survey_runs(tmp_path)
    assert [run.path.name for run in survey.complete] == ["whole"]
    assert [str(error).split("/run.json")[0] for error in survey.damaged] == [str(tmp_path / "damaged")]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"status": "done"}, "status is 'done', expected one of running, complete, failed, interrupted"),
        ({"status": {}}, "status is an empty object, expected one of running, complete, failed, interrupted"),
        ({"error": -1}, "error is -1, expected text or null"),
        ({"error": "x", "stopped_by": ["budget"]}, "stopped_by is a list, expected text or null"),
        ({"overrides": 3}, "overrides is 3, expected an object"),
        ({"sources": None}, "sources is null, expected an object"),
        ({"sources": {"initial": []}}, "sources.initial is an empty list, expected text"),
        ({"sources": {"\x1b[31m": 1}}, "sources.�[31m is 1, expected text"),
        ({"seconds": None}, "seconds is null, expected an object"),
        ({"seconds": {"wall": "1"}}, "seconds.wall is '1', expected a finite number"),
        ({"seconds": {"wall": 10**400}}, f"seconds.wall is 1{'0' * 59}…, expected a finite number"),
        ({"totals": [1]}, "totals is a list, expected an object"),
        ({"totals": {"oracle_calls": -1}}, "totals.oracle_calls is -1, expected an integer of at least 0 or null"),
        ({"versions": {"evodiverse": "1"}}, "versions is an object, expected a non-empty list"),
        ({"versions": ["1"]}, "versions.0 is '1', expected an object"),
        ({"versions": [{"evodiverse": True}]}, "versions.0.evodiverse is True, expected text"),
        ({"settings": {"seed": "abc"}}, "settings.seed is 'abc', expected a 64-bit integer"),
        ({"settings": {"seed": True}}, "settings.seed is True, expected a 64-bit integer"),
        ({"settings": {"llm.name": "../off"}}, "settings.llm.name is '../off', expected the name of a folder"),
        (
            {"settings": {"task.name": "pmo/../qed"}},
            "settings.task.name is 'pmo/../qed', expected the path of a folder",
        ),
        ({"settings": {"task.name": "/qed"}}, "settings.task.name is '/qed', expected the path of a folder"),
        ({"settings": {"method.ladder": 3}}, "settings.method.ladder is 3, expected a non-empty list"),
        ({"settings": {"method.ladder": []}}, "settings.method.ladder is an empty list, expected a non-empty list"),
        ({"settings": {"method.ladder": [1, []]}}, "settings.method.ladder.1 is an empty list, expected a fin"),
        (
            {"settings": {"method.offspring": 0}},
            "settings.method.offspring is 0, expected an integer of at least 1",
        ),
        ({"settings": {"budget.oracle_calls": None}}, "settings.budget.oracle_calls is null, expected an integer"),
        ({"settings": {"budget.oracle_calls": 1e30}}, "settings.budget.oracle_calls is 1e+30, expected an integer"),
    ],
)
def test_what_is_not_of_its_kind_in_a_record_is_named(tmp_path: Path, changed: dict[str, Any], named: str) -> None:
    record = make_record()
    settings = record["settings"] | changed.get("settings", {})
    (tmp_path / "run.json").write_text(json.dumps(record | changed | {"settings": settings}))
    message = rf"is damaged \({re.escape(named)}.*\); run it again with overwrite=true"
    with pytest.raises(InputError, match=message):
        read_record(tmp_path / "run.json")


def test_a_task_may_lie_in_a_folder_of_tasks(tmp_path: Path) -> None:
    record = make_record()
    record["settings"]["task.name"] = "pmo/qed"
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert read_record(tmp_path / "run.json")["settings"]["task.name"] == "pmo/qed"


def test_runs_are_found_through_links_and_each_once_in_a_circle(tmp_path: Path) -> None:
    write_record(tmp_path / "elsewhere" / "seed0")
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "circle").symlink_to(tmp_path / "elsewhere")
    assert find_records(tmp_path / "outputs") == [tmp_path / "outputs" / "linked" / "seed0" / "run.json"]


def test_runs_that_are_not_complete_are_surveyed_separately(tmp_path: Path) -> None:
    for status in ("running", "failed", "complete", "interrupted"):
        write_record(tmp_path / status, status=status)
    survey = survey_runs(tmp_path)
    assert [run.path.name for run in survey.complete] == ["complete"]
    assert [run.path.name for run in survey.unfinished] == ["failed", "interrupted", "running"]


def test_of_runs_that_are_the_same_the_latest_counts(tmp_path: Path) -> None:
    for name, seed, started in (
        ("a", 0, "2026-01-02"),
        ("b", 1, "2026-01-01"),
        ("c", 0, "2026-01-03"),
        ("d", 0, "2025"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(make_record(seed=seed) | {"started": started}))
    survey = survey_runs(tmp_path)
    assert [run.path.name for run in survey.complete] == ["b", "c"]
    assert [run.path.name for run in survey.repeated] == ["a", "d"]


REPLIES = {"llm__name": "mine", "llm__client": "litellm", "llm__model": "m"}


@pytest.mark.parametrize(
    ("key", "changes", "complete", "replayed"),
    [
        ("CC", {"llm__client": "replay"}, ["b"], ["a"]),  # started later, and listed first
        ("CC", {"llm__name": "replay", "llm__client": "replay", "llm__model": "local/m"}, ["b"], ["a"]),
        ("CC", {"llm__name": "other"}, ["b"], ["a"]),  # its replies came from the cache
        ("CCC", {"llm__client": "replay"}, ["a", "b"], []),
        ("CC", {"llm__client": "replay", "seed": 1}, ["a", "b"], []),
        ("CC", {"llm__client": "replay", "method__name": "ea"}, ["a", "b"], []),
        (None, {"llm__client": "replay"}, ["a", "b"], []),  # its log cannot be read
    ],
)
def test_a_replayed_run_is_no_further_observation(
    tmp_path: Path, key: str | None, changes: dict[str, Any], complete: list[str], replayed: list[str]
) -> None:
    for name, keys, settings in (("b", "CC", REPLIES), ("a", key, REPLIES | changes)):
        (tmp_path / name).mkdir()
        record = make_record(**settings) | {"started": "2026-01-02" if name == "a" else "2026-01-01"}
        (tmp_path / name / "run.json").write_text(json.dumps(record))
        if keys is not None:
            write_parts(tmp_path / name, "evaluations", [[initial_row(1, keys, 0.5)]])
    survey = survey_runs(tmp_path)
    assert [run.path.name for run in survey.complete] == complete
    assert [run.path.name for run in survey.replayed] == replayed


def test_a_replayed_run_counts_where_the_other_is_not(tmp_path: Path) -> None:
    write_record(tmp_path / "a", **REPLIES | {"llm__client": "replay"})
    write_record(tmp_path / "b", status="failed", **REPLIES)
    assert [run.path.name for run in survey_runs(tmp_path).complete] == ["a"]


def test_runs_in_several_folders_are_surveyed_together(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_record(tmp_path / name / "seed0")
    write_record(tmp_path / "one" / "seed1", seed=1)
    survey = survey_runs(tmp_path / "one", tmp_path / "two", tmp_path / "one" / "seed1")
    assert [run.path.name for run in survey.complete] == ["seed0", "seed1"]
    assert [run.path for run in survey.repeated] == [tmp_path / "two" / "seed0"]


def test_a_cap_makes_another_run_only_where_it_ended_one(tmp_path: Path) -> None:
    for name, usd, stopped_by in (("a", None, "budget"), ("b", 5, "budget"), ("c", 3, "usd")):
        (tmp_path / name).mkdir()
        record = make_record(budget__usd=usd) | {"stopped_by": stopped_by}
        (tmp_path / name / "run.json").write_text(json.dumps(record))
    assert [run.path.name for run in survey_runs(tmp_path).complete] == ["a", "c"]


@pytest.mark.parametrize(("version", "wall"), [({}, None), ({"code": "0" * 16}, 6.1)])
def test_the_time_of_a_run_that_an_older_version_continued_is_unknown(
    version: dict[str, str], wall: float | None
) -> None:
    record = make_record() | {"seconds": {"wall": 6.1}, "begun_from": {"path": "run"}, "versions": [version]}
    assert Run(Path("run"), record).seconds.get("wall") == wall


def test_a_run_on_other_data_is_not_a_copy(tmp_path: Path) -> None:
    for name, sha256 in (("a", "1"), ("b", "2")):
        (tmp_path / name).mkdir()
        record = make_record() | {"sources": {"oracle": sha256}}
        (tmp_path / name / "run.json").write_text(json.dumps(record))
    assert len(survey_runs(tmp_path).complete) == 2


def test_overrides_of_an_older_version_are_not_known() -> None:
    record = make_record(overrides={"method.elites": 1})
    assert Run(Path(), record).overrides == {"method.elites": 1}
    del record["overrides"]
    assert Run(Path(), record).overrides is None


def test_a_complete_run_is_found_with_its_settings(tmp_path: Path) -> None:
    write_record(tmp_path / "jnk3" / "pt" / "seed3", seed=3, task__name="gsk3b", llm__name="local")
    (run,) = survey_runs(tmp_path).complete
    assert run.path == tmp_path / "jnk3" / "pt" / "seed3"
    assert (run.task, run.method, run.llm, run.seed) == ("gsk3b", "pt", "local", 3)


@pytest.mark.parametrize("status", ["running", "failed", "interrupted"])
def test_a_run_that_is_not_complete_is_not_found(tmp_path: Path, status: str) -> None:
    write_record(tmp_path / "seed0", status=status)
    write_record(tmp_path / "seed1")
    assert [run.path.name for run in survey_runs(tmp_path).complete] == ["seed1"]


def test_runs_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    names = ["pt/default/seed1", "molleo/default/seed0", "pt/default/seed0", "pt/seed=1,x/deep/seed0"]
    for seed, name in enumerate(names):
        write_record(tmp_path / name, seed=seed)
    assert [run.path.relative_to(tmp_path).as_posix() for run in survey_runs(tmp_path).complete] == sorted(names)


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_a_folder_without_runs_has_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    assert survey_runs(tmp_path / name).complete == ()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"status": "complete", "sett', id="cut-off"),
        pytest.param(b"\xff\xfe", id="no-text"),
    ],
)
def test_a_damaged_record_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(
        InputError, match=rf"^{re.escape(str(tmp_path))}/run\.json is not the record of a run \(.*move it away"
    ):
        read_record(tmp_path / "run.json")


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "null",
        '"complete"',
        "{}",
        '{"status": "complete"}',
        '{"settings": {}}',
        '{"status": "x", "settings": 3}',
        '{"status": NaN}',
        '{"status": 1' + "0" * 5000 + "}",
        "[" * 100_000,
        "{" + " " * 2_000_000 + "}",
    ],
)
def test_a_record_of_something_else_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(
        InputError, match=rf"^{re.escape(str(tmp_path))}/run\.json is not the record of a run \(.*move it away"
    ):
        read_record(tmp_path / "run.json")


def test_a_folder_in_the_place_of_a_record_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    with pytest.raises(InputError, match=r"/run\.json is not the record of a run .*Is a directory"):
        read_record(tmp_path / "run.json")


# What they hold


def test_rows_are_read_from_all_parts_in_the_order_committed(tmp_path: Path) -> None:
    write_parts(tmp_path, "evaluations", [charged(2 * part + 1, 2 * part + 2) for part in range(12)])
    assert Run(tmp_path, {}).columns("evaluations", ["call"]) == {"call": list(range(1, 25))}


def test_only_the_columns_asked_for_are_read(tmp_path: Path) -> None:
    write_parts(tmp_path, "evaluations", [charged(1, 2)])
    assert Run(tmp_path, {}).columns("evaluations", ["score", "key"]) == {"score": [0.01, 0.02], "key": ["k1", "k2"]}


def test_an_empty_dataset_has_empty_columns(tmp_path: Path) -> None:
    write_parts(tmp_path, "swaps", [[]])
    assert Run(tmp_path, {}).columns("swaps", ["accepted", "xi"]) == {"accepted": [], "xi": []}


def test_a_part_that_was_never_committed_is_not_read(tmp_path: Path) -> None:
    write_parts(tmp_path, "evaluations", [charged(1)])
    (tmp_path / "evaluations" / ".part-000001.parquet.tmp").write_bytes(b"half a part")
    assert Run(tmp_path, {}).columns("evaluations", ["call"]) == {"call": [1]}


def test_a_folder_named_by_overrides_is_no_partition(tmp_path: Path) -> None:
    path = tmp_path / "_budget.oracle_calls=60,method.offspring=4" / "seed=0"
    write_parts(path, "evaluations", [charged(1)])
    assert Run(path, {}).columns("evaluations", ["call"]) == {"call": [1]}


@pytest.mark.parametrize("content", [b"", b"no parquet", b"PAR1" * 20])
def test_a_damaged_part_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    write_parts(tmp_path, "swaps", [[], []])
    (tmp_path / "swaps" / "part-000001.parquet").write_bytes(content)
    with pytest.raises(
        InputError, match=r"/swaps/part-000001\.parquet cannot be read \(.*; run it again with overwrite=true$"
    ):
        Run(tmp_path, {}).columns("swaps", ["xi"])


def test_a_missing_dataset_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/swaps has no parts; run it again with overwrite=true$"):
        Run(tmp_path, {}).columns("swaps", ["xi"])


def test_a_dataset_without_parts_is_an_error_that_names_it(tmp_path: Path) -> None:
    write_parts(tmp_path, "swaps", [])
    with pytest.raises(InputError, match=r"/swaps has no parts; run it again with overwrite=true$"):
        Run(tmp_path, {}).columns("swaps", ["xi"])


def test_a_column_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    write_parts(tmp_path, "swaps", [[]])
    with pytest.raises(InputError, match=r"/swaps/part-000000\.parquet cannot be read .*warmth"):
        Run(tmp_path, {}).columns("swaps", ["warmth"])


def test_a_column_of_the_domain_that_an_earlier_version_had_not_has_no_values(tmp_path: Path) -> None:
    write_parts(tmp_path, "evaluations", [charged(1, 2)])
    columns = Run(tmp_path, {}).columns("evaluations", ["call"], {"charm": float, "name": str, "key": str})
    assert columns == {"call": [1, 2], "charm": [None, None], "name": [None, None], "key": ["k1", "k2"]}


# Runs of any status


def test_a_run_that_is_being_deleted_is_skipped(tmp_path: Path) -> None:
    write_record(tmp_path / "default" / ".seed0.deleted-17")
    write_record(tmp_path / "default" / "seed1")
    assert [path.parent.name for path in find_records(tmp_path)] == ["seed1"]


def test_a_run_directory_has_one_record_even_within_a_folder_with_a_dot(tmp_path: Path) -> None:
    write_record(tmp_path / ".kept" / "seed0", status="failed")
    for folder in (tmp_path / ".kept", tmp_path / ".kept" / "seed0"):
        assert find_records(folder) == [tmp_path / ".kept" / "seed0" / "run.json"]


def test_a_dataset_without_parts_has_empty_columns_so_far(tmp_path: Path) -> None:
    assert Run(tmp_path, {}).columns_so_far("swaps", ["xi"]) == {"xi": []}


def test_the_columns_of_the_domain_are_those_of_the_first_part(tmp_path: Path) -> None:
    write_record(tmp_path)
    run = Run(tmp_path, make_record())
    assert run.own_columns() == {}
    write_parts(tmp_path, "evaluations", [[{**row, "sum_radii": 2.5} for row in charged(1)]])
    assert run.own_columns() == {"sum_radii": float}
    (tmp_path / "evaluations/part-000000.parquet").write_bytes(b"PAR1" * 20)
    with pytest.raises(InputError, match=r"part-000000\.parquet cannot be read"):
        run.own_columns()
