"""The wheel as a user installs it, without the checkout."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import starts
from tests.runs import CONF, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
KEYS = {f"{provider}_API_KEY": "sk-none" for provider in ("ANTHROPIC", "DEEPSEEK", "OPENAI", "OPENROUTER")}
OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
OFFLINE = OUTSIDE | KEYS | {"EVODIVERSE_OFFLINE": "1"}
FEW_MOLECULES = ["task.initial.size=5", "budget.oracle_calls=30"]
FEW_HYPOTHESES = ["budget.oracle_calls=6"]
OTHER_THAN_MOLECULES = {"equation", "circle_packing", "bin_packing", "heilbronn", "distances"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command in a clean environment with the wheel, which also sees the packages installed here."""
    environment = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "beside.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = [sys.executable, "-m", "pip", f"--python={environment}/bin/python", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--ignore-installed", str(wheel)], check=True)
    return environment / "bin" / "evodiverse"


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
    subprocess.run([str(installed), "budget=smoke"], cwd=tmp_path, env=OUTSIDE, capture_output=True, check=True)
    (record,) = tmp_path.rglob("run.json")
    assert json.loads(record.read_text())["totals"]["oracle_calls"] == 500
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


PAGES = ("README.md", "docs/quickstart.md", "docs/data.md", "docs/results.md")


def read_commands() -> Iterator[list[str]]:
    """Yield the commands of README and of its pages, except ``make`` and ``pip install .``, which need a checkout."""
    for page in PAGES:
        for block in re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(r"evodiverse[a-z-]* ", line):
                    yield shlex.split(line, comments=True)


def shrink(command: list[str]) -> list[str]:
    """Return a quick version of a command: one small run, or a dry run for a sweep or with a model."""
    settings = dict(argument.split("=", 1) for argument in command if "=" in argument)
    if command[0] != "evodiverse" or {"--help", "--cfg"} & set(command):
        return command
    if "-m" in command or settings.get("llm", "off") != "off":
        elsewhere = [] if "outputs" in settings else ["outputs=dry"]  # the small runs have other settings
        return [*command, "dry_run=true", *elsewhere]
    return [*command, *(FEW_HYPOTHESES if settings.get("task") in OTHER_THAN_MOLECULES else FEW_MOLECULES)]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """Return a folder that is empty except for the user's own files that the pages mention."""
    (tmp_path / "my_oracle.py").write_text("def drug_likeness(batch):\n    return [0.5 for smiles in batch]\n")
    (tmp_path / "mine.csv").write_text("\n".join(["x,y", *(f"{x},{x * x}" for x in range(9))]))
    return tmp_path


def test_the_commands_in_the_readme_work_from_the_wheel_in_an_empty_folder_offline(
    installed: Path, empty: Path
) -> None:
    python = str(installed.with_name("python"))
    failed, n_run = {}, 0
    for command in read_commands():
        script, *arguments = shrink(command)
        done = starts.run(str(installed.with_name(script)), *arguments, cwd=empty, env=OFFLINE, python=python)
        n_run += 1
        if done.returncode != 0:
            failed[shlex.join(command)] = done.stderr
        small = empty / "outputs/jnk3/pt/off/budget.oracle_calls=30,task.initial.size=5"
        if small.exists() and not small.with_name("default").exists():
            small.rename(small.with_name("default"))  # its name without the settings that make it small
    assert failed == {}
    assert n_run >= 20
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "runs.md").read_text(), re.DOTALL)
    (empty / "blocks.py").write_text("".join(blocks))
    read = starts.run("blocks.py", cwd=empty, env=OFFLINE, python=python)
    assert (read.returncode, "evaluated" in read.stdout) == (0, True), read.stderr
