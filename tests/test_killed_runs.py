"""Searches that are killed repeatedly end with the log of one that was not."""

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import starts
from tests.llm.batch_server import BatchServer
from tests.llm.servers import Answer, Body, ModelServer, error, serving
from tests.runs import FROM_ROOT, TOY_CONF, evodiverse, log
from tests.toys.bits.model import answer_bits

ARGUMENTS = ["task=jnk3", "method=pt", "budget.oracle_calls=1500", "search.early_stop=null"]
RUN = "outputs/jnk3/pt/off/budget.oracle_calls=1500,search.early_stop=null/seed0"
KEY = {**FROM_ROOT, "OPENAI_API_KEY": "sk-none-for-tests"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert evodiverse(*ARGUMENTS, cwd=folder).returncode == 0
    return folder / RUN


def kill_at_random(arguments: list[str], cwd: Path, seed: int, longest: float) -> None:
    """Start a run five times, and kill it each time at a random moment within ``longest`` seconds."""
    rng = random.Random(seed)  # noqa: S311 (moments, not secrets)
    for _ in range(5):
        process = starts.start("-m", "evodiverse", *arguments, cwd=cwd, env=FROM_ROOT)
        time.sleep(rng.uniform(0, longest))
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n_workers", [pytest.param(1, marks=pytest.mark.weekly), 4])
def test_kills_at_random_moments_do_not_change_the_log(tmp_path: Path, whole: Path, n_workers: int) -> None:
    arguments = [*ARGUMENTS, f"evaluator.workers={n_workers}"]
    kill_at_random(arguments, tmp_path, seed=n_workers, longest=3)
    assert evodiverse(*arguments, cwd=tmp_path).returncode == 0
    assert log(tmp_path / RUN) == log(whole)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n_workers", [1, 4])
def test_no_finished_evaluation_is_repeated_by_a_slow_oracle(tmp_path: Path, n_workers: int) -> None:
    """A kill between the oracle's last line and the journal is possible but rare, so one repetition is tolerated."""
    diary = tmp_path / "diary"
    slow = ["--config-dir", str(TOY_CONF), "task=bits", "task.pause=0.05", f"task.diary={diary}"]
    arguments = [*slow, f"evaluator.workers={n_workers}", "budget.oracle_calls=200"]
    kill_at_random(arguments, tmp_path, seed=n_workers, longest=2)
    assert evodiverse(*arguments, cwd=tmp_path, env=FROM_ROOT).returncode == 0
    evaluated = diary.read_text().split()
    assert len(set(evaluated)) == 200
    assert len(evaluated) <= 201


class Unsteady:
    """The script of a server that answers late and out of order, and fails one request in five, in four ways."""

    def __init__(self) -> None:
        self._tries = Counter[str]()

    def __call__(self, body: Body, number: int) -> Answer:
        self._tries[prompt := body["messages"][-1]["content"]] += 1
        if number % 5 == 4 and self._tries[prompt] < 4:
            return [error(503), error(429), Answer(cut=-1), Answer(body=b"<html>busy</html>")][number // 5 % 4]
        answer = answer_bits(body, number)
        answer.delay = number * 7919 % 10 / 100
        return answer


def search_with_models(server: ModelServer, folder: Path) -> tuple[list[str], Path]:
    """Return the arguments of a search with two models and a lag, and its new folder."""
    folder.mkdir()
    mixture = "models=[{model:toy,weight:3},{model:other,weight:1}]"
    models = [
        "llm=openai_compatible",
        f"llm.pools.cold.{mixture}",
        f"llm.pools.hot.{mixture}",
        "llm.concurrency=100",
    ]
    toy = ["--config-dir", str(TOY_CONF), "task=bits", "method.offspring=50", "evaluator.workers=2"]
    budget = ["search.lag=1", "budget.llm_calls=1000", "budget.oracle_calls=2000"]
    return [*toy, *models, *budget, f"llm.api_base={server.url}", f"llm.cache={folder}/cache"], folder


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Return the log of a search with models that was never killed."""
    with serving(ModelServer(answer_bits)) as server:
        arguments, folder = search_with_models(server, tmp_path_factory.mktemp("models") / "whole")
        assert evodiverse(*arguments, cwd=folder, env=KEY).returncode == 0
    (record,) = folder.glob("outputs/**/run.json")
    return log(record.parent)


@pytest.mark.slow
@pytest.mark.parametrize(
    "is_batch", [pytest.param(False, id="single"), pytest.param(True, id="batch", marks=pytest.mark.weekly)]
)
def test_a_search_with_models_that_is_killed_five_times_has_the_same_log(
    tmp_path: Path, answered: dict[str, list[dict[str, Any]]], *, is_batch: bool
) -> None:
    with serving(BatchServer(Unsteady())) as server:
        assert isinstance(server, BatchServer)
        server.n_looks = 0
        arguments, killed = search_with_models(server, tmp_path / "killed")
        arguments += [f"llm.batch={is_batch}"]
        for n_requests in (100, 300, 500, 800, 1100):
            process = starts.start("-m", "evodiverse", *arguments, cwd=killed, env=KEY)
            while max(len(server.requests), server.n_batched) < n_requests:
                assert process.poll() is None, process.communicate()
                time.sleep(0.002)
            process.kill()
            process.wait()
        assert evodiverse(*arguments, cwd=killed, env=KEY).returncode == 0
        n_batched = server.n_batched
    (record,) = killed.glob("outputs/**/run.json")
    n_calls = len(answered["llm_calls"])
    assert n_calls > 900
    if is_batch:  # no batch was sent twice, but for queries that a batch had lost
        assert n_calls <= n_batched < n_calls + 40
    assert log(record.parent) == answered
