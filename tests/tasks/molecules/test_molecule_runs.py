"""A search on the published JNK3 oracle over 30 iterations."""

from math import isclose, log
from pathlib import Path
from typing import Any

import pytest

from evodiverse.data.cache import artifact_path
from evodiverse.tasks.molecules.oracle import open_published
from tests.runs import rows, run_here

pytestmark = pytest.mark.slow

N_ITERATIONS = 30
N_CALLS = 120 + 70 * N_ITERATIONS


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("jnk3")
    return run_here("task=jnk3", "method=graph_ga", f"budget.oracle_calls={N_CALLS}", f"outputs={outputs}")


@pytest.fixture(scope="module")
def evaluated(run: Path) -> list[dict[str, Any]]:
    return [row for row in rows(run, "evaluations") if row["outcome"] == "evaluated"]


def test_the_budget_lasts_for_thirty_iterations(run: Path, evaluated: list[dict[str, Any]]) -> None:
    assert len(evaluated) == N_CALLS
    assert max(row["iteration"] for row in rows(run, "populations")) >= N_ITERATIONS


def test_no_molecule_grows_beyond_200_characters(run: Path) -> None:
    assert max(len(row["genotype"]) for row in rows(run, "evaluations")) <= 200


def test_the_search_gets_somewhere(run: Path, evaluated: list[dict[str, Any]]) -> None:
    scores = {row["call"]: row["score"] for row in evaluated}
    means = [sum(scores[call] for call in row["members"]) / 120 for row in rows(run, "populations")]
    assert means[-1] > 5 * means[0]


def test_every_logged_score_is_the_oracles_and_every_energy_follows_from_it(evaluated: list[dict[str, Any]]) -> None:
    oracle = open_published("jnk3", artifact_path("jnk3"))
    assert [row["score"] for row in evaluated] == oracle([row["key"] for row in evaluated]).tolist()
    assert all(isclose(row["energy"], log(max(1 - row["score"], 1e-6)), abs_tol=1e-12) for row in evaluated)


def test_almost_every_attempt_is_a_new_molecule(run: Path, evaluated: list[dict[str, Any]]) -> None:
    assert len(rows(run, "evaluations")) < 1.3 * len(evaluated)


def test_a_log_of_10000_calls_takes_at_most_3_megabytes(run: Path) -> None:
    files = [path for path in run.rglob("*") if path.is_file()]
    best = sum(path.stat().st_size for path in files if path.parent.name == "best")  # about the best thousand, always
    others = sum(path.stat().st_size for path in files if path.parent.name != "best")
    assert others * 10_000 / N_CALLS + best <= 3e6


def test_two_workers_give_the_same_molecules(tmp_path: Path) -> None:
    short = ["task=jnk3", "method=graph_ga", "budget.oracle_calls=260"]
    first, second = (run_here(*short, f"evaluator.workers={n}", f"outputs={tmp_path}/{n}") for n in (1, 2))
    keys = [[row["key"] for row in rows(path, "evaluations")] for path in (first, second)]
    assert keys[0] == keys[1]
