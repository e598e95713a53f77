"""The scripts as a user starts them."""

import os
import subprocess
import sys
from pathlib import Path

from tests.runs import ROOT, run_here, run_toy

TABLES = [sys.executable, str(ROOT / "scripts" / "tables.py")]


def test_tables_prints_a_row_for_each_method(tmp_path: Path) -> None:
    for method in ("molleo", "pt"):
        small = ["task.initial.size=5", "budget.oracle_calls=30", f"outputs={tmp_path}", "evaluator.workers=1"]
        run_here("task=jnk3", f"method={method}", *small)
    label = "budget.oracle_calls=30,task.initial.size=5"
    printed = subprocess.run([*TABLES, str(tmp_path), "--label", label], capture_output=True, text=True, check=True)
    rows = [line.split("|")[1:3] for line in printed.stdout.splitlines()[2:]]
    assert [[cell.strip() for cell in row] for row in rows] == [["jnk3", "molleo"], ["jnk3", "pt"]]


def test_tables_without_runs_say_so(tmp_path: Path) -> None:
    refused = subprocess.run([*TABLES, str(tmp_path)], capture_output=True, text=True)
    assert refused.returncode == 2
    kinds = "molecules, equations or circle packing"
    assert refused.stderr == f"tables: no complete run of {kinds} labeled 'default' below {tmp_path}\n"


def test_tables_takes_all_problems_of_equations_together(tmp_path: Path) -> None:
    small = ["task=equation", "budget.oracle_calls=6", "evaluator.workers=1", f"outputs={tmp_path}"]
    for problem in ("reaction3", "reaction5"):
        run_here(*small, f"task.problem=builtin/{problem}")
    command = [*TABLES, str(tmp_path), "--label", "budget.oracle_calls=6"]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    (row,) = printed.stdout.splitlines()[2:]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert (cells[0], cells[1], cells[-2], cells[-1]) == ("chemistry", "pt", "2", "2")


def test_the_configuration_reference_is_that_of_the_schema() -> None:
    printed = subprocess.run([sys.executable, str(ROOT / "scripts/reference.py")], capture_output=True, text=True)
    assert printed.stdout == (ROOT / "docs/configuration.md").read_text(), "make docs brings it up to date"


def show(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "show.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})


def test_show_prints_plain_text_where_there_is_no_terminal(tmp_path: Path) -> None:
    path = run_toy(tmp_path, "budget.oracle_calls=40")
    shown = show(path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.splitlines()[0] == str(path)
    assert "\x1b" not in shown.stdout


def test_show_prints_all_runs_below_a_folder_and_names_what_is_damaged(tmp_path: Path) -> None:
    paths = [run_toy(tmp_path, "budget.oracle_calls=40", f"seed={seed}") for seed in (0, 1, 2)]
    damaged = paths[1] / "evaluations" / "part-000000.parquet"
    damaged.write_bytes(b"")
    shown = show(tmp_path)
    assert shown.returncode == 2
    assert [line for line in shown.stdout.splitlines() if line.startswith("/")] == [str(paths[0]), str(paths[2])]
    (line,) = shown.stderr.splitlines()
    assert line.startswith(f"show: {damaged} cannot be read (")


def test_show_goes_on_after_a_folder_that_holds_no_run(tmp_path: Path) -> None:
    path = run_toy(tmp_path / "outputs", "budget.oracle_calls=40")
    shown = show(tmp_path / "absent", path)
    assert shown.returncode == 2
    assert shown.stderr == f"show: {tmp_path}/absent is no run, and there is none below it\n"
    assert str(path) in shown.stdout


def test_show_writes_to_a_terminal_that_knows_letters_only(tmp_path: Path) -> None:
    shown = show(run_toy(tmp_path, "budget.oracle_calls=40"), PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
