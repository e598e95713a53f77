"""Niches and screening in each real domain."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evodiverse.data.cache import artifact_path
from evodiverse.ports import Comparable, Featured
from evodiverse.vocabulary import Hypothesis
from tests.runs import plan, rows, run_here

pytestmark = pytest.mark.slow

SMALL = {
    "molecules": ["task=jnk3", "budget.oracle_calls=300"],
    "equations": ["task=equation", "task.problem=builtin/reaction3", "method.capacity=15", "budget.oracle_calls=40"],
    "programs": ["task=circle_packing", "method.capacity=15", "budget.oracle_calls=40", "method.offspring=4"],
}

CAPACITIES = {"jnk3": 120, "equation": 60, "circle_packing": 60}


@pytest.fixture(scope="module", params=SMALL)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp(request.param)
    return run_here(*SMALL[request.param], "method=niche_ga", "method.niche.share=[1]", f"outputs={outputs}")


def selections(run: Path) -> Iterator[tuple[list[dict[str, Any]], set[int]]]:
    """Yield the contenders of each selection, and the calls of those that stayed."""
    evaluated = {row["call"]: row for row in rows(run, "evaluations") if row["call"] is not None}
    members = [set(row["members"]) for row in rows(run, "populations")]
    for iteration, (before, after) in enumerate(pairwise(members), start=1):
        joined = {
            row["call"] or row["reused_call"]
            for row in rows(run, "evaluations")
            if row["iteration"] == iteration and row["outcome"] in {"evaluated", "reused"} and row["score"] is not None
        }
        yield [evaluated[call] for call in sorted(before | joined)], after


def test_the_rule_drops_somebody_who_is_better_than_others_that_stay(run: Path) -> None:
    dropped = [
        (row["score"], min(other["score"] for other in contenders if other["call"] in stayed))
        for contenders, stayed in selections(run)
        for row in contenders
        if row["call"] not in stayed
    ]
    assert any(score > lowest for score, lowest in dropped)


def test_a_pool_keeps_to_its_capacity(run: Path) -> None:
    sizes = [len(row["members"]) for row in rows(run, "populations")]
    assert max(sizes) == (120 if "jnk3" in run.parts else 15)


def test_niches_have_a_capacity_of_their_own_in_each_domain() -> None:
    found = {task: plan(f"task={task}", "method=niche_ga").config.method.capacity for task in CAPACITIES}
    assert found == CAPACITIES


# What hypotheses are compared and described by


def task_of(domain: str) -> Any:
    """Return the task of a domain without what it evaluates with."""
    planned = plan(*SMALL[domain])
    return planned.domain.build_task(planned.task, artifact_path, lambda *_: None)


EXAMPLES = {
    "molecules": ["CCO", "CCN", "c1ccccc1C(=O)O", "CCCCO"],
    "equations": [
        "def equation({0}, params):\n    return params[0] * {1} + params[1]\n",
        "def equation({0}, params):\n    return params[0] * {1} ** 2 + params[1] * {1}\n",
        "def equation({0}, params):\n    return np.exp({1})\n",
    ],
    "programs": [
        "def construct_packing():\n    return 1\n",
        "def construct_packing():\n    return 2\n",
        "def construct_packing():\n    x = [i * 2 for i in range(4)]\n    return x\n",
    ],
}


@pytest.fixture(scope="module", params=EXAMPLES)
def world(request: pytest.FixtureRequest) -> tuple[Any, list[Hypothesis]]:
    task = task_of(request.param)
    texts = EXAMPLES[request.param]
    if request.param == "equations":
        names = task._dataset.names
        texts = [text.format(", ".join(names), names[0]) for text in texts]
    read = task.parse(texts)
    assert all(isinstance(one, Hypothesis) for one in read), read
    return task, read


def test_every_domain_can_compare_and_describe(world: tuple[Any, list[Hypothesis]]) -> None:
    assert isinstance(world[0], Comparable)
    assert isinstance(world[0], Featured)


def test_similarities_are_symmetric_between_0_and_1_and_1_to_oneself(world: tuple[Any, list[Hypothesis]]) -> None:
    task, hypotheses = world
    matrix = np.array([task.similarities(one, hypotheses) for one in hypotheses])
    assert np.allclose(matrix, matrix.T)
    assert np.allclose(np.diag(matrix), 1)
    assert (matrix >= 0).all()
    assert (matrix <= 1).all()
    assert (matrix[~np.eye(len(hypotheses), dtype=bool)] < 1).any()
    assert task.similarities(hypotheses[0], []).shape == (0,)


def test_features_do_not_depend_on_what_is_described_beside(world: tuple[Any, list[Hypothesis]]) -> None:
    task, hypotheses = world
    together = task.features(hypotheses)
    assert together.dtype == np.float32
    for row, one in zip(together, hypotheses, strict=True):
        assert (task.features([one])[0] == row).all()
    assert len({row.tobytes() for row in together}) > 1
