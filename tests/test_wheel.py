"""The wheel as a user installs it, without the checkout."""

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.docs.pages import follow, read_page
from tests.runs import CONF, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
CLAIMED_FILES = {
    "molecules.md": ["best/top10.png", "best/top.csv", "report.html", "index.html"],
    "equations.md": [f"best/{name}" for name in ("hall_of_fame.csv", "chosen.txt", "equation.py", "fit.png")],
    "programs.md": ["best/best_program.py", "best/picture.svg", "best/history"],
}
OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_the_wheel_contains_the_configuration(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {f"evodiverse/conf/{path.relative_to(CONF)}" for path in CONF.rglob("*.yaml")} <= packed


def test_the_wheel_contains_every_file_of_the_package(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (ROOT / "evodiverse").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {str(path.relative_to(ROOT)) for path in files} <= packed


def test_type_checkers_use_the_type_hints_of_the_wheel(wheel: Path) -> None:
    assert "evodiverse/py.typed" in zipfile.ZipFile(wheel).namelist()


def test_the_installed_wheel_is_not_the_checkout(installed: Path, tmp_path: Path) -> None:
    where = [str(installed.with_name("python")), "-c", "import evodiverse; print(evodiverse.__file__)"]
    printed = subprocess.run(where, cwd=tmp_path, env=OUTSIDE, capture_output=True, text=True, check=True).stdout
    assert Path(printed.strip()).is_relative_to(installed.parents[1])


def test_the_installed_wheel_prints_help(installed: Path, tmp_path: Path) -> None:
    told = subprocess.run(
        [str(installed), "--help"], cwd=tmp_path, env=OUTSIDE, capture_output=True, text=True, check=True
    )
    assert "evodiverse task=jnk3 method=pt" in told.stdout


def test_the_installed_wheel_runs_from_any_folder(installed: Path, tmp_path: Path) -> None:
    subprocess.run(
        [str(installed), "task.initial.size=5", "budget.oracle_calls=20"],
        cwd=tmp_path,
        env=OUTSIDE,
        capture_output=True,
        check=True,
    )
    (record,) = tmp_path.rglob("run.json")
    assert json.loads(record.read_text())["totals"]["oracle_calls"] == 20
    assert (record.parent / "best" / "top10.png").exists()
    for command in ("evodiverse-show", "evodiverse-tables"):
        subprocess.run(
            [str(installed.with_name(command)), "outputs"], cwd=tmp_path, env=OUTSIDE, capture_output=True, check=True
        )
    assert (tmp_path / "outputs" / "tables" / "molecules.md").exists()


def test_the_installed_wheel_writes_a_task_of_programs(installed: Path, tmp_path: Path) -> None:
    command = [str(installed.with_name("evodiverse-new")), "program", "mine"]
    subprocess.run(command, cwd=tmp_path, env=OUTSIDE, capture_output=True, check=True)
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["README.md", "evaluator.py", "start.py"]


@pytest.mark.weekly
@pytest.mark.parametrize("name", list(CLAIMED_FILES))
def test_a_tutorial_can_be_followed_with_the_wheel(
    name: str, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    follow(read_page(f"tutorials/{name}"), tmp_path, tmp_path, installed.parents[1])
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert [claim for claim in CLAIMED_FILES[name] if not any(path.endswith(f"/{claim}") for path in made)] == []


@pytest.mark.weekly
def test_the_tutorial_on_feedback_can_be_followed_with_the_wheel(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))
    earlier = tmp_path / "knapsack"
    earlier.mkdir()
    follow(read_page("tutorials/programs.md", "Feedback for a model"), tmp_path, earlier, installed.parents[1])
