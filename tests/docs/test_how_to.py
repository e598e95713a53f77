"""The examples of the guides work exactly as written."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import starts
from tests.docs.pages import find_unsaid, read_page, save
from tests.runs import FROM_ROOT, rows

PAGES = ["domain.md", "method.md", "models.md", "molecules.md", "objectives.md", "running.md"]
ENV = {**FROM_ROOT, "EVODIVERSE_OFFLINE": "1"} | {
    f"{provider}_API_KEY": "sk-none" for provider in ("ANTHROPIC", "DEEPSEEK", "OPENAI", "OPENROUTER")
}
MODULES = {
    "evodiverse": "evodiverse",
    "evodiverse-data": "evodiverse.data.cli",
    "evodiverse-new": "evodiverse.commands.new",
}
FEW = ["budget.oracle_calls=20", "evaluator.workers=1"]
SMALL = {"molecules": [*FEW, "task.initial.size=5"], "others": FEW}


def read_commands(text: str) -> list[list[str]]:
    """Return the commands of a block; a line that ends in a backslash continues on the next."""
    return [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def fewer_runs(words: list[str]) -> list[str]:
    """Return what makes a sweep one of a seed, and that of an experiment, all of which others compose, of a method."""
    experiment = any(word.startswith("+experiment=") for word in words)
    return [*(["seed=0"] if "-m" in words else []), *(["method=pt"] if experiment else [])]


def shorter_screening(settings: Mapping[str, str]) -> list[str]:
    """Return what makes the inner search of a method short that has one."""
    few = ["method.screen.generations=2", "method.screen.shortlist=50"]
    return few if settings.get("method") in {"diverse", "gp_bo"} else []


def shrink(words: list[str]) -> list[str]:
    """Return a command that is done soon: a small run, or none where a model or a cluster would work."""
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    if "launcher" in settings:  # a cluster that is not here
        words = [word for word in words if not re.match(r"(hydra\.)?launcher", word)]
    if "-m" in words or settings.get("llm", "off") != "off" or settings.get("evaluator") == "ray":
        return [*words, *(["dry_run=true"] if "dry_run=true" not in words else []), *fewer_runs(words)]
    if settings.get("evaluator") == "ask":
        return words
    size = SMALL["others" if settings.get("task") in {"program", "mytask"} else "molecules"]
    return [*(word for word in words if not word.startswith("budget")), *size, *shorter_screening(settings)]


@pytest.mark.slow
@pytest.mark.timeout(400)  # the first run with some filters reads the whole library
@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_work(name: str, tmp_path: Path) -> None:
    folder, printed = tmp_path, ""
    checked: list[tuple[Path, list[str]]] = []
    for block in read_page(name):
        if block.is_file:
            save(block, tmp_path)
        elif block.language == "text":
            assert find_unsaid(block.text, printed) == []
        elif block.is_command:
            for words in read_commands(block.text):
                if words[0] in {"cd", "export"}:
                    folder = tmp_path / words[1] if words[0] == "cd" else folder
                    continue
                module = MODULES[words[0]]
                arguments = shrink(words[1:]) if words[0] == "evodiverse" else words[1:]
                # A dry run fetches nothing, but offline it refuses a run whose files are not there yet.
                env = ENV | {"EVODIVERSE_OFFLINE": "0"} if "dry_run=true" in arguments else ENV
                if (folder, arguments) in checked:  # with what `shrink` took away: a launcher, or more workers
                    continue
                if "dry_run=true" in arguments:
                    checked.append((folder, arguments))
                begun = ("-m", module) if module == "evodiverse" else starts.main_of(module)
                done = starts.run(*begun, *arguments, cwd=folder, env=env)
                assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"
                printed = done.stdout
        folder = folder if block.is_command else tmp_path


@pytest.mark.slow
def test_the_domain_of_the_page_logs_its_own_column(tmp_path: Path) -> None:
    for block in read_page("domain.md"):
        if block.is_file:
            save(block, tmp_path)
    options = ["--config-dir", "myconf", "task=mytask", "task.length=9", "budget.oracle_calls=60"]
    done = starts.run("-m", "evodiverse", *options, "evaluator.workers=1", cwd=tmp_path, env=FROM_ROOT)
    assert done.returncode == 0, done.stderr
    (record,) = tmp_path.rglob("run.json")
    vowels = [row["n_vowels"] for row in rows(record.parent, "evaluations") if row["call"]]
    assert len(vowels) == 60
    assert any(vowels)


@pytest.mark.slow
def test_what_a_laboratory_is_asked_can_be_told(tmp_path: Path) -> None:
    for block in read_page("running.md"):
        if block.is_file:
            save(block, tmp_path)
        if block.is_command and "evaluator=ask" in block.text:
            (words,) = read_commands(block.text)
            starts.run("-m", *words, cwd=tmp_path, env=ENV)
    keys = [line.split(",")[0] for line in (tmp_path / "outputs/lab/asked.csv").read_text().splitlines()[1:]]
    (tmp_path / "scores.csv").write_text("\n".join(["key,score", *(f"{key},0.5" for key in keys)]))
    told = starts.run(*starts.main_of("evodiverse.commands.tell"), "outputs/lab", "scores.csv", cwd=tmp_path, env=ENV)
    assert told.returncode == 0, told.stderr
    assert re.match(r"received 14 of 14 scores\nwaiting for the scores of 1[0-6] candidates", told.stdout)
