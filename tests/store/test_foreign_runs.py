"""A run directory from elsewhere cannot make a run write or delete outside of it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import InputError, Interrupted, ServiceError
from evodiverse.store.files import Journal, locked
from evodiverse.store.run_directory import RunDirectory, delete_run
from tests.runs import run_toy, stop_after

pytestmark = pytest.mark.usefixtures("written_at_once")

INSIDE = ("evaluations", "checkpoint", "best", ".hydra", "run.json", ".lock", "checkpoint/journal", "best/history")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """The directory of a run that can be resumed."""
    with pytest.raises(Interrupted):
        run_toy(tmp_path / "outputs", display=stop_after(2))
    return tmp_path / "outputs/bits/pt/off/default/seed0"


def put_link(path: Path, target: Path) -> None:
    """Move what stands at ``path`` to ``target``, if anything does, and leave a link."""
    if path.exists():
        path.rename(target)
    path.symlink_to(target)


@pytest.mark.parametrize("name", INSIDE)
def test_a_run_is_not_resumed_through_a_link(interrupted: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / "target"
    put_link(interrupted / name, target)
    before = sorted(target.rglob("*")), target.is_file() and target.read_bytes()
    with pytest.raises(InputError, match=rf"{name}.* is a link"):
        run_toy(tmp_path / "outputs")
    assert (sorted(target.rglob("*")), target.is_file() and target.read_bytes()) == before


def test_a_part_that_is_a_link_is_refused(interrupted: Path, tmp_path: Path) -> None:
    part = interrupted / "evaluations" / "part-000001.parquet"
    put_link(part, tmp_path / "part")
    with pytest.raises(InputError, match=rf"{part} is a link"):
        run_toy(tmp_path / "outputs")


def test_what_is_neither_a_file_nor_a_folder_is_refused(interrupted: Path, tmp_path: Path) -> None:
    (interrupted / "checkpoint" / "journal").unlink()
    os.mkfifo(interrupted / "checkpoint" / "journal")
    with pytest.raises(InputError, match=r"checkpoint/journal is neither a file nor a folder"):
        run_toy(tmp_path / "outputs")


@pytest.mark.parametrize("name", ["outputs", "outputs/bits", "outputs/bits/pt/off/default/seed0"])
def test_the_folders_down_to_a_run_may_be_links(interrupted: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).rename(tmp_path / "scratch")
    (tmp_path / name).symlink_to(tmp_path / "scratch")
    assert run_toy(tmp_path / "outputs") == interrupted


def test_a_lock_is_not_written_through_a_link(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(victim)
    with pytest.raises(InputError, match=r"\.lock is a link"), locked(tmp_path / "run"):
        pass
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("call", [lambda journal: journal.append([{}]), lambda journal: journal.replace([])])
def test_a_journal_is_not_written_through_a_link(tmp_path: Path, victim: Path, call: Any) -> None:
    (tmp_path / "journal").symlink_to(victim)
    with pytest.raises((ServiceError, OSError), match="symbolic links"):
        call(Journal(tmp_path / "journal"))
    assert victim.read_text() == "precious"


def test_a_journal_is_not_cut_off_through_a_link(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "journal").symlink_to(victim)
    with pytest.raises(InputError, match=r"cannot read .*journal"):
        Journal(tmp_path / "journal").read()
    assert victim.read_text() == "precious"


def test_a_folder_of_pictures_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run", {})
    (tmp_path / "elsewhere").mkdir()
    (directory.path / "best" / "history").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="history is a link"):
        directory.write_best({"history/1.py": b"theirs"})
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_deletion_takes_links_away_and_leaves_what_they_lead_to(interrupted: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("precious")
    (interrupted / "best" / "link").symlink_to(tmp_path / "folder")
    (interrupted / "link").symlink_to(tmp_path / "folder")
    delete_run(interrupted)
    assert [path.name for path in interrupted.iterdir()] == [".lock"]
    assert (tmp_path / "folder" / "file").read_text() == "precious"


def test_a_run_that_is_itself_a_link_is_not_deleted(interrupted: Path, tmp_path: Path) -> None:
    put_link(interrupted, tmp_path / "moved")
    before = sorted((tmp_path / "moved").iterdir())
    with pytest.raises(InputError, match=rf"{interrupted} is a link"):
        run_toy(tmp_path / "outputs", "overwrite=true")
    assert sorted((tmp_path / "moved").iterdir()) == before


def test_settings_of_somebody_else_are_quoted_on_one_line_and_control_nothing(
    interrupted: Path, tmp_path: Path
) -> None:
    file = interrupted / "run.json"
    record = json.loads(file.read_text())
    record["settings"]["method.swap.period"] = "\x1b[2J\nevodiverse: all is well"
    file.write_text(json.dumps(record | {"digest": "0" * 16}))
    with pytest.raises(InputError, match=r"method\.swap\.period=�\[2J�evodiverse: all is well, now it is"):
        run_toy(tmp_path / "outputs")
