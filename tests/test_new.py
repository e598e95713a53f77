"""The files that `evodiverse-new` writes are a task that works out of the box; existing files are not overwritten."""

import json
import math
import os
import re
import runpy
import shlex
import subprocess
from itertools import permutations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.user_evaluator import UserEvaluator
from evodiverse.vocabulary import Rejection
from tests import starts
from tests.runs import FROM_ROOT, ROOT, evodiverse, rows

TEMPLATE = ROOT / "evodiverse" / "commands" / "templates" / "program"
NAMES = ["README.md", "evaluator.py", "start.py"]


def new(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return starts.run(*starts.main_of("evodiverse.commands.new"), *arguments, cwd=cwd, env=FROM_ROOT)


def cost_of_trip(cities: list[list[float]], trip: list[int]) -> float:
    return math.fsum(
        math.hypot(*(p - q for p, q in zip(cities[trip[k - 1]], cities[trip[k]], strict=True)))
        for k in range(len(trip))
    )


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return runpy.run_path(str(TEMPLATE / "evaluator.py"))


@pytest.mark.slow
def test_the_files_are_written_and_the_suggested_command_runs_a_search(
    tmp_path: Path, template: dict[str, Any]
) -> None:
    done = new("program", "my new/task", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "my new" / "task"
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    *written, next_one = done.stdout.splitlines()
    assert written == [f"wrote my new/task/{name}" for name in NAMES]
    words = shlex.split(next_one)
    assert words[:5] == ["next:", "cd", "my new/task", "&&", "evodiverse"]

    ran = evodiverse(*words[5:], "budget.oracle_calls=30", "evaluator.workers=1", cwd=folder, env=FROM_ROOT)
    assert ran.returncode == 0, ran.stderr
    (record,) = folder.rglob("run.json")
    evaluated = [row for row in rows(record.parent, "evaluations") if row["call"] is not None]
    start, best = evaluated[0], max(evaluated, key=lambda row: row["score"])
    assert len(evaluated) == 30
    assert best["score"] > start["score"] > 0
    assert (best["stage"], best["feedback"].count("\n")) == ("full", len(template["MAPS"]) - 1)
    lengths = [cost_of_trip(*pair) for pair in zip(template["MAPS"], json.loads(best["trips"]), strict=True)]
    assert best["length"] == pytest.approx(math.fsum(lengths))
    assert (record.parent / "best" / "best_program.py").read_text() == best["genotype"]
    picture = ET.fromstring((record.parent / "best" / "picture.svg").read_text())  # noqa: S314 (our own)
    assert len(picture.findall("{*}polygon")) == len(template["MAPS"])
    assert picture.findtext("{*}text") == f"length {best['length']:.3f}"


@pytest.mark.slow
def test_the_commands_in_the_readme_are_valid(tmp_path: Path) -> None:
    new("program", ".", cwd=tmp_path)
    shown = re.findall(r"^evodiverse (.*)$", (tmp_path / "README.md").read_text(), re.MULTILINE)
    assert len(shown) == 3
    for command in shown:
        done = evodiverse(
            *shlex.split(command), "dry_run=true", cwd=tmp_path, env={**FROM_ROOT, "DEEPSEEK_API_KEY": "sk-none"}
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_if_one_of_the_files_exists(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    done = new("program", str(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"evodiverse: {tmp_path} already has {name}; nothing was written, name another folder\n")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_nothing_is_written_through_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "start.py").symlink_to(tmp_path / "elsewhere")
    assert new("program", str(tmp_path), cwd=tmp_path).returncode == 2
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_an_impossible_folder_is_reported_in_one_line(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    done = new("program", folder, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"evodiverse: cannot write to {folder} (")
    assert done.stderr.count("\n") == 1


def test_help_has_an_example_and_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    told = new("--help", cwd=tmp_path)
    assert told.returncode == 0
    assert "evodiverse-new program mytask" in told.stdout
    assert new("novel", "x", cwd=tmp_path).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_the_bound_of_the_template_is_below_the_best_of_all_trips(template: dict[str, Any]) -> None:
    for cities in template["MAPS"]:
        few = cities[:7]
        best = min(cost_of_trip(few, [0, *rest]) for rest in permutations(range(1, 7)))
        assert 0.5 * best < template["bound"](few) <= best


@pytest.mark.parametrize(
    "spoil",
    [
        lambda trips: trips[1:],
        lambda trips: [trips[0][1:], *trips[1:]],
        lambda trips: [[0, *trips[0][:-1]], *trips[1:]],
        lambda trips: [[True if number == 1 else number for number in trips[0]], *trips[1:]],
        lambda trips: [[float(number) for number in trips[0]], *trips[1:]],
        lambda trips: ["cheat", *trips[1:]],
        lambda trips: None,
    ],
)
def test_the_template_refuses_trips_that_cheat(spoil: Any, template: dict[str, Any]) -> None:
    evaluator = UserEvaluator(ProgramSettings(evaluator=str(TEMPLATE / "evaluator.py"), score_timeout=None))
    trips = [list(range(len(cities))) for cities in template["MAPS"]]
    quick, full = evaluator.stages
    assert not isinstance(full.score(trips), Rejection)
    assert not isinstance(quick.score(trips[:1]), Rejection)
    rejection = full.score(spoil(trips))
    assert isinstance(rejection, Rejection)
    assert rejection.detail.startswith(("there must be a trip", "a trip must visit"))


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder of OpenEvolve, with files that are not copied."""
    folder = tmp_path / "their examples"
    for path in ("data", "__pycache__", "openevolve_output", ".git"):
        (folder / path).mkdir(parents=True)
        (folder / path / "file").write_text(path)
    (folder / "evaluator.py").write_text("def evaluate(program_path):\n    return {}\n")
    (folder / "initial_program.py").write_text("def run():\n    return 1\n")
    (folder / "config.yaml").write_text("evaluator:\n  timeout: 60\n")
    (folder / ".env").write_text("KEY=secret")
    (folder / "link").symlink_to("/etc")
    return folder


def test_a_folder_of_openevolve_is_copied_without_hidden_files_links_and_output(theirs: Path, tmp_path: Path) -> None:
    done = new("program", "my task", "--from-openevolve", str(theirs), "--trust", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    settings = "task=program task.evaluator=task/evaluator.py task.timeout=60 task.trust=true"
    assert done.stdout.splitlines() == [
        "wrote my task/task",
        "wrote my task/README.md",
        f"next: cd 'my task' && evodiverse {settings} budget.oracle_calls=300",
    ]
    copied = tmp_path / "my task" / "task"
    files = {str(path.relative_to(copied)) for path in copied.rglob("*") if not path.is_dir()}
    assert files == {"config.yaml", "data/file", "evaluator.py", "initial_program.py"}
    readme = (tmp_path / "my task" / "README.md").read_text()
    assert "all programs that are tried run outside of the sandbox" in readme
    assert re.findall(r"^evodiverse (.*)$", readme, re.MULTILINE) == [
        f"{settings} budget.oracle_calls=300",
        f"{settings} llm=deepseek budget.usd=0.5",
    ]


def test_what_is_no_folder_of_openevolve_is_refused(theirs: Path, tmp_path: Path) -> None:
    def refuse(folder: str, source: Path) -> str:
        done = new("program", folder, "--from-openevolve", str(source), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert not (tmp_path / folder / "README.md").exists()
        return done.stderr

    assert "evaluator.py does not exist or defines no evaluate(program_path)" in refuse("new", tmp_path)
    assert "which is copied there; name a folder elsewhere" in refuse("their examples/new", theirs)
    (tmp_path / "new" / "task").mkdir(parents=True)
    assert "already has task; nothing was written" in refuse("new", theirs)
    (theirs / "initial_program.py").unlink()
    assert "has no initial_program.py, the program that the search starts from" in refuse("other", theirs)


def test_a_folder_with_many_files_that_cannot_be_copied_is_refused_in_a_short_line(
    theirs: Path, tmp_path: Path
) -> None:
    for number in range(50):
        os.mkfifo(theirs / f"pipe-{number}")
    done = new("program", "new", "--from-openevolve", str(theirs), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a named pipe" in done.stderr
    assert len(done.stderr) < 1_000


def test_trust_without_a_folder_of_openevolve_is_refused(tmp_path: Path) -> None:
    done = new("program", "new", "--trust", cwd=tmp_path)
    assert done.returncode == 2
    assert "--trust needs --from-openevolve" in done.stderr
