"""The commands of README, and of the pages that a new user reads first, work in an empty folder without network."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import starts
from tests.docs import test_how_to
from tests.runs import FROM_ROOT, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
KEYS = {f"{provider}_API_KEY": "sk-none" for provider in ("ANTHROPIC", "DEEPSEEK", "OPENAI", "OPENROUTER")}
OFFLINE = FROM_ROOT | KEYS | {"EVODIVERSE_OFFLINE": "1"}
FEW_MOLECULES = ["task.initial.size=5", "budget.oracle_calls=30", "evaluator.workers=1"]
FEW_HYPOTHESES = ["budget.oracle_calls=6", "evaluator.workers=1"]
OTHER_THAN_MOLECULES = {"equation", "circle_packing", "bin_packing", "heilbronn", "distances"}
PAGES = ("README.md", "docs/quickstart.md", "docs/data.md", "docs/results.md")


def read_commands(page: str) -> Iterator[list[str]]:
    """Yield the commands of a page, except ``make`` and ``pip install .``, which need a checkout."""
    for block in re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if re.match(r"evodiverse[a-z-]* ", line):
                yield shlex.split(line, comments=True)


def shrink(command: list[str]) -> list[str]:
    """Return a quick version of a command: one small run, or a dry run with a model or for a sweep of one seed."""
    settings = dict(argument.split("=", 1) for argument in command if "=" in argument)
    if command[0] != "evodiverse" or {"--help", "--cfg"} & set(command):
        return command
    if "-m" in command or settings.get("llm", "off") != "off":
        elsewhere = [] if "outputs" in settings else ["outputs=dry"]  # the small runs have other settings
        return [*command, "dry_run=true", *elsewhere, *test_how_to.fewer_runs(command)]
    few = FEW_HYPOTHESES if settings.get("task") in OTHER_THAN_MOLECULES else FEW_MOLECULES
    return [*command, *few, *test_how_to.shorter_screening(settings)]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """Return a folder that is empty except for the user's own files that the pages mention."""
    shutil.copytree(ROOT / "benchmarks" / "openevolve_tasks" / "minimization", tmp_path / "FOLDER")
    (tmp_path / "my_oracle.py").write_text("def drug_likeness(batch):\n    return [0.5 for smiles in batch]\n")
    (tmp_path / "mine.csv").write_text("\n".join(["x,y", *(f"{x},{x * x}" for x in range(9))]))
    return tmp_path


@pytest.fixture(params=["checkout", pytest.param("wheel", marks=pytest.mark.weekly)])
def python(request: pytest.FixtureRequest) -> Path:
    """Return Python, beside which the commands are: that of the tests, or one that has only the wheel."""
    if request.param == "checkout":
        return Path(sys.executable)
    installed: Path = request.getfixturevalue("installed")
    return installed.with_name("python")


def run(python: Path, script: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    if python == Path(sys.executable):
        return starts.run(str(script), *words, cwd=cwd, env=OFFLINE)
    env = {name: value for name, value in OFFLINE.items() if name != "PYTHONPATH"}
    return subprocess.run([python, script, *words], cwd=cwd, env=env, capture_output=True, text=True)


def test_the_commands_of_the_first_pages_work(python: Path, empty: Path) -> None:
    failed = {}
    followed = [command for page in test_how_to.PAGES for command in read_commands(f"docs/{page}")]
    read = [command for page in PAGES for command in read_commands(page) if command not in followed]
    commands = {shlex.join(command): command for command in read}
    for told, command in commands.items():
        script, *arguments = shrink(command)
        done = run(python, python.with_name(script), *arguments, cwd=empty)
        if done.returncode != 0:
            failed[told] = done.stderr
        small = empty / "outputs/jnk3/pt/off/budget.oracle_calls=30,task.initial.size=5"
        if small.exists() and not small.with_name("default").exists():
            small.rename(small.with_name("default"))  # its name without the settings that make it small
    assert failed == {}
    assert len(commands) >= 20
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "runs.md").read_text(), re.DOTALL)
    (empty / "blocks.py").write_text("".join(blocks))
    done = run(python, empty / "blocks.py", cwd=empty)
    assert (done.returncode, "evaluated" in done.stdout) == (0, True), done.stderr
