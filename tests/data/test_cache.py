import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import evodiverse
from evodiverse.data.artifacts import ARTIFACTS, find_artifact
from evodiverse.data.cache import State, artifact_path, fetch, inspect_artifact, present_path
from evodiverse.errors import DataError

N_PROCESSES = 8
# What another process of the same machine does, with one artifact of the fixture.
OTHER_PROCESS = """
import logging, sys
from evodiverse.data.artifacts import ARTIFACTS, Artifact
from evodiverse.data.cache import artifact_path
logging.basicConfig(level=logging.INFO)
ARTIFACTS["oak"] = {artifact!r}
print(artifact_path("oak"))
"""


@pytest.fixture
def offline(monkeypatch):
    """The network is forbidden."""
    monkeypatch.setenv("EVODIVERSE_OFFLINE", "1")


def start_other_process() -> subprocess.Popen:
    root = Path(evodiverse.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", OTHER_PROCESS.format(artifact=ARTIFACTS["oak"])]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def file_names(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


# Looking


def test_present_artifact_has_no_problem(filled_cache):
    entry = inspect_artifact("oak")
    assert (entry.state, entry.path, entry.problem) == (State.PRESENT, filled_cache / "oak.txt", "")


def test_missing_artifact_is_reported_with_the_command_that_fetches_it(cache):
    entry = inspect_artifact("oak")
    assert (entry.state, entry.remedy) == (State.ABSENT, "run `evodiverse-data fetch oak`")


def test_looking_creates_nothing(cache):
    inspect_artifact("oak")
    assert not cache.exists()


def test_path_of_a_present_artifact_is_given(filled_cache):
    assert present_path("elm") == filled_cache / "elm.txt"


def test_path_of_a_missing_artifact_is_refused_and_not_fetched(cache):
    with pytest.raises(DataError, match=r"oak\.txt is missing; run `evodiverse-data fetch oak`$"):
        present_path("oak")
    assert not cache.exists()


# What a run does


def test_missing_artifact_is_fetched_from_the_wheel(cache):
    assert artifact_path("oak").read_bytes() == b"leaves " * 1000


def test_present_artifact_needs_no_download(filled_cache, unreachable_index):
    assert artifact_path("oak") == filled_cache / "oak.txt"


def test_damaged_file_is_refused_with_the_command_that_replaces_it(damaged_cache):
    with pytest.raises(DataError, match=r"oak\.txt is damaged .*run `evodiverse-data fetch oak` to replace it$"):
        artifact_path("oak")


def test_damaged_file_is_not_replaced_silently(damaged_cache):
    with pytest.raises(DataError, match="damaged"):
        artifact_path("oak")
    assert (damaged_cache / "oak.txt").read_bytes() == b"leaves"


def test_artifact_that_is_a_folder_is_refused(cache):
    (cache / "oak.txt").mkdir(parents=True)
    with pytest.raises(
        DataError, match=r"oak\.txt cannot be read \(Is a directory\); make it a readable file, or delete it"
    ):
        artifact_path("oak")


def test_unknown_name_is_answered_with_the_nearest(cache):
    with pytest.raises(DataError, match="unknown artifact 'oka'; did you mean oak"):
        artifact_path("oka")


# Fetching


def test_fetch_downloads_a_wheel_once_and_leaves_nothing_but_its_artifacts(cache, caplog):
    caplog.set_level(logging.INFO, logger="evodiverse.data")
    fetch(["oak", "elm"])
    assert caplog.messages == ["fetching oak and elm (2 MB, once) ..."]
    assert file_names(cache) == [".lock", "elm.txt", "oak.txt"]


def test_fetch_returns_the_order_of_the_names(filled_cache):
    assert [before.artifact.name for before in fetch(["elm", "oak", "elm"])] == ["elm", "oak", "elm"]


def written(path: Path) -> tuple[int, int]:
    """When and where a file was last written; reading it changes neither."""
    status = path.stat()
    return status.st_mtime_ns, status.st_ino


def test_fetch_replaces_what_is_damaged_and_leaves_alone_what_is_complete(damaged_cache):
    before = written(damaged_cache / "elm.txt")
    assert [entry.state for entry in fetch(["oak", "elm"])] == [State.DAMAGED, State.PRESENT]
    assert present_path("oak").read_bytes() == b"leaves " * 1000
    assert written(damaged_cache / "elm.txt") == before


def test_fetch_writes_nothing_where_all_is_there(filled_cache, unreachable_index):
    fetch(["oak", "elm"])
    assert file_names(filled_cache) == ["elm.txt", "oak.txt"]


def test_fetch_refuses_an_unreadable_file_before_it_downloads(cache, caplog):
    caplog.set_level(logging.INFO, logger="evodiverse.data")
    (cache / "oak.txt").mkdir(parents=True)
    with pytest.raises(DataError, match="cannot be read"):
        fetch(["oak", "elm"])
    assert caplog.messages == []


def test_failed_fetch_leaves_no_artifact(cache, unreachable_index):
    with pytest.raises(DataError, match="satisfies the requirement toy-forest"):
        artifact_path("oak")
    assert file_names(cache) == [".lock"]


def test_member_with_another_checksum_is_refused(cache, index, write_wheel):
    write_wheel(index, {"oak": b"acorns"})
    with pytest.raises(DataError, match=r"contains a different toy_forest/oak\.txt .*`evodiverse-data fetch oak`$"):
        artifact_path("oak")
    assert not (cache / "oak.txt").exists()


def test_cache_that_cannot_be_written_is_reported_with_the_setting(cache, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "file/cache"))
    with pytest.raises(DataError, match=r"cannot write to the cache folder .*Not a directory.*set EVODIVERSE_CACHE"):
        artifact_path("oak")


