"""Two processes never write to the same run directory."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.kit.files import lock
from evodiverse.store.files import check_unlocked, locked

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

    monkeypatch.setattr("evodiverse.store.files.lock", lock_on_nfs)
    with locked(tmp_path):
        pass
    check_unlocked(tmp_path)
    with locked(tmp_path), pytest.raises(InputError, match="is being written by process"):
        check_unlocked(tmp_path)
    assert caplog.text == ""
