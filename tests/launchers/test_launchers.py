"""Sweeps through the launchers and sweepers of others: the runs are those of a sweep in one process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.launchers.slurm_cluster import find_missing, slurm_cluster
from tests.runs import FROM_ROOT, TOY_CONF, evodiverse, log

TOY = ["--config-dir", str(TOY_CONF), "task=bits", "evaluator.workers=1"]
SWEEP = ["-m", *TOY, "seed=0,1,2", "method.swap.period=2,5"]
# Some seconds long, in many iterations.
LONG = ["-m", *TOY, "seed=0,1", "budget.oracle_calls=600", "search.patience=1000", "task.pause=0.01"]

pytestmark = pytest.mark.slow
LONGEST_WAIT = 200.0  # seconds; a Ray cluster starts slowly where the machine does much else


def logs(folder: Path) -> Mapping[str, object]:
    return {str(path.parent.relative_to(folder)): log(path.parent) for path in folder.rglob("run.json")}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    assert evodiverse(*SWEEP, cwd=folder, env=FROM_ROOT).returncode == 0
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert evodiverse(*LONG, "launcher=joblib", "hydra.launcher.n_jobs=2", cwd=folder, env=FROM_ROOT).returncode == 0
    return folder


@contextmanager
def sweeping(*words: str, cwd: Path, env: Mapping[str, str] = FROM_ROOT) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "evodiverse", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=cwd, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_calls(
    sweep: "subprocess.Popen[str]", folder: Path, seed: int, calls: int, meanwhile: Callable[[], object] = lambda: None
) -> Path:
    """Wait until a run of a sweep has made so many calls, and return its folder."""
    until = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < until:
        for path in folder.rglob(f"seed{seed}/checkpoint/state.json"):
            if json.loads(path.read_text())["oracle_calls"] >= calls:
                return path.parents[1]
        meanwhile()
        assert sweep.poll() is None, sweep.communicate()
        time.sleep(0.05)
    raise TimeoutError(f"seed {seed} has not made {calls} calls in {LONGEST_WAIT:g} s")


def slurm(env: Mapping[str, str], *words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["scontrol", *words], env=env, capture_output=True)


def kill_holder(run: Path) -> None:
    holder = (run / ".lock").read_text().split()
    os.kill(int(holder[1]), signal.SIGKILL)


@pytest.mark.weekly
def test_joblib_makes_the_same_runs_side_by_side(plain: Path, tmp_path: Path) -> None:
    words = ["launcher=joblib", "hydra.launcher.n_jobs=2", "evaluator.workers=2"]
    swept = evodiverse(*SWEEP, *words, cwd=tmp_path, env=FROM_ROOT)
    assert swept.returncode == 0, swept.stderr
    assert logs(tmp_path) == logs(plain)
    assert [line.split()[3] for line in swept.stdout.splitlines()[1:]] == ["complete"] * 6
    assert {line.split(":")[0] for line in swept.stderr.splitlines()} == {f"run {n} of 6" for n in range(1, 7)}
    starts = [f"run {n} of 6: seed={(n - 1) // 2} method.swap.period={(5, 2)[n % 2]}" for n in range(1, 7)]
    assert {*starts} <= {*swept.stderr.splitlines()}


def test_a_run_that_fails_in_another_process_is_listed_and_the_others_go_on(tmp_path: Path) -> None:
    words = ["task.spoiled=start,nothing", "launcher=joblib", "hydra.launcher.n_jobs=2"]
    swept = evodiverse("-m", *TOY, *words, cwd=tmp_path, env=FROM_ROOT)
    assert swept.returncode == 1
    assert [line.split()[2] for line in swept.stdout.splitlines()[1:]] == ["failed", "complete"]
    assert "evodiverse: run 1 (task.spoiled=start) failed: no initial candidate can enter a pool" in swept.stderr
    assert "run 1 of 2: failed: no initial candidate can enter a pool" in swept.stderr
    assert swept.stderr.splitlines()[-1] == "evodiverse: 1 of 2 runs failed; run the same command again to retry them"


@pytest.mark.weekly
def test_optuna_follows_the_best_score(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "tune.yaml").write_text(
        "# @package _global_\n"
        "defaults:\n  - override /hydra/sweeper: optuna\n"
        "hydra:\n  sweeper:\n    direction: maximize\n    n_trials: 4\n    n_jobs: 1\n    sampler: {seed: 0}\n"
        "    params:\n      method.ladder: choice([0.8,0.1],[0.8,0.2],[1.6,0.4])\n"
    )
    config = ["--config-dir", str(tmp_path), f"hydra.searchpath=[file://{TOY_CONF}]", "task=bits"]
    swept = evodiverse("-m", *config, "+experiment=tune", "name=tuned", cwd=tmp_path, env=FROM_ROOT)
    assert swept.returncode == 0, swept.stderr
    found = yaml.safe_load((tmp_path / "outputs/.sweep/optimization_results.yaml").read_text())
    records = [json.loads(path.read_text()) for path in tmp_path.glob("outputs/tuned/trial*/run.json")]
    assert len(records) == 4
    assert found["best_value"] == max(record["totals"]["best_score"] for record in records)
    assert found["best_params"]["method.ladder"] in [
        str(record["settings"]["method.ladder"]).replace(" ", "") for record in records
    ]


OPTUNA = ["hydra/sweeper=optuna", "hydra.sweeper.direction=maximize", "hydra.sweeper.sampler.seed=0"]
FAILS = "failed: no initial candidate can enter a pool (unparsable 16; the first: unparsable: 7 characters); start"


@pytest.mark.weekly
@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_optuna_continues_after_failed_trials_which_are_listed_at_the_end(tmp_path: Path, launcher: str) -> None:
    words = [*OPTUNA, "hydra.sweeper.n_trials=5", "task.spoiled=choice(nothing,start)", f"launcher={launcher}"]
    swept = evodiverse("-m", *TOY, *words, "name=tuned", "display=none", cwd=tmp_path, env=FROM_ROOT)
    assert swept.returncode == 1
    complete = {path.parent.name for path in tmp_path.rglob("run.json")}
    failed = [f"trial{number}" for number in range(5) if f"trial{number}" not in complete]
    assert 5 > len(failed) > 0
    numbers = sorted(name.removeprefix("trial") for name in failed)
    lines = [line for line in swept.stderr.splitlines() if "A new study created" not in line]
    assert [line.partition("; start")[0] + "; start" for line in lines[:-1]] == [
        f"evodiverse: trial {number} (task.spoiled=start) {FAILS}" for number in numbers
    ]
    assert lines[-1] == f"evodiverse: {len(failed)} of 5 runs failed"
    found = yaml.safe_load((tmp_path / "outputs/.sweep/optimization_results.yaml").read_text())
    assert found["best_params"] == {"task.spoiled": "nothing"}


@pytest.mark.weekly
def test_a_sweep_of_optuna_in_which_all_trials_fail_lists_them(tmp_path: Path) -> None:
    words = [*OPTUNA, "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=2", "task.spoiled=choice(start)"]
    swept = evodiverse("-m", *TOY, *words, cwd=tmp_path, env=FROM_ROOT)
    assert swept.returncode == 1
    assert swept.stderr.count(f"(task.spoiled=start) {FAILS}") == 2
    assert swept.stderr.splitlines()[-1] == "evodiverse: 2 of 2 runs failed"


@pytest.mark.weekly
def test_a_failure_rate_that_the_user_chose_ends_a_sweep_of_optuna(tmp_path: Path) -> None:
    words = [*OPTUNA, "hydra.sweeper.n_trials=4", "hydra.sweeper.n_jobs=2", "hydra.sweeper.max_failure_rate=0.0"]
    swept = evodiverse("-m", *TOY, *words, "task.spoiled=choice(start)", cwd=tmp_path, env=FROM_ROOT)
    assert swept.returncode == 1
    assert swept.stderr.count(f"(task.spoiled=start) {FAILS}") == 2
    assert "2 of 2 runs failed" in swept.stderr
    assert "Traceback" not in swept.stderr


def note_a_cluster_that_is_gone() -> None:
    """Leave behind what a cluster does that was killed on this machine."""
    note = Path("/tmp/ray/ray_current_cluster")  # noqa: S108 (where Ray looks)
    note.parent.mkdir(exist_ok=True)
    if not note.exists():
        note.write_text("127.0.0.1:1")


@pytest.mark.weekly
@pytest.mark.timeout(300)
def test_a_killed_ray_worker_changes_no_log(whole: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    words = ["launcher=ray", "hydra.launcher.ray.init.num_cpus=2"]
    note_a_cluster_that_is_gone()
    with sweeping(*LONG, *words, cwd=tmp_path) as process:
        kill_holder(wait_for_calls(process, tmp_path, seed=1, calls=100))
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert logs(tmp_path) == logs(whole)
    assert [line.split()[2] for line in out.splitlines() if line.strip()[:1].isdigit()] == ["complete"] * 2


@pytest.mark.slurm
@pytest.mark.timeout(900)
def test_killed_and_requeued_slurm_jobs_change_no_log(whole: Path, tmp_path: Path) -> None:
    if missing := find_missing():
        pytest.skip(f"there is no {', '.join(missing)}")
    (tmp_path / "slurm").mkdir()
    words = [*LONG, "launcher=slurm", "hydra.launcher.cpus_per_task=1", "hydra.launcher.timeout_min=10"]
    with slurm_cluster(tmp_path / "slurm") as cluster:
        env = {**cluster, "PYTHONPATH": FROM_ROOT["PYTHONPATH"]}
        with sweeping(*words, cwd=tmp_path, env=env) as process:
            kill_holder(wait_for_calls(process, tmp_path, seed=1, calls=100))
            requeued = wait_for_calls(process, tmp_path, seed=0, calls=100)
            assert slurm(env, "requeue", "1_0").returncode == 0
            at_once = partial(slurm, env, "update", "JobId=1_0", "StartTime=now")  # SLURM would wait for two minutes
            wait_for_calls(process, tmp_path, seed=0, calls=600, meanwhile=at_once)
            process.send_signal(signal.SIGINT)  # no accounting here could tell submitit that the other job is dead
            _, err = process.communicate()
        assert "interrupted by SIGINT; to resume: evodiverse -m" in err
        again = subprocess.run(
            [sys.executable, "-m", "evodiverse", *words], cwd=tmp_path, env=env, capture_output=True, text=True
        )
        assert again.returncode == 0, again.stderr
        assert "1 of 2 runs are complete" in again.stdout
    assert json.loads((requeued / "run.json").read_text())["status"] == "complete"
    assert logs(tmp_path) == logs(whole)
