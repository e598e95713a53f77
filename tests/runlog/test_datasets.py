"""Parts of a log are read when they are what a run writes, and named otherwise; their columns are described."""

import os
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evodiverse.errors import InputError
from evodiverse.kit.files import read_json
from evodiverse.runlog import datasets
from evodiverse.runlog.datasets import COLUMNS, DATASETS, DatasetReader, find_own_columns
from evodiverse.runlog.record import MEANINGS
from tests.runs import SORT_KEYS, run_toy

ROWS = [
    {"iteration": 0, "outcome": "evaluated", "call": 1, "genotype": "C", "score": 0.5, "parents": []},
    {"iteration": 1, "outcome": "rejected", "call": None, "genotype": None, "score": None, "parents": [1, 1]},
]
NAMES = tuple(ROWS[0])
KINDS = {name: DATASETS["evaluations"].field(name).type for name in NAMES}


def reader() -> DatasetReader:
    return DatasetReader(KINDS, frozenset({"iteration", "outcome"}))


def write(path: Path, changed: Mapping[str, Any]) -> Path:
    """Write two rows, with other columns in the place of some; None is a column less."""
    columns = {name: pa.array([row[name] for row in ROWS], kind) for name, kind in KINDS.items()} | dict(changed)
    pq.write_table(pa.table({name: column for name, column in columns.items() if column is not None}), path)
    return path


def test_a_part_that_a_run_wrote_is_read_as_it_is(tmp_path: Path) -> None:
    columns = reader().read(write(tmp_path / "part", {}))
    assert columns == {name: [row[name] for row in ROWS] for name in NAMES}


def test_an_empty_part_and_missing_scores_are_fine(tmp_path: Path) -> None:
    assert reader().read(write(tmp_path / "part", {"score": pa.nulls(2, pa.float64())}))["score"] == [None, None]
    pq.write_table(pq.read_table(tmp_path / "part").slice(0, 0), tmp_path / "empty")
    assert reader().read(tmp_path / "empty")["score"] == []


@pytest.mark.parametrize(
    "column",
    [pa.array(["C", None]).dictionary_encode(), pa.array(["C", None], pa.large_string())],
    ids=["dictionary", "large"],
)
def test_text_may_be_stored_in_other_ways(tmp_path: Path, column: pa.Array) -> None:
    assert reader().read(write(tmp_path / "part", {"genotype": column}))["genotype"] == ["C", None]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"iteration": None}, "it has no column iteration"),
        ({"iteration": pa.array(["0", "1"])}, "its column iteration holds string, expected int64"),
        ({"iteration": pa.array([0, None])}, "its column iteration has no value in 1 rows"),
        ({"iteration": pa.array([[0], [1]])}, r"its column iteration holds list<.*>, expected int64"),
        ({"iteration": pa.array([{"a": 1}, {"a": 2}])}, r"its column iteration holds struct<.*>, expected int64"),
        ({"iteration": pa.array([0.5, 1.5])}, "its column iteration holds double, expected int64"),
        ({"outcome": pa.array([1, 2])}, "its column outcome holds int64, expected string"),
        ({"outcome": pa.array([b"a", b"b"])}, "its column outcome holds binary, expected string"),
        ({"outcome": pa.array([1, 2]).dictionary_encode()}, "its column outcome holds .*, expected string"),
        ({"score": pa.array([0.5, float("nan")])}, "its column score has a number that is not finite"),
        ({"score": pa.array(["high", "low"])}, "its column score holds string, expected double"),
        ({"parents": pa.array([1, 2])}, "its column parents holds int64, expected list"),
        ({"parents": pa.array([["1"], []])}, "its column parents holds list<.*>, expected list"),
        ({"parents": pa.array([[1, None], []], pa.list_(pa.int64()))}, "its column parents has a list with missing"),
    ],
)
def test_a_column_of_another_kind_is_named(tmp_path: Path, changed: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reader().read(write(tmp_path / "part", changed))


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    bad = pa.array([b"\xff", b"C"]).view(pa.string())
    with pytest.raises(InputError, match="invalid"):
        reader().read(write(tmp_path / "part", {"genotype": bad}))


def test_a_link_and_a_pipe_are_no_parts(tmp_path: Path) -> None:
    write(tmp_path / "part", {})
    (tmp_path / "link").symlink_to(tmp_path / "part")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="it is a link"):
        reader().read(tmp_path / "link")
    with pytest.raises(InputError, match="it is not a regular file"):
        reader().read(tmp_path / "pipe")