# Without a network


def test_offline_present_artifact_is_given(filled_cache, offline):
    assert artifact_path("oak") == filled_cache / "oak.txt"


def test_offline_missing_artifact_is_reported_with_the_command_that_fetches_it(cache, offline):
    told = r"oak\.txt \(absent\) .*EVODIVERSE_OFFLINE is set; run `EVODIVERSE_OFFLINE=0 evodiverse-data fetch oak`$"
    with pytest.raises(DataError, match=told):
        artifact_path("oak")


def test_offline_damaged_artifact_is_reported_with_the_command_that_replaces_it(damaged_cache, offline):
    with pytest.raises(DataError, match=r"run `EVODIVERSE_OFFLINE=0 evodiverse-data fetch oak` to replace it$"):
        artifact_path("oak")


def test_offline_fetch_names_all_unusable_artifacts(damaged_cache):
    (damaged_cache / "elm.txt").unlink()
    told = r"oak\.txt \(damaged\) and elm\.txt \(absent\) .*--offline was given; run `evodiverse-data fetch oak elm`$"
    with pytest.raises(DataError, match=told):
        fetch(["oak", "elm"], offline=True)


def test_offline_nothing_reaches_the_index(cache, http_index, offline):
    with pytest.raises(DataError, match="EVODIVERSE_OFFLINE"):
        artifact_path("oak")
    assert http_index.n_requests == 0


# Several processes, and killed ones


def test_processes_starting_at_once_on_an_empty_cache_download_once(cache):
    processes = [start_other_process() for _ in range(N_PROCESSES)]
    answers = [process.communicate() for process in processes]
    assert [out for out, _ in answers] == [f"{cache / 'oak.txt'}\n"] * N_PROCESSES
    assert sum(err.count("fetching oak") for _, err in answers) == 1


def test_next_fetch_cleans_up_after_one_that_was_killed(cache, http_index):
    http_index.stall_after = 700_000
    with start_other_process() as process:
        assert http_index.has_stalled.wait(30)
        process.send_signal(signal.SIGKILL)
        http_index.stall_after = None
        http_index.goes_on.set()
    assert list(cache.glob(".fetch-*"))
    artifact_path("oak")
    assert file_names(cache) == [".lock", "oak.txt"]


@pytest.mark.parametrize("name", sorted(name for name in ARTIFACTS if not ARTIFACTS[name].is_optional))
def test_published_artifact_has_the_size_on_record(name):
    assert artifact_path(name).stat().st_size == find_artifact(name).n_bytes
