"""Evaluation by a program gives the log of one local worker, despite dying programs, killed runs and timeouts."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from evodiverse.runner.evaluators import EvaluatorSettings
from evodiverse.runner.evaluators.command import CommandEvaluator
from evodiverse.store.files import Journal
from evodiverse.vocabulary import Hypothesis
from tests.runs import FROM_ROOT, ROOT, TOY_CONF, evodiverse, log
from tests.toys.bits.task import BitTask

SCRIPT = ROOT / "tests" / "toys" / "score_bits.py"
TOY = ["--config-dir", str(TOY_CONF), "task=bits", "evaluator.workers=2", "budget.oracle_calls=120", "name=run"]
NOT_THE_SCORE = {"error"}  # each evaluator words its failures differently


def command(folder: Path, *words: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    return ["evaluator=command", f"evaluator.command=[{','.join([sys.executable, str(SCRIPT), str(folder), *words])}]"]


def log_without_errors(run: Path) -> dict[str, list[dict[str, object]]]:
    """Return the log without the messages of failures."""
    found = log(run)
    return {name: [{k: v for k, v in row.items() if k not in NOT_THE_SCORE} for row in found[name]] for name in found}


def starts(folder: Path) -> int:
    return len(list(folder.glob("start-*")))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("local")
    assert evodiverse(*TOY, "evaluator.workers=1", cwd=folder, env=FROM_ROOT).returncode == 0
    return folder / "outputs" / "run"


@pytest.mark.slow
def test_a_program_gives_the_log_of_a_local_worker(local: Path, tmp_path: Path) -> None:
    done = evodiverse(*TOY, *command(tmp_path / "marks"), cwd=tmp_path, env=FROM_ROOT)
    assert done.returncode == 0, done.stderr
    assert log_without_errors(tmp_path / "outputs/run") == log_without_errors(local)
    assert list((tmp_path / "outputs/run/jobs").iterdir()) == []


@pytest.mark.slow
def test_each_process_gets_a_batch_of_the_chosen_size(local: Path, tmp_path: Path) -> None:
    evodiverse(*TOY, *command(tmp_path / "marks"), "evaluator.batch=1", cwd=tmp_path, env=FROM_ROOT)
    assert log_without_errors(tmp_path / "outputs/run") == log_without_errors(local)
    assert starts(tmp_path / "marks") == 120


@pytest.mark.slow
@pytest.mark.timeout(300)  # it waits long, and so begins early
@pytest.mark.parametrize(("fault", "timeout"), [("dies", "null"), ("hangs", "2"), ("noise", "null")])
def test_a_program_that_dies_hangs_or_prints_noise_costs_a_retry(
    local: Path, tmp_path: Path, fault: str, timeout: str
) -> None:
    words = [*command(tmp_path / "marks", "0", fault), f"evaluator.timeout={timeout}"]
    done = evodiverse(*TOY, *words, cwd=tmp_path, env=FROM_ROOT)
    assert done.returncode == 0, done.stderr
    assert log_without_errors(tmp_path / "outputs/run") == log_without_errors(local)
    why = {"dies": "exit code 1: out of licenses", "hangs": "no answer after 2 s"}.get(fault)
    assert why is None or f" got no answer from the program ({why}); " in done.stderr


@pytest.mark.slow
def test_the_evaluator_works_without_ps(tmp_path: Path) -> None:
    env = {**FROM_ROOT, "PATH": str(tmp_path)}
    done = evodiverse(*TOY, *command(tmp_path / "marks"), "budget.oracle_calls=30", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_candidate_that_always_times_out_is_a_failed_evaluation(tmp_path: Path) -> None:
    words = [*command(tmp_path / "marks", "0", "hopeless"), "evaluator.timeout=1", "evaluator.retries=1"]
    done = evodiverse(*TOY, *words, "budget.oracle_calls=30", cwd=tmp_path, env=FROM_ROOT)
    assert done.returncode == 0, done.stderr
    rows = [row for row in log(tmp_path / "outputs/run")["evaluations"] if row["call"] is not None]
    failed = [row for row in rows if str(row["key"]).count("1") == 7]
    assert failed
    assert {row["error"] for row in failed} == {"timed_out: no answer after 1 s"}
    assert all(row["score"] is None for row in failed)


@pytest.mark.slow
def test_an_impossible_score_ends_the_run_and_a_fixed_program_resumes_it(local: Path, tmp_path: Path) -> None:
    words = [*TOY, *command(tmp_path / "marks", "0", "exceeds")]
    failed = evodiverse(*words, cwd=tmp_path, env=FROM_ROOT)
    assert failed.returncode == 2
    assert "was scored 1.7; a score must lie in [0, 1]" in failed.stderr
    again = evodiverse(*words, cwd=tmp_path, env=FROM_ROOT)
    assert again.returncode == 0, again.stderr
    assert log_without_errors(tmp_path / "outputs/run") == log_without_errors(local)


@pytest.mark.slow
def test_a_program_that_never_answers_ends_the_run_with_its_last_error_message(tmp_path: Path) -> None:
    done = evodiverse(*TOY, *command(tmp_path / "marks", "0", "always dies"), cwd=tmp_path, env=FROM_ROOT)
    assert done.returncode == 1
    expected = "evodiverse: the evaluator has never answered (exit code 1: no receptor); fix it and run the same "
    assert done.stderr.splitlines()[-1].startswith(expected)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["evaluator=command"], "evaluator.command has no value; name the program that scores"),
        (
            ["evaluator=command", "evaluator.command=[no-such-program]"],
            "no-such-program cannot be started (No such file",
        ),
        (["evaluator.command=[x]"], "evaluator.command needs evaluator=command, got evaluator=local"),
        (["evaluator.timeout=5"], "evaluator.timeout needs evaluator=command or evaluator=ray, got evaluator=local"),
    ],
)
def test_an_invalid_command_is_refused(tmp_path: Path, words: list[str], expected: str) -> None:
    refused = evodiverse(*TOY, *words, cwd=tmp_path, env=FROM_ROOT)
    assert refused.returncode == 2
    assert expected in refused.stderr


def test_a_second_score_of_a_candidate_does_not_count_and_causes_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [{"key": "01", "score": 0.5}, {"key": "01", "score": 0.5}, {"key": "01", "score": 1}]
    lines.append({"key": "11", "score": 0.25})
    said = "\n".join(map(json.dumps, lines))
    settings = EvaluatorSettings("command", workers=1, command=[sys.executable, "-c", f"print({said!r})"])
    (tmp_path / "jobs").mkdir()
    evaluator = CommandEvaluator(
        BitTask(2, 1), settings, tmp_path / "jobs", Journal(tmp_path / "journal"), lambda: False
    )
    answers = evaluator.evaluate([Hypothesis("01", "01"), Hypothesis("11", "11")])
    assert [evaluation.score for evaluation, _ in answers] == [0.5, 0.25]
    assert caplog.messages == ["the program scored 01 as 0.5 and later as 1; the first counts"]


def wait_for(seen: Path, n: int) -> None:
    until = time.monotonic() + 30
    while len(list(seen.glob("seen-*"))) < n:
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_evaluations_outlive_the_run_and_are_collected_when_it_starts_again(
    local: Path, tmp_path: Path, signum: signal.Signals
) -> None:
    marks = tmp_path / "marks"
    words = [*TOY, *command(marks, "0.1")]
    process = subprocess.Popen(
        [sys.executable, "-m", "evodiverse", *words],
        cwd=tmp_path,
        env=FROM_ROOT,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for(marks, 3)
    os.kill(process.pid, signum)
    process.communicate(timeout=30)
    n_starts = starts(marks)
    wait_for(marks, 16)  # all initial candidates, without a run
    time.sleep(0.3)
    again = evodiverse(
        *TOY, *command(marks, "0"), "evaluator.command=" + words[-1].partition("=")[2], cwd=tmp_path, env=FROM_ROOT
    )
    assert again.returncode == 0, again.stderr
    assert f"found {n_starts} evaluator job" in again.stderr
    assert log_without_errors(tmp_path / "outputs/run") == log_without_errors(local)
    counted: Iterable[str] = (path.name for path in marks.glob("seen-*"))
    assert len(set(counted)) == 120
    assert json.loads((tmp_path / "outputs/run/run.json").read_text())["status"] == "complete"
