"""The described columns are those that runs write, and what they say of missing values is true."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evodiverse.kit.files import read_json
from evodiverse.runlog.columns import COLUMNS
from evodiverse.runlog.datasets import DATASETS
from evodiverse.runlog.record import MEANINGS
from tests.runs import SORT_KEYS, run_toy


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
