"""The state of a run, by its files."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evodiverse.runlog.standing import Standing, read_standing


def write(folder: Path, record: dict[str, Any] | None, saved: dict[str, Any] | None, holder: str = "") -> Path:
    (folder / "checkpoint").mkdir()
    if record is not None:
        (folder / "run.json").write_text(json.dumps(record))
    if saved is not None:
        (folder / "checkpoint" / "state.json").write_text(json.dumps(saved))
    (folder / ".lock").write_text(holder)
    return folder


RECORD = {"status": "running", "settings": {"budget.oracle_calls": 200}, "stopped_by": None, "error": None}
SAVED = {"oracle_calls": 50, "best_score": 0.5, "seconds": {"wall": 10.0}}


def test_a_running_run_has_an_estimate_of_the_time_left(tmp_path: Path) -> None:
    standing = read_standing(write(tmp_path, RECORD, SAVED, f"process {os.getpid()} on {socket.gethostname()}\n"))
    assert standing == Standing("running", 50, 200, 0.5, 10.0, is_alive=True)
    assert standing.seconds_left == 30.0
    assert not standing.is_over


@pytest.mark.parametrize(
    ("cap", "expected"),
    [("llm_calls", 5.0), ("tokens", 10.0), ("usd", 10.0), ("seconds", 2.0), ("none", 30.0)],
)
def test_the_time_left_ends_with_the_nearest_cap(tmp_path: Path, cap: str, expected: float) -> None:
    limits = {"llm_calls": 60, "tokens": 2000, "usd": 1.0, "seconds": 12.0}
    settings = RECORD["settings"] | {f"budget.{name}": limit if name == cap else None for name, limit in limits.items()}
    ledger = {"calls": 40, "counted_tokens": 1000, "counted_usd": 0.5}
    standing = read_standing(write(tmp_path, RECORD | {"settings": settings}, SAVED | {"ledger": ledger}))
    assert standing.seconds_left == expected


def test_a_run_that_does_not_exist_yet_is_waiting(tmp_path: Path) -> None:
    assert read_standing(tmp_path / "absent") == Standing("waiting")
    assert read_standing(tmp_path / "absent").seconds_left is None


def test_a_run_without_a_commit_has_charged_no_call(tmp_path: Path) -> None:
    assert read_standing(write(tmp_path, RECORD, None)) == Standing("running", 0, 200)


def test_a_run_whose_process_is_gone_was_killed(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    standing = read_standing(write(tmp_path, RECORD, SAVED, f"process {gone.pid} on {socket.gethostname()}\n"))
    assert standing.state == "killed"
    assert standing.is_over


def test_a_process_on_another_machine_is_believed(tmp_path: Path) -> None:
    standing = read_standing(write(tmp_path, RECORD, SAVED, "process 999999999 on another-machine\n"))
    assert (standing.state, standing.is_alive) == ("running", None)


@pytest.mark.parametrize("saved", [{"oracle_calls": "many", "best_score": [], "seconds": {"wall": "x"}}, {}])
def test_damaged_numbers_say_nothing(tmp_path: Path, saved: dict[str, Any]) -> None:
    record = {**RECORD, "status": "complete", "settings": {}, "stopped_by": "budget"}
    assert read_standing(write(tmp_path, record, saved)) == Standing("complete", stopped_by="budget", is_alive=False)


@pytest.mark.parametrize("broken", [None, 7, "x", [1]])
def test_a_damaged_object_counts_as_empty(tmp_path: Path, broken: object) -> None:
    record = {**RECORD, "status": "complete", "settings": broken}
    assert read_standing(write(tmp_path, record, {"seconds": broken})) == Standing("complete", is_alive=False)


def test_a_process_number_that_is_too_large_is_that_of_no_process(tmp_path: Path) -> None:
    holder = f"process {10**30} on {socket.gethostname()}\n"
    assert read_standing(write(tmp_path, RECORD, SAVED, holder)).state == "killed"
