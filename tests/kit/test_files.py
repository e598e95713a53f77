"""Files are written whole or not at all, and not through links."""

import os
import shutil
import tracemalloc
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.kit.files import read_file, refuse_link, refuse_odd_files, replace_file, write_file


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


def test_a_link_or_a_device_anywhere_in_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    deep = tmp_path / "run" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "linked").symlink_to(tmp_path / "run")
    refuse_odd_files(tmp_path / "linked")
    os.mkfifo(deep / "pipe")
    with pytest.raises(InputError, match="pipe is neither a file nor a folder"):
        refuse_odd_files(tmp_path / "linked")
    (deep / "link").symlink_to(tmp_path)
    (deep / "pipe").unlink()
    with pytest.raises(InputError, match="link is a link"):
        refuse_odd_files(tmp_path / "linked")


def test_a_folder_may_disappear_while_it_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "deep").mkdir(parents=True)

    def see(path: Path) -> None:
        seen.add(path.relative_to(tmp_path).as_posix())
        if path.name == "deep":  # both folders are listed by now
            shutil.rmtree(tmp_path / ("one" if path.parent.name == "other" else "other"))

    seen: set[str] = set()
    monkeypatch.setattr("evodiverse.kit.files.refuse_odd_file", see)
    refuse_odd_files(tmp_path)
    assert len(seen) == 3


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_file(tmp_path / "file", 5) == b"12345"
    with pytest.raises(ValueError, match="it has more than 4 bytes"):
        read_file(tmp_path / "file", 4)


def test_reading_a_small_file_reserves_little_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    tracemalloc.start()
    try:
        assert read_file(tmp_path / "file", 1 << 28) == b"12345"
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_a_pipe_or_a_link_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name, message in (("pipe", "it is not a regular file"), ("link", "it is a link")):
        with pytest.raises(ValueError, match=message):
            read_file(tmp_path / name, 5)
