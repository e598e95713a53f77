"""A run can continue a run with a smaller budget, and has the same log as a run from scratch."""

import json
import logging
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import InputError, Interrupted
from evodiverse.settings.going_further import rewind
from tests.runs import FROM_ROOT, TOY_CONF, Silent, evodiverse, log, plan, rows, run_toy, stop_after, write_at_once

pytestmark = pytest.mark.slow

LONG = "budget.oracle_calls=200"
SHORT = "bits/pt/off/budget.oracle_calls=24/seed0"


def read_record(run: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((run / "run.json").read_text())
    return found


@pytest.fixture(scope="module")
def run_from_scratch(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns the run of a method from scratch, which tests share."""

    @cache
    def run(method: str) -> Path:
        return run_toy(tmp_path_factory.mktemp(method), f"method={method}", "search.patience=1000", LONG)

    return run


@pytest.mark.parametrize(
    ("method", "calls"),
    [
        *[("pt", calls) for calls in (16, 30, 150, 199)],
        *[(method, 150) for method in ("pt3", "island", "niche_ga")],
        *[("diverse", calls) for calls in (30, 150)],
    ],
)
def test_a_longer_run_has_the_log_of_one_from_scratch(
    tmp_path: Path, method: str, calls: int, run_from_scratch: Callable[[str], Path]
) -> None:
    diary = tmp_path / "diary"
    words = [f"method={method}", f"task.diary={diary}", "search.patience=1000"]
    shorter = run_toy(tmp_path, *words, f"budget.oracle_calls={max(calls, 24)}")
    n_before = len(diary.read_text().split())
    longer = run_toy(tmp_path, *words, LONG)
    evaluated = diary.read_text().split()
    assert log(longer) == log(run_from_scratch(method))
    assert len(evaluated) == len(set(evaluated))
    assert len(evaluated) == 200 or method == "diverse"  # it may choose other candidates if it may choose more
    assert n_before == max(calls, 24)
    begun = read_record(longer)["begun_from"]
    assert begun["path"] == str(shorter)
    assert begun["oracle_calls"] <= n_before


def test_a_longer_run_adds_its_time_to_that_of_the_part_taken_over(tmp_path: Path) -> None:
    shorter = rows(run_toy(tmp_path, "budget.oracle_calls=42"), "populations")
    path = run_toy(tmp_path, "budget.oracle_calls=60")
    times = [row["seconds"] for row in rows(path, "populations")]
    n_taken = 2 * 3  # iterations 0 to 2 of two pools; the budget of the shorter run cut the next one
    assert times[:n_taken] == [row["seconds"] for row in shorter[:n_taken]]
    assert all(earlier[part] <= later[part] for earlier, later in pairwise(times) for part in later)
    assert times[n_taken]["oracle"] >= shorter[-1]["seconds"]["oracle"] > times[n_taken - 1]["oracle"]
    ended = read_record(path)["seconds"]
    assert ended["wall"] >= ended["operator"] + ended["oracle"] > times[-1]["oracle"] > 0


def test_a_run_that_stopped_before_its_budget_is_taken_over_completely(tmp_path: Path) -> None:
    words = ["search.patience=1", "task.length=4", "task.start=4"]
    shorter = run_toy(tmp_path, *words, "budget.oracle_calls=60")
    assert read_record(shorter)["stopped_by"] == "patience"
    longer = run_toy(tmp_path, *words, LONG)
    assert log(longer) == log(shorter)
    assert read_record(longer)["stopped_by"] == "patience"


def test_a_named_run_gets_a_larger_budget_in_its_place(tmp_path: Path, run_from_scratch: Callable[[str], Path]) -> None:
    diary = tmp_path / "diary"
    words = ["name=mine", "method=pt", f"task.diary={diary}", "search.patience=1000"]
    shorter = run_toy(tmp_path, *words, "budget.oracle_calls=42")
    (shorter / "docking").mkdir()
    longer = run_toy(tmp_path, *words, LONG)
    assert longer == shorter == tmp_path / "mine"
    assert log(longer) == log(run_from_scratch("pt"))
    assert len(diary.read_text().split()) == len({*diary.read_text().split()}) == 200
    assert read_record(longer)["grown"] == [{"budget": 42, "oracle_calls": 36}]
    assert (longer / "docking").exists()  # what other commands added
    assert not (longer / ".shorter").exists()
    with pytest.raises(InputError, match=r"was started with budget.oracle_calls=200, now it is budget.oracle_calls=42"):
        run_toy(tmp_path, *words, "budget.oracle_calls=42")


def test_an_interrupted_named_run_gets_a_larger_budget_and_evaluates_nothing_twice(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    words = ["name=mine", f"task.diary={diary}"]
    with pytest.raises(Interrupted):
        run_toy(tmp_path, *words, "budget.oracle_calls=60", display=stop_after(3))
    run_toy(tmp_path, *words, LONG)
    evaluated = diary.read_text().split()
    assert len(evaluated) == len(set(evaluated))


def test_a_named_run_of_other_code_keeps_its_budget_and_its_log(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "name=mine", "budget.oracle_calls=42")
    record, before = read_record(run), log(run)
    (run / "run.json").write_text(json.dumps({**record, "versions": [{"evodiverse": "0.0.1"}]}))
    kept = (run / "run.json").read_bytes()
    with pytest.raises(InputError, match=r"mine cannot get a larger budget \(it was made with .*; use name=…"):
        run_toy(tmp_path, "name=mine", LONG)
    assert (run / "run.json").read_bytes() == kept
    assert log(run) == before
    assert not (run / ".shorter").exists()


def test_the_run_with_the_most_progress_is_continued(tmp_path: Path) -> None:
    for calls in (30, 60):
        run_toy(tmp_path, f"budget.oracle_calls={calls}")
    with pytest.raises(Interrupted):
        run_toy(tmp_path, "budget.oracle_calls=90", display=stop_after(2))
    begun = read_record(run_toy(tmp_path, "budget.oracle_calls=100"))["begun_from"]
    assert "oracle_calls=90" in begun["path"]


def test_a_killed_run_is_continued(tmp_path: Path) -> None:
    shorter = run_toy(tmp_path, "budget.oracle_calls=60")
    record = read_record(shorter)
    (shorter / "run.json").write_text(json.dumps({**record, "status": "running"}))
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    (shorter / ".lock").write_text(f"process {ended.pid} on {socket.gethostname()}\n")
    longer = run_toy(tmp_path, LONG)
    assert read_record(longer)["begun_from"]["path"] == str(shorter)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that has the smallest budget."""
    outputs = tmp_path_factory.mktemp("short")
    run_toy(outputs, "budget.oracle_calls=24")
    return outputs


@pytest.mark.parametrize("other", ["seed=1", "method.swap.period=7", "task.source=b"])
def test_a_run_that_differs_in_more_than_its_budget_is_not_continued(short: Path, other: str) -> None:
    assert "begun_from" not in read_record(run_toy(short, "budget.oracle_calls=30", other))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"versions": {"code": "0" * 16}}, "was made with code 0000000000000000, now it is code "),
        ({"sources": {"code/task.py": "0" * 64}}, "was made with other data or code (code/task.py)"),
        ({"corrected": [{}]}, "was continued with changed code"),
    ],
)
def test_a_run_of_other_code_is_not_continued_which_is_said(
    short: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, changed: dict[str, Any], expected: str
) -> None:
    shorter = shutil.copytree(short / SHORT, tmp_path / SHORT)
    record = dict(read_record(shorter))
    record["versions"] = [record["versions"][0] | changed.get("versions", {})]
    record["sources"] |= changed.get("sources", {})
    record |= {name: changed[name] for name in changed if name == "corrected"}
    (shorter / "run.json").write_text(json.dumps(record))
    with caplog.at_level(logging.INFO, "evodiverse.settings"):
        assert "begun_from" not in read_record(run_toy(tmp_path, "budget.oracle_calls=30"))
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"starts from scratch, since {shorter} {expected}")


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_damaged_run_is_not_continued(
    short: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, is_listed: bool
) -> None:
    shorter = shutil.copytree(short / SHORT, tmp_path / SHORT)
    for part in (shorter / "swaps").glob("part-*.parquet"):
        part.write_bytes(part.read_bytes().replace(b"cpp", b"cqp") if is_listed else b"")
    if not is_listed:
        (shorter / "checkpoint/parts").unlink()
    longer = run_toy(tmp_path, "budget.oracle_calls=30")
    assert log(longer) == log(run_toy(tmp_path / "scratch", "budget.oracle_calls=30"))
    assert f"this run cannot continue {shorter}" in caplog.text


