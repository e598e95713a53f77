"""Processes of an evaluator program are recognized by later starts, whose environment may differ."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evodiverse.errors import ServiceError
from evodiverse.runner.evaluators import command
from evodiverse.runner.evaluators.command import Job
from evodiverse.vocabulary import Hypothesis

SLEEP = [sys.executable, "-c", "import time; time.sleep(100)"]
HYPOTHESES = [Hypothesis("01", "01")]


@pytest.fixture(params=["/proc", "ps"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Let the start of a process be read from /proc, or from ps as on macOS."""
    source = str(request.param)
    if source == "/proc" and not Path("/proc/self/stat").exists():
        pytest.skip("there is no /proc")
    if source == "ps":
        if shutil.which("ps") is None:
            pytest.skip("there is no ps")
        monkeypatch.setattr(command, "_PROC", tmp_path / "proc")
    return source


@pytest.fixture
def job(source: str, tmp_path: Path) -> Iterator[Job]:
    begun = Job.begin(tmp_path / "0", SLEEP, HYPOTHESES)
    yield begun
    begun.kill()


def test_a_running_program_is_recognized_in_another_time_zone_and_language(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    found = Job.find(job.folder)
    assert (found.pid, found.mark) == (job.pid, job.mark)
    assert found.is_alive()


def test_another_process_with_the_same_number_is_not_taken_for_the_program(job: Job) -> None:
    found = Job.find(job.folder)
    assert found.mark is not None
    found.mark = found.mark.replace("1", "2") if "1" in found.mark else f"1{found.mark}"
    assert not found.is_alive()


def test_a_program_that_was_killed_is_over(job: Job) -> None:
    assert job.pid is not None
    found = Job.find(job.folder)
    os.kill(job.pid, 9)
    os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOWAIT)  # a zombie from now on
    assert not found.is_alive()
    job.kill()
    assert not found.is_alive()


def test_a_program_whose_name_looks_like_fields_is_recognized(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 ("
    program.symlink_to(shutil.which("sleep") or "")
    begun = Job.begin(tmp_path / "0", [str(program), "100"], HYPOTHESES)
    try:
        assert Job.find(begun.folder).is_alive()
    finally:
        begun.kill()


def test_a_machine_without_ps_and_proc_knows_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "_PROC", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    begun = Job.begin(tmp_path / "0", SLEEP, HYPOTHESES)
    try:
        assert begun.is_alive()
        assert not Job.find(begun.folder).is_alive()
    finally:
        begun.kill()


def test_an_answer_written_just_before_the_end_is_read(tmp_path: Path) -> None:
    class Ending(Job):
        """A job whose program writes its last answer and ends while it is looked at."""

        def is_alive(self) -> bool:
            (self.folder / command.SCORES).write_text('{"key": "01", "score": 1}')
            return False

    (tmp_path / command.SCORES).touch()
    assert list(Ending(tmp_path, {"01"}, 0.0, None, None).read()) == [{"key": "01", "score": 1}]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the start of a process is read from ps")
def test_no_other_program_is_started_before_the_process_is_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(subprocess, "run", None)  # a run that is killed while it waits would forget the program
    job = Job.begin(tmp_path / "0", SLEEP, HYPOTHESES)
    job.kill()
    assert (tmp_path / "0" / "process.json").exists()


def test_what_a_start_left_that_was_killed_before_it_started_the_program_can_be_found_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_and_stop(path: Path, content: bytes) -> None:
        path.write_bytes(content)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "write_file", write_and_stop)
    with pytest.raises(KeyboardInterrupt):
        Job.begin(tmp_path / "0", SLEEP, HYPOTHESES)
    found = Job.find(tmp_path / "0")
    assert found.keys == {"01"}
    assert list(found.read()) == []
    assert found.describe_end() == "it ended"


def test_a_full_disk_is_told_when_a_program_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(command, "write_file", write)
    with pytest.raises(ServiceError, match=r"0 \(No space left on device\); fix that, then run the same command again"):
        Job.begin(tmp_path / "0", SLEEP, HYPOTHESES)


@pytest.mark.parametrize("is_alive", [True, False])
def test_output_without_an_end_is_skipped_a_piece_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_alive: bool
) -> None:
    monkeypatch.setattr(command, "_MOST_LINE", 40)
    monkeypatch.setattr(Job, "is_alive", lambda _: is_alive)
    scores, job = tmp_path / command.SCORES, Job(tmp_path, {"01"}, 0.0, None, None)
    scores.write_bytes(b"x" * 90)
    assert list(job.read()) == []
    assert job.offset == (80 if is_alive else 90)
    with scores.open("ab") as file:
        file.write(b'\n{"key": "01", "score": 1}\n{"key":')
    assert list(job.read()) == [{"key": "01", "score": 1}]
    assert job.offset == scores.stat().st_size - (len(b'{"key":') if is_alive else 0)
