"""Logs of other versions of EvoDiverse: one of 0.1, kept in ``run_of_0_1``, is read; a later one is refused."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import evodiverse
from evodiverse.errors import InputError
from evodiverse.runlog import runs
from evodiverse.runlog.datasets import DATASETS
from evodiverse.runlog.record import SCHEMA
from evodiverse.store import record as store_record
from tests.results.builders import make_record
from tests.runs import ROOT

OLD = ROOT / "tests" / "runlog" / "run_of_0_1"


def test_a_run_of_0_1_is_read_with_all_its_tables() -> None:
    record = json.loads((OLD / "run.json").read_text())
    assert record["versions"][0]["evodiverse"] == "0.1.0"
    assert "schema" not in record
    run = evodiverse.load(OLD)
    best = run.best()
    assert best is not None
    assert (best.score, best.genotype) == (0.15, "COc1ccc(Cl)cc1NC(=O)NC(=O)Nc1cccc([N+](=O)[O-])c1")
    assert run.curve().calls.tolist() == list(range(1, 61))
    for name in DATASETS:
        parts = sorted((OLD / name).glob("*.parquet"))
        assert run.table(name).num_rows == sum(pq.read_metadata(part).num_rows for part in parts)


@pytest.mark.slow
def test_the_commands_show_and_table_a_run_of_0_1(tmp_path: Path) -> None:
    shutil.copytree(OLD, tmp_path / "run")
    shown, tabled = ([Path(sys.executable).with_name(name), "."] for name in ("evodiverse-show", "evodiverse-tables"))
    for command, expected in ((shown, "0.15"), ([*tabled, "--by", "seed"], "from 1 complete run;")):
        printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (printed.returncode, printed.stderr) == (0, "")
        assert expected in printed.stdout


def test_a_run_that_begins_now_says_which_schema_it_has() -> None:
    assert store_record.new_record(store_record.Identity(Path(), "digest", {}, {}, {}, "local"), {})["schema"] == SCHEMA


def test_a_log_of_a_later_version_is_refused_with_the_reason(tmp_path: Path) -> None:
    newer = make_record() | {"schema": SCHEMA + 1, "status": "a word of that version"}
    (tmp_path / "run.json").write_text(json.dumps(newer))
    reason = f"written by a newer EvoDiverse .log schema {SCHEMA + 1}, this one reads up to {SCHEMA}.; upgrade"
    with pytest.raises(InputError, match=reason):
        runs.read_record(tmp_path / "run.json")
    with pytest.raises(InputError, match=reason):
        store_record.read_record(tmp_path)


def test_a_schema_that_is_no_number_is_damage(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(make_record() | {"schema": "new"}))
    with pytest.raises(InputError, match="schema is 'new', expected an integer of at least 0"):
        runs.read_record(tmp_path / "run.json")
