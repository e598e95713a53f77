"""Files are written whole or not at all, and not through links."""

import os
from pathlib import Path

import pytest

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import open_input, read_input, read_text_input, refuse_link, replace_file, write_file


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old, and longer")
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    def fail(file: object) -> None:
        raise OSError("disk full")

    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="disk full"):
        replace_file(path, fail)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["file", ".file.{pid}.tmp"])
def test_a_link_in_the_way_is_not_followed(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / name.format(pid=os.getpid())).symlink_to(victim)
    write_file(tmp_path / "file", b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "file").read_bytes() == b"new"
    assert not (tmp_path / "file").is_symlink()


def test_a_link_is_refused_by_name(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(InputError, match=f"{link} is a link"):
        refuse_link(link)
    refuse_link(tmp_path)
    refuse_link(tmp_path / "absent")


def test_a_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_input(tmp_path / "link", 7) == b"content"


def test_lines_of_a_text_end_in_line_feeds(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("\ufeffä\r\nb\rc".encode())
    assert read_text_input(tmp_path / "text", 100, "utf-8-sig") == "ä\nb\nc"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("absent", "No such file or directory"),
        ("folder", "Is a directory"),
        ("pipe", "it is a device or a pipe, expected a file"),
        ("/dev/zero", "it is a device or a pipe, expected a file"),
        ("/dev/null", "it is a device or a pipe, expected a file"),
        ("large", "it has 1,001 bytes, expected at most 1,000"),
    ],
)
def test_what_is_no_file_or_too_large_is_not_read(tmp_path: Path, name: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"x" * 1_001)
    with pytest.raises(OSError, match=r".") as caught:
        read_input(tmp_path / name, 1_000)
    assert reason(caught.value) == why


def test_a_file_may_have_any_size_where_none_is_given(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**12)
    with open_input(tmp_path / "sparse", None) as file:
        assert file.read(3) == bytes(3)
