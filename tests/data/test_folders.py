"""Artifacts that belong together lie in one folder, whose name stands for them."""

import dataclasses
import logging
from pathlib import Path

import pytest

from evodiverse.data.artifacts import ARTIFACTS
from evodiverse.data.cache import artifact_folder
from evodiverse.data.cli import main
from evodiverse.errors import DataError


@pytest.fixture
def grove(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that oak and elm belong into, still absent."""
    for name in ("oak", "elm"):
        file_name = f"grove/{name}.txt"
        toy = dataclasses.replace(ARTIFACTS[name], name=file_name, file_name=file_name, is_optional=True)
        monkeypatch.setitem(ARTIFACTS, file_name, toy)
    return cache / "grove"


def test_missing_folder_is_fetched_in_one_download(grove: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="evodiverse.data")
    assert artifact_folder("grove") == grove
    assert caplog.messages == ["fetching grove/oak.txt and grove/elm.txt (2 MB, once) ..."]
    assert {path.name: path.read_bytes()[:6] for path in grove.iterdir()} == {"oak.txt": b"leaves", "elm.txt": b"seeds"}


def test_complete_folder_needs_no_download(grove: Path, index: Path) -> None:
    artifact_folder("grove")
    next(index.iterdir()).unlink()
    assert artifact_folder("grove") == grove


def test_folder_that_lacks_a_file_is_completed(grove: Path) -> None:
    (artifact_folder("grove") / "elm.txt").unlink()
    assert (artifact_folder("grove") / "elm.txt").read_bytes() == b"seeds"


def test_folder_with_a_damaged_file_is_refused_and_nothing_fetched(grove: Path) -> None:
    grove.mkdir(parents=True)
    (grove / "oak.txt").write_bytes(b"leaves")
    with pytest.raises(DataError, match=r"grove/oak\.txt is damaged .*run `evodiverse-data fetch grove/oak\.txt`"):
        artifact_folder("grove")
    assert [path.name for path in grove.iterdir()] == ["oak.txt"]


def test_a_file_in_place_of_a_folder_is_reported(grove: Path) -> None:
    grove.parent.mkdir()
    grove.touch()
    with pytest.raises(DataError, match=r"cannot write to the cache folder"):
        artifact_folder("grove")


def test_unknown_folder_is_refused(grove: Path) -> None:
    with pytest.raises(DataError, match="unknown artifact 'groves'"):
        artifact_folder("groves")


def test_commands_take_the_name_of_a_folder(grove: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [main(["fetch", "grove", "oak"]), main(["verify", "grove"])] == [0, 0]
    capsys.readouterr()
    assert [main(["path", "grove"]), main(["path", "grove/elm.txt"]), main(["path", "oak"])] == [0, 0, 0]
    assert capsys.readouterr().out.split() == [
        str(path) for path in (grove, grove / "elm.txt", grove.parent / "oak.txt")
    ]


def test_path_of_a_folder_that_lacks_a_file_is_refused(grove: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "grove"]) == 2
    assert "grove/oak.txt is missing" in capsys.readouterr().err
