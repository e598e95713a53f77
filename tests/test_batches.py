"""The command ``evodiverse-batches``, with a real server."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evodiverse.commands.batches import main
from evodiverse.llm.shelf import Batch, Shelf
from tests.llm.batch_server import BatchServer
from tests.llm.servers import serving


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with serving(BatchServer()) as running:
        assert isinstance(running, BatchServer)
        running.n_looks = 10**9
        for _ in range(2):
            running._start("file", [("x-0", {"messages": []}), ("x-1", {"messages": []})])
        yield running


@pytest.fixture
def cache(server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a reply cache with two batches in progress, and one whose start was not confirmed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOY_API_KEY", "sk-none-for-tests")
    shelf = Shelf(tmp_path / "cache")
    shelf.folder.mkdir()
    for number, job in enumerate([*server.jobs, None]):
        place = (server.url, "openai", "TOY_API_KEY", "toy")
        shelf.write(Batch(f"{number:016x}", *place, ["0" * 64, "1" * 64], 1.8e9 + number, "file", job))
    return tmp_path / "cache"


def list_batches(cache: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["--cache", str(cache), *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_batches_are_listed_with_their_state(
    server: BatchServer, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = list_batches(cache, capsys)
    assert first == f"job-1  toy  2 requests  {server.url}  2027-01-15 08:00 UTC  in progress, 0 done"
    assert second.startswith("job-2")
    assert "not confirmed; run its command again" in third
    assert server.headers[-1]["authorization"] == "Bearer sk-none-for-tests"


def test_a_batch_is_cancelled_by_its_name(server: BatchServer, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = list_batches(cache, capsys, "--cancel", "job-2")
    assert line.endswith("cancelled; run its command again to use the 2 replies that it has")
    assert [job.over for job in server.jobs.values()] == [None, "cancelled"]


def test_all_are_cancelled_at_once(server: BatchServer, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(list_batches(cache, capsys, "--cancel", "all")) == 3
    assert {job.over for job in server.jobs.values()} == {"cancelled"}


def test_an_unknown_name_cancels_nothing(server: BatchServer, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cache", str(cache), "--cancel", "job-1", "job-7"]) == 2
    assert "job-7 is not in the list" in capsys.readouterr().err
    assert {job.over for job in server.jobs.values()} == {None}


def test_a_batch_that_may_be_someone_else_s_is_cancelled_only_by_its_name(
    server: BatchServer, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf = Shelf(cache)
    first, *_ = shelf.read()
    shelf.write(replace(first, is_guess=True))
    assert "may be someone else's" in list_batches(cache, capsys, "--cancel", "all")[0]
    assert [job.over for job in server.jobs.values()] == [None, "cancelled"]
    list_batches(cache, capsys, "--cancel", "job-1")
    assert server.jobs["job-1"].over == "cancelled"


def test_a_server_that_refuses_is_an_error(
    server: BatchServer, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.jobs.clear()
    assert main(["--cache", str(cache)]) == 1
    assert "no such batch" in capsys.readouterr().out


def test_without_batches_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no batch of" in list_batches(tmp_path / "none", capsys)[0]
