"""Evaluation on a Ray cluster gives the log of one local worker, despite killed workers and killed runs."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.runs import FROM_ROOT, TOY_CONF, evodiverse, log

TOY = ["--config-dir", str(TOY_CONF), "task=bits", "budget.oracle_calls=120", "name=run", "task.pause=0.02"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.weekly,
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed"),
]


def start_node(folder: Path, env: Mapping[str, str], *options: str) -> "subprocess.Popen[bytes]":
    """Start a node of a cluster in its own process group, and wait until it has joined."""
    command = [str(Path(sys.executable).with_name("ray")), "start", "--block", *options]
    out = folder / f"node-{len(list(folder.iterdir()))}"
    with out.open("wb") as file:
        node = subprocess.Popen(command, env=env, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    until = time.monotonic() + 200
    while "Ray runtime started" not in out.read_text():
        assert node.poll() is None, out.read_text()
        assert time.monotonic() < until, out.read_text()
        time.sleep(0.2)
    return node


def end_node(node: "subprocess.Popen[bytes]") -> None:
    os.killpg(node.pid, signal.SIGKILL)  # SIGTERM would wait for the work in progress
    node.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Yield the environment for using a cluster of two cores; ADDRESS is the address of its head."""
    env = {**FROM_ROOT, "RAY_AUTH_MODE": "disabled", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("ray", numbered=True)
    options = ["--num-cpus=2", f"--port={port}", "--include-dashboard=false", f"--temp-dir=/tmp/ray-{os.getpid()}"]
    head = start_node(folder, env, "--head", *options)
    yield {**env, "ADDRESS": f"127.0.0.1:{port}"}
    end_node(head)


def on(cluster: Mapping[str, str]) -> list[str]:
    return ["evaluator=ray", f"evaluator.address={cluster['ADDRESS']}", "evaluator.batch=2", "evaluator.workers=1"]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("local")
    assert evodiverse(*TOY, "evaluator.workers=1", cwd=folder, env=FROM_ROOT).returncode == 0
    return folder / "outputs" / "run"


def begin(cluster: Mapping[str, str], cwd: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "evodiverse", *TOY, *on(cluster), *words]
    return subprocess.Popen(command, cwd=cwd, env=cluster, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def evaluating(what: str = "ray::evaluate_batch") -> list[int]:
    """Return the processes of the cluster that are doing this work."""
    told = subprocess.run(["pgrep", "-f", what], capture_output=True, text=True)
    return [int(line) for line in told.stdout.split()]


def wait_until_evaluating() -> int:
    until = time.monotonic() + 60
    while not (found := evaluating()):
        assert time.monotonic() < until
        time.sleep(0.01)
    return found[0]


def test_a_cluster_gives_the_log_of_a_local_worker(cluster: Mapping[str, str], local: Path, tmp_path: Path) -> None:
    done = evodiverse(*TOY, *on(cluster), cwd=tmp_path, env=cluster)
    assert done.returncode == 0, done.stderr
    assert log(tmp_path / "outputs/run") == log(local)


def test_a_killed_worker_of_the_cluster_costs_a_retry(cluster: Mapping[str, str], local: Path, tmp_path: Path) -> None:
    process = begin(cluster, tmp_path)
    os.kill(wait_until_evaluating(), signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert log(tmp_path / "outputs/run") == log(local)


def test_a_broker_whose_node_dies_loses_the_tasks_it_had_started(
    cluster: Mapping[str, str], local: Path, tmp_path: Path
) -> None:
    process = begin(cluster, tmp_path, "task.pause=0.1")
    wait_until_evaluating()
    for broker in evaluating("ray::Broker"):
        os.kill(broker, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert log(tmp_path / "outputs/run") == log(local)


def test_a_node_that_leaves_costs_a_retry(cluster: Mapping[str, str], local: Path, tmp_path: Path) -> None:
    env = {name: value for name, value in cluster.items() if name != "ADDRESS"}
    (tmp_path / "node").mkdir()
    node = start_node(tmp_path / "node", env, f"--address={cluster['ADDRESS']}", "--num-cpus=2")
    process = begin(cluster, tmp_path, "task.pause=0.1")
    try:
        until = time.monotonic() + 60
        while not any(os.getsid(pid) == node.pid for pid in evaluating()):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        end_node(node)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert log(tmp_path / "outputs/run") == log(local)


def test_tasks_outlive_a_killed_run_and_are_resumed(cluster: Mapping[str, str], local: Path, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    process = begin(cluster, tmp_path, f"task.diary={diary}", "task.pause=0.1")
    wait_until_evaluating()
    process.kill()
    process.communicate()
    time.sleep(5)
    again = begin(cluster, tmp_path, f"task.diary={diary}", "task.pause=0.1")
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert "from an earlier start on the cluster" in errors
    assert log(tmp_path / "outputs/run") == log(local)
    evaluated = diary.read_text().split()
    assert len(evaluated) == len(set(evaluated)) == 120


def test_an_error_in_a_task_ends_the_run_with_one_line(cluster: Mapping[str, str], tmp_path: Path) -> None:
    process = begin(cluster, tmp_path, "task.spoiled=bug")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "tests.toys.bits.task.BitTask.evaluate raised ValueError: the toy oracle has a bug" in errors
    assert "Traceback" not in errors


def test_a_missing_cluster_is_refused(tmp_path: Path) -> None:
    words = ["evaluator=ray", "evaluator.address=127.0.0.1:1"]
    refused = evodiverse(*TOY, *words, cwd=tmp_path, env=FROM_ROOT)
    assert refused.returncode == 2
    assert "no Ray cluster found at evaluator.address=127.0.0.1:1" in refused.stderr
