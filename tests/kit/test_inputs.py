"""Files that a user names are read only if they are files."""

import os
from pathlib import Path

import pytest

from evodiverse.errors import reason
from evodiverse.kit.inputs import read_input, read_text_input


def test_a_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_input(tmp_path / "link") == b"content"


def test_lines_of_a_text_end_in_line_feeds(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("\ufeffä\r\nb\rc".encode())
    assert read_text_input(tmp_path / "text", "utf-8-sig") == "ä\nb\nc"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("absent", "No such file or directory"),
        ("folder", "Is a directory"),
        ("pipe", "it is a device or a pipe, expected a file"),
        ("/dev/zero", "it is a device or a pipe, expected a file"),
        ("/dev/null", "it is a device or a pipe, expected a file"),
    ],
)
def test_what_is_no_file_is_not_read(tmp_path: Path, name: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=r".") as caught:
        read_input(tmp_path / name)
    assert reason(caught.value) == why
