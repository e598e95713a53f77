"""The command `evodiverse-dock` with a toy instead of Vina, which tests/docking/test_vina.py covers."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evodiverse.commands import dock as command
from evodiverse.commands.dock_runs import Order, dock_all
from evodiverse.errors import InputError
from evodiverse.runlog.log import read_log
from evodiverse.runlog.runs import Run, survey_runs
from evodiverse.tasks.molecules.metrics import measure_molecules
from tests.docking.receptors import write_receptor
from tests.docking.toys import Idle, OnlyEthanol, Toy
from tests.results.builders import write_run
from tests.runs import FROM_ROOT, rows

pytestmark = pytest.mark.slow

# Calls 1 to 4. The last one is only in the pools of iteration 0, which is not among the last five.
SCORES = {"c1ccccc1": 0.9, "ClCCl": 0.8, "CCO": 0.3, "CCCO": 0.2}
STATES = [[[4], []], [[1], []], [[1], []], [[1], []], [[1], []], [[2], [3]]]
BOX = "-1,0,0,10,10,10"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return write_run(tmp_path / "runs" / "one", SCORES, STATES)


@pytest.fixture
def order(tmp_path: Path, run: Run) -> Order:
    return Order([run.path], str(write_receptor(tmp_path)), BOX, None, jobs=1)


def measured(run: Run) -> Mapping[str, Any]:
    return measure_molecules(read_log(run))


def test_the_best_of_the_last_five_iterations_are_docked_starting_with_the_last_iteration(
    order: Order, run: Run
) -> None:
    assert dock_all(order, Toy()) == 0
    found = {row["key"]: row["score"] for row in rows(run.path, "docking")}
    assert found == {"ClCCl": -3.0, "CCO": -3.0, "c1ccccc1": -6.0}
    assert list(found) == ["ClCCl", "CCO", "c1ccccc1"]


def test_the_numbers_for_the_table_of_dockings_are_computed(order: Order, run: Run) -> None:
    dock_all(order, Toy())
    numbers = measured(run)
    assert numbers["docking_last"] == pytest.approx(-3)
    assert numbers["docking_last5"] == pytest.approx((4 * -6 - 3) / 5)
    assert numbers["n_docked_last"] == 2


def test_a_failure_is_listed_and_the_other_molecules_count(
    order: Order, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dock_all(order, Toy("CCO")) == 0
    (failed,) = (row for row in rows(run.path, "docking") if row["key"] == "CCO")
    assert (failed["score"], failed["error"]) == (None, "ValueError: refused")
    told = capsys.readouterr().out
    assert "docked 2 of 3 molecules" in told
    assert "failed: CCO: ValueError: refused" in told
    numbers = measured(run)
    assert (numbers["docking_last"], numbers["n_docked_last"]) == (-3.0, 1)


def test_only_failures_are_tried_again(order: Order, run: Run) -> None:
    dock_all(order, Toy("CCO"))
    assert dock_all(order, OnlyEthanol()) == 0
    assert [row["score"] for row in rows(run.path, "docking")] == [-3.0, -3.0, -6.0]


def test_a_docked_run_is_not_docked_again(order: Order, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    dock_all(order, Toy())
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("docking/*")}
    assert dock_all(order, Idle()) == 0
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("docking/*")} == before
    assert f"{run.path} has already been docked" in capsys.readouterr().out


def test_a_molecule_in_several_runs_is_docked_once(order: Order, run: Run, tmp_path: Path) -> None:
    dock_all(order, Toy())
    other = write_run(tmp_path / "runs" / "two", SCORES, STATES, seed=1)
    assert dock_all(order._replace(runs=[tmp_path / "runs"]), Idle()) == 0
    assert rows(other.path, "docking") == rows(run.path, "docking")


def test_the_dataset_is_the_same_with_any_number_of_jobs(
    order: Order, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = []
    for n_jobs in (1, 3):
        monkeypatch.setenv("EVODIVERSE_CACHE", str(run.path.parent / f"cache{n_jobs}"))
        dock_all(order._replace(jobs=n_jobs, overwrite=True), Toy())
        contents.append({path.name: path.read_bytes() for path in (run.path / "docking").iterdir()})
    assert contents[0] == contents[1]
    assert sorted(contents[0]) == ["docking.json", "part-000000.parquet", "poses.sdf"]


@pytest.mark.parametrize("change", [{"box": "0,0,0,9,9,9"}, {"exhaustiveness": 9}])
def test_a_different_docking_is_not_overwritten_unless_requested(
    order: Order, run: Run, capsys: pytest.CaptureFixture[str], change: Mapping[str, Any]
) -> None:
    dock_all(order, Toy())
    before = rows(run.path, "docking")
    other = order._replace(**change)
    assert dock_all(other, Idle()) == 2
    assert "was made with a different " in capsys.readouterr().err
    assert rows(run.path, "docking") == before
    assert dock_all(other._replace(overwrite=True), Toy()) == 0


def test_a_new_version_of_the_program_docks_again(order: Order, run: Run) -> None:
    dock_all(order, Toy())
    assert dock_all(order._replace(overwrite=True), Toy("CCO", version="2")) == 0
    assert [row["score"] for row in rows(run.path, "docking")] == [-3.0, None, -6.0]


def test_each_task_has_its_own_receptor(order: Order, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "two", SCORES, STATES, task__name="gsk3b")
    targets = tmp_path / "targets.yaml"
    targets.write_text("jnk3: {receptor: receptor.pdbqt, box: [0, 0, 0, 10, 10, 10]}\n")
    both = order._replace(runs=[tmp_path / "runs"], receptor=None, box=None, targets=targets)
    assert dock_all(both, Toy()) == 2
    targets.write_text(targets.read_text() + "gsk3b: {receptor: receptor.pdbqt, box: [0, 0, 1, 10, 10, 10]}\n")
    assert dock_all(both, Toy()) == 0
    found = {run.task: run.path for run in survey_runs(tmp_path / "runs").complete}
    assert [(found[task] / "docking" / "docking.json").exists() for task in ("jnk3", "gsk3b")] == [True, True]


def test_one_receptor_cannot_be_the_target_of_two_tasks(order: Order, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "two", SCORES, STATES, task__name="gsk3b")
    with pytest.raises(InputError, match=r"tasks gsk3b, jnk3 have different targets; list the targets with --targets"):
        dock_all(order._replace(runs=[tmp_path / "runs"]), Idle())


def test_a_docking_into_another_protein_does_not_fill_the_table(order: Order, run: Run, tmp_path: Path) -> None:
    dock_all(order, Toy())
    record = run.path / "docking" / "docking.json"
    record.write_text(record.read_text().replace('"target": "jnk3"', '"target": "mapk14"'))
    assert "docking_last" not in measured(run)


def test_runs_that_cannot_be_docked_are_named_and_the_others_docked(
    order: Order, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unfinished = write_run(tmp_path / "runs" / "two", SCORES, STATES, seed=1)
    record = unfinished.path / "run.json"
    record.write_text(record.read_text().replace("complete", "interrupted"))
    assert dock_all(order._replace(runs=[tmp_path / "runs"]), Toy()) == 2
    assert f"{unfinished.path} is interrupted; only complete runs can be docked" in capsys.readouterr().err
    assert len(rows(run.path, "docking")) == 3


def test_a_run_without_molecules_is_refused(order: Order, tmp_path: Path) -> None:
    other = write_run(
        tmp_path / "other", SCORES, STATES, task__domain="evodiverse.tasks.programs", task__name="program"
    )
    with pytest.raises(InputError, match="is a run of program, which has no molecules to dock"):
        dock_all(order._replace(runs=[other.path]), Idle())


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"box": None}, "--receptor needs --box"),
        ({"box": "absent.txt"}, r"cannot read the box in absent\.txt"),
        ({"box": "1,2,3"}, r"--box 1,2,3: expected six finite numbers"),
        ({"box": "a,b,c,d,e,f"}, "--box a,b,c,d,e,f: could not convert"),
        ({"receptor": "absent.pdbqt"}, "cannot read the receptor absent.pdbqt"),
        ({"runs": [Path("absent")]}, "absent is not a run, and contains none; check the path"),
        ({"receptor": None, "targets": Path("absent.yaml")}, "--box needs --receptor"),
        ({"receptor": None, "box": None, "targets": Path("absent.yaml")}, "cannot read absent.yaml"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_docked(
    order: Order, change: Mapping[str, Any], wrong: str
) -> None:
    with pytest.raises(InputError, match=wrong):
        dock_all(order._replace(**change), Idle())


def test_a_missing_extra_is_reported_in_one_line(run: Run, tmp_path: Path) -> None:
    hide = "import sys; sys.modules['vina'] = None\nfrom evodiverse.commands.dock import main\nsys.exit(main())"
    receptor = str(write_receptor(tmp_path))
    words = [str(run.path), "--receptor", receptor, "--box", BOX]
    done = subprocess.run([sys.executable, "-c", hide, *words], env=FROM_ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("evodiverse: docking needs ")
    assert line.endswith("; run pip install 'evodiverse[docking]'")


def test_the_command_accepts_a_box_that_starts_with_a_minus(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Order] = []
    monkeypatch.setattr("evodiverse.commands.dock_runs.dock_all", lambda order: asked.append(order) or 0)
    monkeypatch.setattr("evodiverse.runner.process.prepare", lambda: None)
    monkeypatch.setattr(sys, "argv", ["dock", "runs", "--receptor", "a.pdbqt", "--box", BOX, "--jobs", "2"])
    assert command.main() == 0
    monkeypatch.setattr(sys, "argv", ["dock", "-1", "--receptor", "a.pdbqt", "--box", "-box.txt"])
    assert command.main() == 0
    assert asked == [
        Order([Path("runs")], "a.pdbqt", BOX, None, 8, 2, False),
        Order([Path("-1")], "a.pdbqt", "-box.txt", None),
    ]