def test_a_longer_run_reports_which_run_it_continues(tmp_path: Path) -> None:
    toy = ["--config-dir", str(TOY_CONF), "task=bits", "evaluator.workers=1"]
    evodiverse(*toy, "budget.oracle_calls=60", cwd=tmp_path, env=FROM_ROOT)
    done = evodiverse(*toy, cwd=tmp_path, env=FROM_ROOT)
    (line,) = [line for line in done.stderr.splitlines() if "starts with" in line]
    assert line.startswith("evodiverse: starts with the first 5")
    assert "calls of outputs/bits/pt/off/budget.oracle_calls=60/seed0, and " in line


@pytest.mark.parametrize("method", ["pt3", "island", "diverse"])
def test_the_checkpoint_of_any_iteration_can_be_rebuilt_from_the_log(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"method={method}", "search.early_stop={top: 5, gain: 0.01, patience: 50}", "task.length=8"]
    if method == "diverse":
        words += ["method.screen.batch=[[0,4],[60,6]]", "method.screen.apart=60"]  # the budget cuts no iteration
    write_at_once(monkeypatch)
    kept: dict[int, dict[str, Any]] = {}

    def keep(_: int) -> None:
        (path,) = tmp_path.rglob("state.json")
        saved = json.loads(path.read_text())
        kept[saved["iteration"]] = saved

    run = run_toy(tmp_path, *words, "budget.oracle_calls=120", display=Silent(keep))
    planned = plan("task=bits", *words)
    names = ("evaluations", "populations", "adaptation", "llm_calls", "choices")
    found = {name: rows(run, name) for name in names}
    assert len(kept) > 8
    for iteration, expected in kept.items():
        until = {name: [row for row in found[name] if row["iteration"] <= iteration] for name in names}
        again = rewind(iteration, until, planned.config.method, planned.config.search)
        assert again is not None
        assert again == {key: expected[key] for key in again}
