"""Workflows, templates, changelog and citation agree with each other and with what they call."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

import evodiverse
from tests.runs import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_what_exists(path: Path) -> None:
    commands = "\n".join(step.get("run", "") for job in jobs(path).values() for step in job["steps"])
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", commands)) <= targets
    scripts = re.findall(r"clean/bin/(evodiverse[a-z-]*)", commands)
    declared = re.findall(r"^(evodiverse[a-z-]*) = ", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert set(scripts) <= set(declared)
    assert ".ci/run" in commands or "make test-slow" in commands
    assert (ROOT / ".ci" / "run").is_file()


def test_ci_checks_style_and_types_and_runs_all_tests_of_which_some_only_each_week() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "exec make check"
    assert re.search(r"^check: .*\n\t@\$\(MAKE\) .* lint site test-both$", makefile, re.MULTILINE)
    chosen = re.search(r"^test-both: .*\n\t\$\(PYTEST\) .* -m '(.*)'$", makefile, re.MULTILINE)
    assert chosen is not None
    assert chosen[1] == "not torch and not leak and not slurm and not weekly"
    weekly = (GITHUB / "workflows" / "weekly.yml").read_text()
    assert re.findall(r"make (test-[a-z]+)", weekly) == ["test-slow", "test-torch", "test-leak"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_actions_limit_rights_and_end(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}
    for job in jobs(path).values():
        assert job["timeout-minutes"] <= 120
        assert set(job.get("needs", []) if isinstance(job.get("needs", []), list) else [job["needs"]]) <= set(
            jobs(path)
        )
        for step in job["steps"]:
            assert re.search(r"@(v\d|release/v\d|[0-9a-f]{40})", step.get("uses", "none@v0"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_issue_forms_have_what_github_asks_for(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= set(form)
    inputs = [part for part in form["body"] if part["type"] != "markdown"]
    assert all(part["attributes"]["label"] for part in inputs)
    names = [part["id"] for part in inputs]
    assert len(set(names)) == len(names) > 0
    assert any(part.get("validations", {}).get("required") for part in inputs)


def test_the_version_is_one_and_the_changelog_has_it_first() -> None:
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.MULTILINE)
    assert versions[0][0] == evodiverse.__version__
    assert all(date.fromisoformat(day) for _, day in versions)
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == evodiverse.__version__


def test_the_changelog_keeps_to_its_format() -> None:
    assert re.search(r"^## \[Unreleased\]$", CHANGELOG, re.MULTILINE)
    for section in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        headings = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert headings == [kind for kind in KINDS if kind in headings]
        assert len(set(headings)) == len(headings)
    named = set(re.findall(r"\]\((docs/[\w./-]+)", CHANGELOG))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
