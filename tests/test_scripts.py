"""The scripts, started as a user does."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.lines import count_lines
from tests.runs import FROM_ROOT, ROOT, plan, rows, run_here, run_toy
from tests.starts import run, start

pytestmark = pytest.mark.slow

FIRST_LOOK = str(ROOT / "scripts" / "first_look.py")
TABLES = str(ROOT / "scripts" / "tables.py")


def tables(outputs: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return run(TABLES, str(outputs), *arguments, cwd=cwd or Path(), env={**FROM_ROOT, "HF_HUB_OFFLINE": "1"})


def read_table(outputs: Path, name: str) -> list[list[str]]:
    lines = (outputs / "tables" / f"{name}.md").read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with small runs of two methods on JNK3 and on two problems of equations."""
    folder = tmp_path_factory.mktemp("runs")
    small = [f"outputs={folder}", "evaluator.workers=1"]
    for method in ("molleo", "pt"):
        run_here("task=jnk3", f"method={method}", "task.initial.size=5", "budget.oracle_calls=30", *small)
    for problem in ("reaction3", "reaction5"):
        run_here("task=equation", f"task.problem=builtin/{problem}", "budget.oracle_calls=6", *small)
    return folder


def test_tables_are_written_for_all_runs(outputs: Path) -> None:
    written = tables(outputs)
    assert (written.returncode, written.stderr) == (0, "")
    said = rf"\d+ tables from 4 complete runs; [\d,]+ of [\d,]+ cells filled: {outputs}/tables/index.html\n"
    left_out = r"\d+ tables of the paper left out, since no run fills them; --all writes them, too\n"
    assert re.fullmatch(said + left_out, written.stdout)
    rows = read_table(outputs, "molecules")
    label = "budget.oracle_calls=30 task.initial.size=5"
    assert [row[:5] for row in rows[1:]] == [["jnk3", method, "off", label, "1"] for method in ("molleo", "pt")]
    (row,) = read_table(outputs, "equations")[1:]
    assert row[:7] == ["chemistry", "pt", "off", "lm", "budget.oracle_calls=6", "2", "2"]


def test_a_table_of_a_real_run_has_the_numbers_of_its_log(outputs: Path) -> None:
    tables(outputs)
    run = next(outputs.glob("jnk3/pt/off/*/seed0"))
    ranked = sorted((row["score"] for row in rows(run, "evaluations") if row["call"] is not None), reverse=True)
    cells = dict(zip(*(read_table(outputs, "molecules")[at] for at in (0, 2)), strict=True))
    assert cells["oracle calls"] == "30"
    members = {call for row in rows(run, "populations")[-2:] for call in row["members"]}
    final = sorted((row["score"] for row in rows(run, "evaluations") if row["call"] in members), reverse=True)
    assert cells["plain top-10 ↑"] == f"{sum(final[:10]) / 10:.2f}"
    assert sum(final[:10]) <= sum(ranked[:10])


@pytest.fixture(scope="module")
def toy_outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toys")
    run_toy(folder, "budget.oracle_calls=40")
    return folder


def test_a_users_domain_has_metrics_and_a_table(toy_outputs: Path) -> None:
    assert tables(toy_outputs, "--domain", "tests.toys.bits").returncode == 0
    header, row = read_table(toy_outputs, "bits")
    (run,) = toy_outputs.glob("bits/pt/off/*/seed0")
    ones = [row["n_ones"] for row in rows(run, "evaluations") if row["n_ones"] is not None]
    assert header == ["task", "method", "llm", "overrides", "runs", "most ones ↑", "calls to 0.5"]
    assert row[:6] == ["bits", "pt", "off", "budget.oracle_calls=40", "1", str(max(ones))]


def test_no_code_runs_because_a_record_names_it(toy_outputs: Path, tmp_path: Path) -> None:
    shutil.copytree(toy_outputs, tmp_path / "theirs")
    (record,) = tmp_path.rglob("run.json")
    record.write_text(record.read_text().replace("tests.toys.bits", "theirs.evil"))
    evil = tmp_path / "theirs" / "evil"
    evil.mkdir()
    (evil / "domain.py").write_text("open('was_here', 'w')")
    written = tables(Path("theirs"), cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert not (tmp_path / "was_here").exists()
    assert not (tmp_path / "theirs" / "tables" / "bits.md").exists()
    assert (tmp_path / "theirs" / "tables" / "search.md").exists()


def test_the_first_look_compares_two_runs(outputs: Path, tmp_path: Path) -> None:
    runs = sorted(path.parent for path in outputs.glob("jnk3/*/**/run.json"))
    done = run(FIRST_LOOK, *map(str, runs), "look.png", cwd=tmp_path, env={**FROM_ROOT, "MPLBACKEND": "agg"})
    assert done.returncode == 0, done.stderr
    *told, last = done.stdout.splitlines()
    assert [line.partition(", mean of the ten best that differ 0.")[0] for line in told] == [
        f"method={method}, 30 calls: best score {max(row['score'] or 0 for row in rows(made, 'evaluations')):.2f}"
        for method, made in zip(("molleo", "pt"), runs, strict=True)
    ]
    assert last.startswith("see look.png; next: `evodiverse-report outputs` ")
    assert (tmp_path / "look.png").read_bytes().startswith(b"\x89PNG")


def test_make_run_compares_the_runs_that_it_makes() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"\$\(BIN\)/evodiverse (task=jnk3 .*)", makefile)
    (look,) = re.findall(r"first_look\.py (\S+) \$\(FILTERED\)", makefile)
    (filtered,) = re.findall(r"^FILTERED := (.*)", makefile, re.MULTILINE)
    assert [str(plan(*command.split()).path) for command in commands] == [look, filtered]


