"""Faults around a run end it with a clear line and lose nothing committed, and the same command resumes it."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from evodiverse.errors import Interrupted
from evodiverse.ports import Snapshot
from evodiverse.runner.display import NoDisplay
from tests import starts
from tests.runs import DATASETS, FROM_ROOT, TOY_CONF, evodiverse, log, run_toy
from tests.starts import Started

pytestmark = pytest.mark.slow

N_CALLS = 400
LONG = [f"budget.oracle_calls={N_CALLS}", "search.patience=1000"]
TOY = ["--config-dir", str(TOY_CONF), "task=bits", *LONG]
LABEL = ",".join(LONG)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, object]]]:
    """Return the log of a run without any fault."""
    return log(run_toy(tmp_path_factory.mktemp("whole"), *LONG))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Yield a function that mounts a small disk with options of ``mount``, or mounts it again."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options: str) -> Path:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True)
        if done.returncode != 0:
            pytest.skip("mounting a disk needs privileges that are missing")
        return place

    yield mount
    while subprocess.run(["umount", "-l", str(place)], capture_output=True).returncode == 0:
        pass


def start(cwd: Path, *arguments: str) -> Started:
    return starts.start("-m", "evodiverse", *TOY, *arguments, cwd=cwd, env=FROM_ROOT)


def wait_for_parts(run: Path, process: Started) -> None:
    while len(list((run / "evaluations").glob("part-*"))) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)  # no assertion depends on how long it takes


def test_a_full_disk_ends_the_run_with_one_line_and_a_larger_disk_resumes_it(
    disk: Callable[[str], Path], whole: dict[str, list[dict[str, object]]]
) -> None:
    place = disk("size=120k")
    failed = evodiverse(*TOY, "evaluator.workers=1", cwd=place, env=FROM_ROOT)
    assert failed.returncode == 1
    assert (
        "(No space left on device); fix that, then run the same command again to resume"
        in failed.stderr.splitlines()[-1]
    )
    assert "Traceback" not in failed.stderr
    run = place / "outputs/bits/pt/off" / LABEL / "seed0"
    assert all(ds.dataset(run / dataset).count_rows() >= 0 for dataset in DATASETS)
    disk("remount,size=50m")
    assert evodiverse(*TOY, "evaluator.workers=1", cwd=place, env=FROM_ROOT).returncode == 0
    assert log(run) == whole


def test_a_disk_that_becomes_read_only_ends_the_run_with_one_line(
    disk: Callable[[str], Path], whole: dict[str, list[dict[str, object]]], tmp_path: Path
) -> None:
    place = disk("size=50m")
    arguments = ["evaluator.workers=1", "task.pause=0.01", f"outputs={place}"]
    process = start(tmp_path, *arguments)
    run = place / "bits/pt/off" / f"{LABEL},task.pause=0.01" / "seed0"
    wait_for_parts(run, process)
    subprocess.run(
        ["mount", "--bind", str(place), str(place)], check=True
    )  # the run's open lock prevents a plain remount
    turn_read_only(place)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "(Read-only file system); fix that, then run the same command again to resume" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    refused = evodiverse(*TOY, *arguments, cwd=tmp_path, env=FROM_ROOT)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    subprocess.run(["umount", str(place)], check=True)
    assert evodiverse(*TOY, *arguments, cwd=tmp_path, env=FROM_ROOT).returncode == 0
    assert log(run) == whole


def turn_read_only(place: Path) -> None:
    """Mount a disk read-only, trying again since the kernel refuses while the run has a file open for writing."""
    for _ in range(500):
        done = subprocess.run(["mount", "-o", "remount,bind,ro", str(place)], capture_output=True, text=True)
        if done.returncode == 0:
            return
        assert "busy" in done.stderr
        time.sleep(0.002)
    pytest.fail(done.stderr)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_directory_that_disappears_ends_the_run_with_one_line(tmp_path: Path, n_workers: int) -> None:
    process = start(tmp_path, f"evaluator.workers={n_workers}", "task.pause=0.01")
    run = tmp_path / "outputs/bits/pt/off" / f"{LABEL},task.pause=0.01" / "seed0"
    wait_for_parts(run, process)
    run.rename(tmp_path / "gone")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "(No such file or directory); fix that, then run the same command again to resume" in errors.splitlines()[-1]
    assert "Traceback" not in errors


def test_a_worker_that_is_killed_costs_a_retry(tmp_path: Path, whole: dict[str, list[dict[str, object]]]) -> None:
    process = start(tmp_path, "evaluator.workers=2", "task.pause=0.01")
    run = tmp_path / "outputs/bits/pt/off" / f"{LABEL},task.pause=0.01" / "seed0"
    wait_for_parts(run, process)
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "evodiverse: a worker process died (killed, or out of memory); its work is repeated" in errors
    assert log(run) == whole


def workers_of(pid: int) -> list[int]:
    """Return the worker processes of a run: the children of the server that forks them."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return [process for process, parent in parents.items() if parents.get(parent) == pid]


