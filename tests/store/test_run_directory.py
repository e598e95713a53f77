from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from evodiverse.errors import InputError, ServiceError
from evodiverse.runlog.datasets import read_parts
from evodiverse.store.run_directory import RunDirectory, schemas
from tests.runs import DATASETS, ROOT, Silent, run_toy

pytestmark = pytest.mark.usefixtures("written_at_once")

ROW = {
    "iteration": 0,
    "pool": 0,
    "slot": 0,
    "attempt": 1,
    "outcome": "evaluated",
    "call": 1,
    "parents": [],
    "charm": 0.5,
}


def commit(directory: RunDirectory, iteration: int, **rows: Any) -> None:
    directory.commit(iteration, rows, {"oracle_calls": 1})


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path / "run", {"charm": float})


def test_all_datasets_are_there_from_the_first_commit(directory: RunDirectory) -> None:
    commit(directory, 0, evaluations=[ROW])
    assert {name: ds.dataset(directory.path / name).count_rows() for name in DATASETS} == {
        name: int(name == "evaluations") for name in DATASETS
    }


def test_a_domain_adds_its_own_columns(directory: RunDirectory) -> None:
    commit(directory, 0, evaluations=[ROW])
    assert ds.dataset(directory.path / "evaluations").to_table(columns=["charm"]).to_pylist() == [{"charm": 0.5}]


def test_the_checkpoint_is_that_of_the_last_commit(directory: RunDirectory) -> None:
    assert directory.checkpoint() is None
    commit(directory, 0)
    commit(directory, 1)
    assert directory.checkpoint() == {"oracle_calls": 1, "iteration": 1}


def test_rows_come_in_the_order_committed(directory: RunDirectory) -> None:
    for iteration in range(12):
        commit(directory, iteration, populations=[{"iteration": iteration, "pool": 0, "members": [iteration + 1]}])
    assert [row["members"] for row in directory.rows("populations", ["members"])] == [[call] for call in range(1, 13)]