def test_tables_may_be_restricted(outputs: Path) -> None:
    assert tables(outputs, "--task", "equation", "--llm", "off").returncode == 0
    names = {file.stem for file in (outputs / "tables").glob("*.md")}
    assert "equations" in names
    assert not names & {"molecules", "mol_graphga", "sr_div"}
    refused = tables(outputs, "--llm", "gpt5")
    assert (refused.returncode, refused.stderr) == (
        2,
        f"evodiverse: {outputs} has no complete run of gpt5; check --task and --llm\n",
    )


def test_tables_without_runs_say_how_to_make_them(tmp_path: Path) -> None:
    written = tables(tmp_path)
    assert written.returncode == 0
    assert re.match(r"25 tables from 0 complete runs; 0 of \d+ cells filled", written.stdout)
    assert "evodiverse -m +experiment=mol_graphga" in (tmp_path / "tables/mol_graphga.md").read_text()


def test_tables_end_without_an_error_when_nobody_reads_them(outputs: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, TABLES, str(outputs), "--by", "method"]
    written = subprocess.run(command, env=FROM_ROOT, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (written.returncode, written.stderr) == (0, b"")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    refused = tables(tmp_path / "nope")
    assert (refused.returncode, refused.stderr) == (
        2,
        f"evodiverse: {tmp_path}/nope is not a folder; name the folder of your runs\n",
    )


def test_an_interruption_of_tables_is_reported_in_one_line(outputs: Path, tmp_path: Path) -> None:
    (whole,) = outputs.glob("jnk3/pt/off/*/seed0")
    record = json.loads((whole / "run.json").read_text())
    for seed in range(40):  # enough that the script is stopped before it is done
        copied = shutil.copytree(whole, tmp_path / "many" / f"seed{seed}")
        (copied / "run.json").write_text(json.dumps(record | {"settings": record["settings"] | {"seed": seed}}))
    env = {**os.environ, "EVODIVERSE_CACHE": str(tmp_path)}  # an empty cache, in which nothing is measured yet
    script = start(TABLES, "many", cwd=tmp_path, env=env)
    while not (tmp_path / "analysis").exists():
        assert script.poll() is None, script.communicate()
        time.sleep(0.01)
    script.send_signal(signal.SIGINT)
    assert script.communicate()[1] == "evodiverse: interrupted by SIGINT; finished measurements are stored\n"
    assert script.returncode == 130


def test_a_damaged_run_is_named_and_the_others_are_in_the_tables(tmp_path: Path) -> None:
    path = run_toy(tmp_path, "budget.oracle_calls=40")
    run_toy(tmp_path, "budget.oracle_calls=40", "seed=1")
    (path / "evaluations" / "part-000000.parquet").unlink()
    written = tables(tmp_path)
    assert written.returncode == 2
    assert re.fullmatch(rf"evodiverse: {path}/evaluations/\S+ is damaged \(it is missing\); .*\n", written.stderr)
    assert read_table(tmp_path, "search")[1][:5] == ["bits", "pt", "off", "budget.oracle_calls=40", "1"]


def test_the_configuration_reference_matches_the_schema() -> None:
    printed = run(str(ROOT / "scripts" / "reference.py"), cwd=Path())
    assert printed.stdout == (ROOT / "docs/configuration.md").read_text(), "make docs brings it up to date"


def test_the_reference_of_columns_matches_the_schemas() -> None:
    printed = run(str(ROOT / "scripts" / "columns.py"), cwd=Path())
    assert printed.stdout == (ROOT / "docs/columns.md").read_text(), "make docs brings it up to date"


def show(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    return run(str(ROOT / "scripts" / "show.py"), *map(str, arguments), cwd=Path(), env={**os.environ, **env})


def test_show_prints_plain_text_without_a_terminal(tmp_path: Path) -> None:
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
    assert [path for path in paths if str(path) in shown.stdout] == [paths[0], paths[2]]
    (line,) = shown.stderr.splitlines()
    assert line.startswith(f"evodiverse: {damaged} is damaged (it has 0 bytes, ")


def test_show_continues_after_a_folder_without_a_run(tmp_path: Path) -> None:
    path = run_toy(tmp_path / "outputs", "budget.oracle_calls=40")
    shown = show(tmp_path / "absent", path)
    assert shown.returncode == 2
    assert shown.stderr == f"evodiverse: {tmp_path}/absent is not a run, and contains none; check the path\n"
    assert str(path) in shown.stdout


def test_show_writes_to_an_ascii_terminal(tmp_path: Path) -> None:
    shown = show(run_toy(tmp_path, "budget.oracle_calls=40"), PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings() -> None:
    source = """
# A comment.
LIMIT = 3  # counts
'What it limits.'

def text():
    'Return text.'
    return '''two

lines'''
"""
    assert count_lines(source.encode()) == 1 + 1 + 3