class StopWithin(NoDisplay):
    """A display that interrupts a run within an iteration, after some of its evaluations are finished."""

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        now = snapshot()
        if now.iteration == 3 and now.oracle_calls > self.calls:
            raise Interrupted(signal.SIGINT)
        self.calls = now.oracle_calls

    calls = 0


@pytest.mark.usefixtures("written_at_once")
@pytest.mark.parametrize("harm", ["none", "cut", "flipped", "emptied", "deleted"])
def test_a_damaged_journal_costs_evaluations_but_does_not_change_the_log(
    tmp_path: Path, whole: dict[str, list[dict[str, object]]], harm: str
) -> None:
    diary = tmp_path / "diary"
    overrides = [*LONG, f"task.diary={diary}"]
    with pytest.raises(Interrupted):
        run_toy(tmp_path, *overrides, display=StopWithin())
    (journal,) = tmp_path.rglob("journal")
    content = journal.read_bytes()
    n_records = content.count(b"\n")
    assert n_records > 0
    harmed = {"cut": content[:-7], "flipped": content[:50] + b"?" + content[51:], "emptied": b"", "deleted": b""}
    journal.write_bytes(harmed.get(harm, content))
    if harm == "deleted":
        journal.unlink()
    assert log(run_toy(tmp_path, *overrides)) == whole
    n_lost = {"none": 0, "cut": 1, "flipped": 1}.get(harm, n_records)
    assert len(diary.read_text().split()) == N_CALLS + n_lost


def test_a_stop_while_iterations_wait_to_be_written_repeats_no_evaluation(
    tmp_path: Path, whole: dict[str, list[dict[str, object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"WRITE_SHARE": 1e-9, "MAX_WAIT_SECONDS": 1e9}.items():
        monkeypatch.setattr(f"evodiverse.store.run_directory.{name}", value)
    diary = tmp_path / "diary"
    overrides = [*LONG, f"task.diary={diary}"]
    with pytest.raises(Interrupted):
        run_toy(tmp_path, *overrides, display=StopWithin())
    (journal,) = tmp_path.rglob("journal")
    assert journal.stat().st_size > 0
    assert log(run_toy(tmp_path, *overrides)) == whole
    assert len(diary.read_text().split()) == N_CALLS
    assert journal.read_bytes() == b""


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = log(run_toy(tmp_path / "plain"))
    rng = random.Random(0)  # noqa: S311 (times, not secrets)
    monkeypatch.setattr(time, "time", lambda: rng.uniform(-1e9, 1e10))
    jumping = run_toy(tmp_path / "jumping")
    assert log(jumping) == plain
    assert 0 < json.loads((jumping / "run.json").read_text())["seconds"]["wall"] < 3600
    assert all(
        0 <= row["seconds"] < 3600
        for row in ds.dataset(jumping / "evaluations")
        .to_table(columns=["seconds"], filter=ds.field("call").is_valid())
        .to_pylist()
    )


def test_a_truncated_cache_file_is_reported_with_a_remedy(tmp_path: Path) -> None:
    cache = Path(os.environ.get("EVODIVERSE_CACHE", Path.home() / ".cache/evodiverse"))
    shutil.copytree(cache, tmp_path / "cache", ignore=shutil.ignore_patterns("*.npz", ".*"))
    forest = tmp_path / "cache" / "jnk3.pkl"
    forest.write_bytes(forest.read_bytes()[:-1000])
    refused = evodiverse("budget=smoke", cwd=tmp_path, env={**os.environ, "EVODIVERSE_CACHE": str(tmp_path / "cache")})
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert line.startswith(f"evodiverse: {forest} is damaged (expected SHA-256 5c7548343996…")
    assert line.endswith("run `evodiverse-data fetch jnk3` to replace it")
