"""Two processes never write to the same run directory, and its journal loses no record."""

import errno
import fcntl
import json
import logging
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.errors import InputError, ServiceError
from evodiverse.kit.files import lock
from evodiverse.runner.rows import journal_record, read_record
from evodiverse.store.files import Journal, check_unlocked, locked
from evodiverse.vocabulary import Evaluation, Hypothesis

HOLD = """
import sys
from pathlib import Path
from evodiverse.store.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the run directory."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_writer_is_refused_with_the_first_named(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    named = f"is being written by process {holder.pid} on {socket.gethostname()}; wait for it"
    with pytest.raises(InputError, match=named), locked(tmp_path / "run"):
        pass


def test_the_lock_dies_with_its_process(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    holder.kill()
    holder.wait()
    with locked(tmp_path / "run"):
        assert (tmp_path / "run" / ".lock").read_text() == f"process {os.getpid()} on {socket.gethostname()}\n"


def test_the_lock_can_be_taken_again(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "run"):
            pass


def test_a_folder_that_cannot_be_made_is_the_users_to_fix(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match=r"cannot write to .* choose another folder"),
        locked(tmp_path / "file" / "run"),
    ):
        pass


def test_a_lock_on_a_network_file_system_can_be_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lock_on_nfs(descriptor: int, *, waits: bool) -> bool:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return lock(descriptor, waits=waits)

    monkeypatch.setattr("evodiverse.kit.files.lock", lock_on_nfs)
    with locked(tmp_path):
        pass
    check_unlocked(tmp_path)
    with locked(tmp_path), pytest.raises(InputError, match="is being written by process"):
        check_unlocked(tmp_path)
    assert caplog.text == ""


RECORDS = [{"key": f"k{number}", "score": number / 7} for number in range(20)]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def written(journal: Journal) -> Path:
    journal.append(RECORDS)
    return journal._path


def test_a_missing_journal_holds_nothing(journal: Journal) -> None:
    assert journal.read() == []
    journal.replace([])


def test_records_come_back_in_order(journal: Journal) -> None:
    for record in RECORDS:
        journal.append([record])
    assert Journal(journal._path).read() == RECORDS


def test_a_cleared_journal_holds_what_is_appended_later(journal: Journal) -> None:
    written(journal)
    journal.replace([])
    journal.append(RECORDS[:1])
    assert journal.read() == RECORDS[:1]


def test_a_journal_can_keep_some_of_its_records(journal: Journal) -> None:
    written(journal)
    journal.replace(RECORDS[1:2])
    journal.append(RECORDS[:1])
    assert journal.read() == [RECORDS[1], RECORDS[0]]


@pytest.mark.parametrize("cut", [1, 2, 10, 30])
def test_a_torn_last_record_is_dropped_and_later_ones_are_whole(journal: Journal, cut: int) -> None:
    path = written(journal)
    path.write_bytes(path.read_bytes()[:-cut])
    assert journal.read() == RECORDS[:-1]
    journal.append(RECORDS[:1])
    assert journal.read() == RECORDS[:-1] + RECORDS[:1]


def test_a_journal_cut_anywhere_keeps_what_is_whole(journal: Journal) -> None:
    path = written(journal)
    content = path.read_bytes()
    for length in range(0, len(content), 13):
        path.write_bytes(content[:length])
        assert journal.read() == RECORDS[: content[:length].count(b"\n")]


@pytest.mark.parametrize("place", [0, 5, 12, 60, 200])
def test_a_damaged_record_is_named_and_the_others_are_kept(
    journal: Journal, caplog: pytest.LogCaptureFixture, place: int
) -> None:
    path = written(journal)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING, "evodiverse"):
        records = journal.read()
    lost = bytes(content[:place]).count(b"\n")
    assert records == RECORDS[:lost] + RECORDS[lost + 1 :]
    assert f"{path} is damaged; 1 record lost, and will be repeated" in caplog.text


def test_a_file_that_is_not_a_journal_is_named(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    journal._path.write_bytes(b"\x00\xff\n" * 9)
    assert journal.read() == []
    assert "is damaged; 9 records lost, and will be repeated" in caplog.text


def test_a_record_that_is_null_counts_as_damaged(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    journal._path.write_bytes(b"%08x null\n" % crc32(b"null"))
    assert journal.read() == []
    assert "is damaged; 1 record lost, and will be repeated" in caplog.text


def append(path: Path, name: str) -> None:
    journal = Journal(path)
    for number in range(200):
        journal.append([{"name": name, "number": number, "filling": "x" * 500}])


def test_processes_append_at_the_same_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    names = ["a", "b", "c"]
    processes = [context.Process(target=append, args=(tmp_path / "journal", name)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    records = Journal(tmp_path / "journal").read()
    assert sorted((record["name"], record["number"]) for record in records) == [
        (name, number) for name in names for number in range(200)
    ]


def test_a_journal_that_cannot_be_written_fails_the_run(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=r"cannot write to .*journal \(No such file or directory\); .* to resume"):
        Journal(tmp_path / "gone" / "journal").append(RECORDS)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_fails_the_run() -> None:
    with pytest.raises(ServiceError, match=r"cannot write to /dev/full \(No space left on device\); .* to resume"):
        Journal(Path("/dev/full")).append(RECORDS)


def test_a_journal_that_cannot_be_read_is_the_users_to_fix(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .* \(Is a directory\)"):
        Journal(tmp_path).read()


finite = st.floats(allow_nan=False, allow_infinity=False)
details = st.dictionaries(st.text(max_size=5), st.none() | finite | st.integers() | st.text(max_size=5), max_size=3)


@given(finite | st.none(), st.booleans(), st.text(max_size=9), details, finite)
def test_an_evaluation_comes_back_to_the_last_digit(
    tmp_path_factory: Any, score: float | None, valid: bool, error: str, details: dict[str, Any], seconds: float
) -> None:
    journal = Journal(tmp_path_factory.mktemp("journal") / "journal")
    evaluation = Evaluation(score, score, valid, error, details)
    journal.append([journal_record(Hypothesis("genotype", "key"), evaluation, seconds)])
    (record,) = journal.read()
    assert (record["key"], *read_record(record)) == ("key", evaluation, seconds)


def test_numpy_numbers_are_kept_as_plain_ones(journal: Journal) -> None:
    journal.append([{"float": np.float64(0.1), "int": np.int64(3), "bool": np.bool_(True), "small": np.float32(0.5)}])
    assert json.dumps(journal.read()) == '[{"float": 0.1, "int": 3, "bool": true, "small": 0.5}]'
