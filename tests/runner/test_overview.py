"""The overview of a sweep, over files that runs write."""

import io
import json
from pathlib import Path

from rich.console import Console

from evodiverse.runlog.standing import Standing
from evodiverse.runner.overview import Listed, Overview, PlainSheet, RichSheet, Sheet, summarize


def write(path: Path, status: str, calls: int = 0, error: str | None = None) -> None:
    (path / "checkpoint").mkdir(parents=True, exist_ok=True)
    saved = {"oracle_calls": calls, "best_score": 0.25, "seconds": {"wall": 1.0}}
    (path / "checkpoint" / "state.json").write_text(json.dumps(saved))
    stopped_by = "budget" if status == "complete" else None
    settings = {"budget.oracle_calls": 100}
    record = {"status": status, "stopped_by": stopped_by, "error": error, "settings": settings}
    temporary = path / "run.json.tmp"
    temporary.write_text(json.dumps(record))
    temporary.replace(path / "run.json")


def list_runs(folder: Path, n: int = 3) -> list[Listed]:
    return [Listed(number, f"seed={number - 1}", folder / str(number)) for number in range(1, n + 1)]


def look(overview: Overview) -> None:
    overview._look([number for number, standing in overview.standings.items() if not standing.is_over])


def test_runs_of_other_processes_are_reported_as_they_start_and_end(tmp_path: Path) -> None:
    listed, stream = list_runs(tmp_path), io.StringIO()
    overview = Overview(listed, PlainSheet(listed, 5, stream))
    look(overview)
    assert stream.getvalue() == ""
    write(tmp_path / "2", "running")
    look(overview)
    write(tmp_path / "2", "complete", 100)
    write(tmp_path / "3", "failed", 7, "the disk is full")
    look(overview)
    look(overview)
    assert stream.getvalue().splitlines() == [
        "run 2 of 5: seed=1",
        f"run 2 of 5: complete, stopped by budget | 100 calls | best 0.250 | {tmp_path / '2'}",
        "run 3 of 5: seed=2",
        f"run 3 of 5: failed: the disk is full | {tmp_path / '3'}",
    ]


def test_the_record_of_an_earlier_start_is_ignored(tmp_path: Path) -> None:
    write(tmp_path / "1", "failed", 7, "as before")
    overview = Overview(list_runs(tmp_path, 1), Sheet())
    look(overview)
    assert overview.standings[1].state == "waiting"
    write(tmp_path / "1", "running", 7)
    look(overview)
    assert overview.standings[1].state == "running"


def test_a_run_that_fails_before_it_has_a_folder_is_reported(tmp_path: Path) -> None:
    listed, stream = list_runs(tmp_path, 1), io.StringIO()
    overview = Overview(listed, PlainSheet(listed, 1, stream))
    overview.begin(1)
    overview.end(1, "no data\x1b[2J")
    assert stream.getvalue().splitlines()[1] == f"run 1 of 1: failed: no data\ufffd[2J | {tmp_path / '1'}"


def test_a_line_shows_the_progress_of_each_running_run_at_intervals(tmp_path: Path) -> None:
    listed, stream, now = list_runs(tmp_path), io.StringIO(), [0.0]
    sheet = PlainSheet(listed, 3, stream, lambda: now[0])
    standings = {1: Standing("running", 25, 100, 0.5, 60.0), 2: Standing("waiting"), 3: Standing("running")}
    sheet.show(standings, [])
    now[0] = 11.0
    sheet.show(standings, [])
    sheet.show(standings, [])
    assert stream.getvalue() == "run 1 of 3: 25/100 calls | best 0.500 | 0:03:00 left\n"


def test_a_table_has_a_row_for_each_running_run_and_a_line_about_all(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    sheet = RichSheet(list_runs(tmp_path), 4, console)
    standings = {1: Standing("complete", 100, 100, 0.5, 60.0), 2: Standing("running", 25, 100), 3: Standing("waiting")}
    sheet.show(standings, [1])
    sheet.close()
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "25/100" in shown
    assert "4 runs: 2 complete, 1 running, 1 waiting" in shown


def test_the_time_left_is_estimated_from_the_runs_so_far() -> None:
    standings = {number: Standing("complete", 10, 10, 0.5, 60.0) for number in range(2)}
    standings |= {2: Standing("running", 5, 10, 0.1, 40.0), 3: Standing("waiting"), 4: Standing("waiting")}
    assert summarize(standings, 5) == "5 runs: 2 complete, 1 running, 2 waiting, about 0:02:40 left"
