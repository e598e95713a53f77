"""A tracker receives the progress of a run; nothing that it does changes the run."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from evodiverse.errors import Asked, InputError, Interrupted
from evodiverse.ports import TrackedRun
from evodiverse.runner.tracking import followed
from tests.runs import FROM_ROOT, evodiverse, log, plan, run_toy, stop_after, write_at_once

SHORT = ("budget.oracle_calls=60",)


class Toy:
    """A tracker that remembers its calls and fails at the one named by ``fails_at``."""

    place = "memory"

    def __init__(self, fails_at: str = "") -> None:
        self._fails_at = fails_at
        self.begun: list[TrackedRun] = []
        self.numbers: list[tuple[int, Mapping[str, float]]] = []
        self.ends: list[tuple[str, list[str]]] = []

    def begin(self, run: TrackedRun) -> str:
        self.begun.append(run)
        self._fail("begin")
        return "run 7"

    def log(self, iteration: int, numbers: Mapping[str, float]) -> None:
        self.numbers.append((iteration, numbers))
        self._fail("log")

    def end(self, status: str, best: Path) -> None:
        self.ends.append((status, sorted(file.name for file in best.glob("*"))))
        self._fail("end")

    def _fail(self, where: str) -> None:
        if where == self._fails_at:
            raise ConnectionError("nobody\nanswers")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    return follow_with(monkeypatch, Toy())


def follow_with(monkeypatch: pytest.MonkeyPatch, toy: Toy) -> Toy:
    monkeypatch.setattr("evodiverse.settings.assembly.open_tracker", lambda *place: toy)
    return toy


def test_a_tracker_receives_the_settings_and_the_numbers_of_every_iteration(tmp_path: Path, toy: Toy) -> None:
    run = run_toy(tmp_path, *SHORT)
    (begun,) = toy.begun
    assert (begun.path, begun.name, begun.settings["task.name"]) == (run, None, "bits")
    assert [iteration for iteration, _ in toy.numbers] == list(range(len(toy.numbers)))
    last = toy.numbers[-1][1]
    evaluated = [row["score"] for row in log(run)["evaluations"] if row["score"] is not None]
    assert (last["oracle_calls"], last["best"]) == (60, max(evaluated))
    assert {"pool0.best", "pool1.median", "pool1.size", "xi", "rejected", "duplicate"} <= set(last)
    assert [status for status, _ in toy.ends] == ["complete"]


def test_a_tracked_run_has_the_log_of_an_untracked_one(tmp_path: Path, toy: Toy) -> None:
    followed = run_toy(tmp_path / "followed", *SHORT)
    assert toy.numbers
    followed_log = log(followed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evodiverse.settings.assembly.open_tracker", lambda *place: None)
        assert log(run_toy(tmp_path / "alone", *SHORT)) == followed_log


def test_a_resumed_run_continues_the_same_tracked_run(
    tmp_path: Path, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_at_once(monkeypatch)
    with pytest.raises(Interrupted):
        run_toy(tmp_path, *SHORT, display=stop_after(3))
    n_before = len(toy.numbers)
    run = run_toy(tmp_path, *SHORT)
    assert [begun.name for begun in toy.begun] == [None, "run 7"]
    assert [status for status, _ in toy.ends] == ["interrupted", "complete"]
    assert [iteration for iteration, _ in toy.numbers] == list(range(len(toy.numbers)))
    assert 0 < n_before < len(toy.numbers)
    assert json.loads((run / "tracking.json").read_text()) == {"memory": "run 7"}


def test_a_run_that_waits_for_scores_has_not_failed(tmp_path: Path, toy: Toy) -> None:
    with pytest.raises(Asked), followed(lambda: toy, tmp_path, {}):
        raise Asked(tmp_path / "asked.csv", 3)
    assert toy.ends == [("interrupted", [])]


def test_a_run_that_starts_over_is_another_tracked_run(tmp_path: Path, toy: Toy) -> None:
    for more in ((), ("overwrite=true",)):
        run_toy(tmp_path, *SHORT, *more)
    assert [begun.name for begun in toy.begun] == [None, None]


@pytest.mark.parametrize("where", ["begin", "log", "end"])
def test_a_tracker_that_fails_causes_one_warning_and_is_not_called_again(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing = follow_with(monkeypatch, Toy(fails_at=where))
    run = run_toy(tmp_path, *SHORT)
    warnings = [record.getMessage() for record in caplog.records if "tracking" in record.getMessage()]
    assert warnings == [
        (
            "tracking at memory failed (ConnectionError: nobody answers); the run continues without it, and its log is "
            "complete"
        )
    ]
    assert json.loads((run / "run.json").read_text())["status"] == "complete"
    assert len(failing.numbers) == {"begin": 0, "log": 1}.get(where, len(failing.numbers))
    assert len(failing.ends) == (where == "end")


def test_a_tracker_that_cannot_be_opened_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*place: object) -> Toy:
        raise OSError("no such server")

    monkeypatch.setattr("evodiverse.settings.assembly.open_tracker", refuse)
    run = run_toy(tmp_path, *SHORT)
    assert json.loads((run / "run.json").read_text())["status"] == "complete"
    assert "no such server" in caplog.text


@pytest.mark.parametrize("content", ["", "[]", '{"memory": 7}'])
def test_a_damaged_file_of_names_does_not_end_the_run(
    content: str, tmp_path: Path, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_at_once(monkeypatch)
    with pytest.raises(Interrupted):
        run_toy(tmp_path, *SHORT, display=stop_after(3))
    (names,) = tmp_path.rglob("tracking.json")
    names.write_text(content)
    run = run_toy(tmp_path, *SHORT)
    assert json.loads((run / "run.json").read_text())["status"] == "complete"
    assert "run 7" not in [begun.name for begun in toy.begun]


def test_tracking_is_not_part_of_the_identity_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.settings.plan.find_spec", lambda name: object())
    alone, followed = (plan("task=bits", f"tracking={name}") for name in ("none", "mlflow"))
    assert (followed.path, followed.settings, followed.overrides) == (alone.path, alone.settings, alone.overrides)


def test_a_tracker_that_is_not_installed_is_reported_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.settings.plan.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"tracking=mlflow needs mlflow; run pip install 'evodiverse\[mlflow\]'"):
        plan("task=bits", "tracking=mlflow")


# Prints what MLflow has stored, in a separate process, since MLflow prints warnings while it is loaded.
READ = """
import json, sys
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
experiment = client.get_experiment_by_name("evodiverse")
found = []
for run in client.search_runs([experiment.experiment_id]):
    steps = [metric.step for metric in client.get_metric_history(run.info.run_id, "best")]
    files = [file.path for file in client.list_artifacts(run.info.run_id, "best")]
    found.append([run.info.status, run.data.params, run.data.metrics, sorted(steps), files])