def test_iterations_that_come_quickly_share_a_part(directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WRITE_SHARE": 1e-9, "MAX_WAIT_SECONDS": 1e9}.items():
        monkeypatch.setattr(f"evodiverse.store.run_directory.{name}", value)
    for iteration in range(4):
        commit(directory, iteration, populations=[{"iteration": iteration, "pool": 0, "members": [iteration + 1]}])
    assert directory.checkpoint()["iteration"] == 0
    directory.write()
    assert directory.checkpoint()["iteration"] == 3
    assert [path.name for path in sorted((directory.path / "populations").iterdir())] == [
        "part-000000.parquet",
        "part-000003.parquet",
    ]
    assert [row["members"] for row in RunDirectory(directory.path, {}).rows("populations", ["members"])] == [
        [call] for call in range(1, 5)
    ]


def test_parts_newer_than_the_checkpoint_are_removed_on_reopening(directory: RunDirectory) -> None:
    commit(directory, 0, evaluations=[ROW])
    part = directory.path / "evaluations" / "part-000000.parquet"
    for leftover in ("part-000001.parquet", ".part-000001.parquet.tmp"):
        (directory.path / "evaluations" / leftover).write_bytes(part.read_bytes()[:100])
    reopened = RunDirectory(directory.path, {"charm": float})
    assert [path.name for path in (directory.path / "evaluations").iterdir()] == [part.name]
    assert len(reopened.rows("evaluations", ["call"])) == 1


def test_a_failed_commit_leaves_no_trace_in_the_list_of_parts(directory: RunDirectory) -> None:
    (directory.path / "checkpoint/state.json").mkdir()
    with pytest.raises(ServiceError, match="cannot write"):
        commit(directory, 0)
    (directory.path / "checkpoint/state.json").rmdir()
    directory.write()
    assert (directory.path / "checkpoint/parts").read_bytes().count(b"\n") == len(DATASETS)


def test_a_damaged_part_is_named(directory: RunDirectory) -> None:
    commit(directory, 0, evaluations=[ROW])
    (directory.path / "evaluations" / "part-000000.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InputError, match=r"part-000000\.parquet cannot be read .* overwrite=true"):
        directory.rows("evaluations", ["call"])


def test_a_damaged_checkpoint_is_named(directory: RunDirectory) -> None:
    commit(directory, 0)
    (directory.path / "checkpoint" / "state.json").write_text('{"iteration": ')
    with pytest.raises(InputError, match=r"state\.json is damaged .* overwrite=true"):
        RunDirectory(directory.path, {})


def test_a_checkpoint_that_was_changed_is_refused_by_its_checksum(directory: RunDirectory) -> None:
    commit(directory, 1)
    file = directory.path / "checkpoint" / "state.json"
    file.write_text(file.read_text().replace('"oracle_calls": 1', '"oracle_calls": 2'))
    with pytest.raises(InputError, match=r"state\.json is damaged \(its checksum is wrong\); use overwrite=true"):
        RunDirectory(directory.path, {}).checkpoint()


def test_a_directory_that_cannot_be_made_is_the_users_to_fix(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write to .* choose another folder with outputs="):
        RunDirectory(tmp_path / "file" / "run", {})


def test_a_directory_that_vanishes_says_how_to_resume(directory: RunDirectory) -> None:
    (directory.path / "swaps").rmdir()
    with pytest.raises(ServiceError, match=r"cannot write to .* run the same command again to resume"):
        commit(directory, 0)


def test_readers_can_open_the_log_after_every_commit(tmp_path: Path) -> None:
    counts: list[tuple[int, int, int]] = []
    run = tmp_path / "bits/pt/off/default/seed0"

    def read(commits: int) -> None:
        with_arrow = ds.dataset(run / "evaluations").count_rows()
        query = f"SELECT count(*) FROM read_parquet('{run}/evaluations/*.parquet')"
        with_pandas = len(pd.read_parquet(run / "evaluations", dtype_backend="pyarrow"))
        counts.append((with_arrow, duckdb.sql(query).fetchall()[0][0], with_pandas))

    run_toy(tmp_path, display=Silent(read))
    assert all(arrow == duck == pandas for arrow, duck, pandas in counts)
    assert [count[0] for count in counts] == sorted({count[0] for count in counts})


def test_pandas_keeps_calls_integers_next_to_missing_ones(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    frame = pd.read_parquet(run / "evaluations", dtype_backend="pyarrow")
    assert str(frame["call"].dtype) == "int64[pyarrow]"
    assert frame["call"].isna().any()
    assert frame["call"].max() == 200


def test_duckdb_joins_members_with_their_scores(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    (best,) = duckdb.sql(f"""
        SELECT max(e.score) FROM
        (SELECT unnest(members) AS call FROM read_parquet('{run}/populations/*.parquet') WHERE iteration = 0) AS p
        JOIN read_parquet('{run}/evaluations/*.parquet') AS e USING (call)
    """).fetchall()[0]
    initial = duckdb.sql(f"SELECT max(score) FROM '{run}/evaluations/part-000000.parquet'").fetchall()[0][0]
    assert best == initial


def test_every_column_is_documented() -> None:
    documented = (ROOT / "docs" / "columns.md").read_text()
    columns = {name for schema in schemas({}).values() for name in schema.names}
    assert [name for name in sorted(columns) if f"`{name}`" not in documented] == []


def test_a_file_of_best_without_content_is_removed(directory: RunDirectory) -> None:
    directory.write_best({"a.png": b"old", "b.txt": b"kept"})
    directory.write_best({"a.png": None, "never_there.svg": None})
    assert [path.name for path in (directory.path / "best").iterdir()] == ["b.txt"]


def test_a_part_from_before_a_column_was_added_has_nulls_there(tmp_path: Path) -> None:
    schema = schemas({})["populations"]
    table = pa.Table.from_pylist([{"iteration": 0, "pool": 0, "beta": 1.0, "members": [1]}], schema=schema)
    pq.write_table(table.drop_columns(["seconds"]), tmp_path / "part-000000.parquet")
    (columns,) = read_parts("populations", ["pool", "seconds"], {}, [tmp_path / "part-000000.parquet"])
    assert columns == {"pool": [0], "seconds": [None]}
