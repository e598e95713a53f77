"""``evodiverse-doctor`` reports what a machine can do, and what to do about the rest."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evodiverse.commands.doctor import (
    KEYS,
    LIMITED,
    OK,
    OPTIONAL,
    PROBLEM,
    check_data,
    check_extras,
    check_keys,
    check_sandbox,
)
from evodiverse.data.artifacts import ARTIFACTS
from evodiverse.sandbox import confinement
from tests.runs import FROM_ROOT

DOCTOR = "from evodiverse.commands.doctor import main; import sys; sys.exit(main())"
SHOWN_NOWHERE = "sk-of-a-test-and-never-shown"


def doctor(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", DOCTOR]
    return subprocess.run(words, cwd=folder, env=os.environ | FROM_ROOT | environment, capture_output=True, text=True)


def test_a_machine_that_runs_the_tests_can_run_searches(tmp_path: Path) -> None:
    """Every section is printed, keys are reported wherever they are set but never shown, and the terminal is safe."""
    (tmp_path / ".env").write_text(f"OPENROUTER_API_KEY={SHOWN_NOWHERE}-1\n")
    environment = {
        "DEEPSEEK_API_KEY": f"{SHOWN_NOWHERE}-2",
        "OTHER_API_KEY": f"{SHOWN_NOWHERE}-3",
        "OPENAI_API_KEY": " ",
        "\x1b[31m_API_KEY": "x" * 20,
    }
    printed = doctor(tmp_path, **environment)
    assert (printed.returncode, printed.stderr) == (0, "")
    for title in ("Sandbox of programs", "Data", "Keys of language models", "Extras"):
        assert f"\n{title}" in printed.stdout
    assert printed.stdout.rstrip().endswith("This machine is ready to run searches.")
    assert all(line.isprintable() for line in printed.stdout.splitlines())
    lines = {line.split()[1]: line for line in printed.stdout.splitlines() if "_API_KEY  " in line}
    assert SHOWN_NOWHERE not in printed.stdout
    assert "set in .env, for llm=deepseek_v32" in lines["OPENROUTER_API_KEY"]
    assert "set in the environment, for llm=deepseek" in lines["DEEPSEEK_API_KEY"]
    assert lines["OTHER_API_KEY"].startswith("ok")
    assert lines["OPENAI_API_KEY"].startswith("optional")


def test_a_missing_key_is_reported_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    findings = {finding.name: finding for finding in check_keys()}
    assert findings["DEEPSEEK_API_KEY"].status is OPTIONAL
    assert findings["DEEPSEEK_API_KEY"].remedy == "export DEEPSEEK_API_KEY=… or write it into .env"


def test_a_damaged_artifact_is_a_problem_but_a_missing_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path))
    monkeypatch.setenv("EVODIVERSE_OFFLINE", "0")
    (tmp_path / ARTIFACTS["jnk3"].file_name).write_bytes(b"not a forest")
    findings = {finding.name: finding for finding in check_data()}
    assert findings["jnk3"].status is PROBLEM
    assert "damaged" in findings["jnk3"].text
    assert "evodiverse-data fetch jnk3" in findings["jnk3"].remedy
    assert findings["gsk3b"].status is OPTIONAL
    assert findings["gsk3b"].remedy == "run `evodiverse-data fetch gsk3b`"


def test_data_that_can_no_longer_be_downloaded_is_a_problem(tmp_path: Path) -> None:
    printed = doctor(tmp_path, EVODIVERSE_CACHE=str(tmp_path / "cache"), EVODIVERSE_OFFLINE="1")
    assert printed.returncode == 1
    (line,) = [line for line in printed.stdout.splitlines() if line.split()[1:2] == ["zinc250k"]]
    assert line.startswith("problem")
    assert "to fix before runs can work here" in printed.stdout


def test_an_impossible_cache_folder_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "file" / "cache"))
    cache = next(check_data())
    assert (cache.name, cache.status) == ("cache", PROBLEM)
    assert "EVODIVERSE_CACHE" in cache.remedy


def test_the_sandbox_is_tested_with_a_real_program(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = {finding.name: finding for finding in check_sandbox()}
    expected = LIMITED if confinement.find_gaps() else OK
    assert findings["kernel"].status is expected
    assert findings["trial"].status is expected
    open_probe = "def main(secret):\n    return ['read your files']\n"
    monkeypatch.setattr("evodiverse.commands.doctor._PROBE", open_probe)
    trial = {finding.name: finding for finding in check_sandbox()}["trial"]
    assert trial.status is not OK
    assert trial.text == "a program could read your files"


def test_every_extra_for_users_is_listed() -> None:
    extras = importlib.metadata.metadata("evodiverse").get_all("Provides-Extra")
    findings = {finding.name: finding.status for finding in check_extras()}
    assert set(findings) == set(extras or ()) - {"dev", "site"}
    assert findings["optuna"] is OK


def test_an_extra_that_is_missing_or_too_old_is_reported_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requirements = ['nothing-of-this-name>=1; extra == "ray"', 'numpy>=9999; extra == "ray"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: requirements)
    ray = {finding.name: finding for finding in check_extras()}["ray"]
    assert ray.status is OPTIONAL
    assert "nothing-of-this-name is not installed" in ray.text
    assert "expected >=9999" in ray.text
    assert ray.remedy == "pip install 'evodiverse[ray]'"