def write_bomb(path: Path, n_rows: int) -> Path:
    """Write a part of many equal rows, which takes a few kilobytes."""
    zeros = pa.array([0]).take(pa.array([0]).take(pa.nulls(n_rows, pa.int64()).fill_null(0)))
    pq.write_table(pa.table({"iteration": zeros}), path, compression="zstd")
    return path


def test_more_rows_than_a_run_logs_are_refused_before_they_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = write_bomb(tmp_path / "part", datasets.MOST_ROWS + 1)
    assert bomb.stat().st_size < 100_000
    monkeypatch.setattr(pq.ParquetFile, "read", pytest.fail)
    with pytest.raises(InputError, match="the parts up to it hold 5,000,001 values of iteration, expected at most"):
        DatasetReader({"iteration": pa.int64()}).read(bomb)


def test_rows_are_counted_over_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MOST_ROWS", 3)
    several = DatasetReader(KINDS)
    several.read(write(tmp_path / "part-0", {}))
    with pytest.raises(InputError, match="the parts up to it hold 4 values of iteration"):
        several.read(write(tmp_path / "part-1", {}))


def test_a_long_text_that_is_repeated_is_kept_once(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0]).take(pa.array([0] * 20_000)), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"genotype": texts}), tmp_path / "part", store_schema=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (first, *rest) = DatasetReader({"genotype": pa.string()}).read(tmp_path / "part")["genotype"]
    assert all(text is first for text in rest)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kilobytes; apart they take 20 GB


def test_the_columns_of_a_domain_are_its_numbers_and_texts(tmp_path: Path) -> None:
    own = {"a": pa.array([1.5, None]), "b": pa.array([1, 2]), "c": pa.array(["x", "y"]).dictionary_encode()}
    other = {"d": pa.array([[1], []]), "e": pa.array([True, False]), "predicted": pa.array([1.0, 2.0])}
    assert find_own_columns(write(tmp_path / "part", own | other)) == {"a": float, "b": float, "c": str}


def test_the_columns_of_a_damaged_part_are_refused(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(b"PAR1" * 20)
    (tmp_path / "link").symlink_to(write(tmp_path / "other", {}))
    for name in ("part", "link"):
        with pytest.raises(InputError, match=r"Parquet|link"):
            find_own_columns(tmp_path / name)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_has_a_meaning(name: str) -> None:
    assert [column for column, described in COLUMNS[name].columns.items() if not described.meaning] == []


@pytest.mark.parametrize("name", COLUMNS)
def test_keys_are_columns_and_rows_are_compared_by_them(name: str) -> None:
    assert {*COLUMNS[name].key} <= {*DATASETS[name].names}
    assert {*SORT_KEYS[name]} <= {*COLUMNS[name].key}


def test_a_run_has_values_where_its_columns_say_so_and_no_other_keys(tmp_path: Path) -> None:
    path = run_toy(tmp_path, "budget.oracle_calls=200", "method=diverse")
    for name, dataset in COLUMNS.items():
        table = pq.read_table(path / name)
        always = [column for column, described in dataset.columns.items() if not described.null_if]
        assert [column for column in always if table[column].null_count] == []
    assert {*read_json(path / "run.json", 1 << 20)} <= {*MEANINGS}, (
        "describe the new key in evodiverse/runlog/record.yaml"
    )
