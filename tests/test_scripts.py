"""The scripts as a user starts them."""

import subprocess
import sys
from pathlib import Path

from tests.runs import ROOT, run_here

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
    assert refused.stderr == f"tables: no complete molecule run labeled 'default' below {tmp_path}\n"


def test_the_configuration_reference_is_that_of_the_schema() -> None:
    printed = subprocess.run([sys.executable, str(ROOT / "scripts/reference.py")], capture_output=True, text=True)
    assert printed.stdout == (ROOT / "docs/configuration.md").read_text(), "make docs brings it up to date"