print(json.dumps(found))
"""
# Tracks a run of two iterations that is stopped after the first.
STOP_AND_RESUME = """
import sys
from pathlib import Path
from evodiverse.ports import TrackedRun
from evodiverse.runner.mlflow_tracker import MlflowTracker
settings, name = {"task.name": "bits", "method.name": "pt", "llm.name": "off", "seed": 0}, None
for iteration, status in enumerate(["interrupted", "complete"]):
    tracker = MlflowTracker(sys.argv[1], "evodiverse", Path("runs"))
    name = tracker.begin(TrackedRun(Path("runs/seed0"), settings, name))
    tracker.log(iteration, {"best": 0.5})
    tracker.end(status, Path("best"))
"""
WITH_MLFLOW = pytest.mark.skipif(
    not (importlib.util.find_spec("mlflow") and importlib.util.find_spec("sqlalchemy")),
    reason="needs evodiverse[mlflow]",
)
RUN = ("task=equation", "task.problem=builtin/oscillator1", "display=none", "tracking=mlflow", "outputs=runs")


def read_mlflow(uri: str, cwd: Path) -> list[tuple[str, dict[str, str], dict[str, float], list[int], list[str]]]:
    read = subprocess.run(
        [sys.executable, "-c", READ, uri], capture_output=True, text=True, check=True, cwd=cwd, env=FROM_ROOT
    )
    return [tuple(one) for one in json.loads(read.stdout)]


@pytest.mark.weekly
@pytest.mark.slow
@WITH_MLFLOW
@pytest.mark.timeout(300)
def test_a_run_appears_in_mlflow_with_its_parameters_numbers_and_best_candidates(tmp_path: Path) -> None:
    made = evodiverse(*RUN, "budget.oracle_calls=40", cwd=tmp_path, env=FROM_ROOT)
    assert (made.returncode, made.stderr) == (0, "")
    uri = f"sqlite:///{tmp_path / 'runs' / 'mlflow.db'}"
    ((status, params, metrics, steps, files),) = read_mlflow(uri, tmp_path)
    assert (status, params["method.name"], params["method.ladder"]) == (
        "FINISHED",
        "pt",
        "[0.8,0.01]".replace(",", ", "),
    )
    assert metrics["oracle_calls"] == 40
    assert steps == list(range(len(steps)))
    assert "best/equation.py" in files


@pytest.mark.weekly
@pytest.mark.slow
@WITH_MLFLOW
@pytest.mark.timeout(300)
def test_a_folder_of_files_also_works_and_a_resumed_run_is_the_same_one(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "best.txt").write_text("1")
    env = {**FROM_ROOT, "MLFLOW_ALLOW_FILE_STORE": "true"}
    command = [sys.executable, "-c", STOP_AND_RESUME + READ, (tmp_path / "store").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, cwd=tmp_path)
    ((status, params, _, steps, files),) = json.loads(done.stdout)
    assert (status, params["seed"], steps, files) == ("FINISHED", "0", [0, 1], ["best/best.txt"])


@pytest.mark.weekly
@pytest.mark.slow
@WITH_MLFLOW
@pytest.mark.timeout(300)
def test_a_server_that_does_not_answer_causes_one_warning(tmp_path: Path) -> None:
    made = evodiverse(*RUN, "budget.oracle_calls=20", "tracking.uri=http://127.0.0.1:9", cwd=tmp_path, env=FROM_ROOT)
    assert made.returncode == 0
    (warning,) = made.stderr.splitlines()
    assert "tracking at http://127.0.0.1:9 failed" in warning
