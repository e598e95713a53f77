"""Whole runs in which candidates fail, are shown to a model again, or are too similar to a member of their pool."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evodiverse.errors import InputError, Interrupted
from evodiverse.vocabulary import Hypothesis, Rejection
from tests.llm.servers import ModelServer, serving
from tests.runs import log, rows, run_toy, stop_after
from tests.toys.bits.model import answer_bits
from tests.toys.bits.task import BitTask

pytestmark = pytest.mark.slow

FAILING = ["task.spoiled=some", "budget.oracle_calls=120", "method.offspring=3", "search.keep_failed=false"]
REPAIRING = [*FAILING, "search.repair=true"]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-for-tests")
    with serving(ModelServer(answer_bits)) as server:
        place = [f"llm.api_base={server.url}", f"llm.cache={tmp_path / 'replies'}"]
        yield ["llm=openai_compatible", "llm.model=toy", *place]


def evaluated(run: Path) -> dict[int, dict[str, Any]]:
    return {row["call"]: row for row in rows(run, "evaluations") if row["call"] is not None}


def members(run: Path) -> set[int]:
    return {call for row in rows(run, "populations") for call in row["members"]}


def test_failed_candidates_join_pools_only_if_they_are_kept(tmp_path: Path) -> None:
    kept, left_out = run_toy(tmp_path, *FAILING[:3]), run_toy(tmp_path, *FAILING)
    for run, is_kept in ((kept, True), (left_out, False)):
        failed = {call for call, row in evaluated(run).items() if not row["valid"]}
        assert bool(failed & members(run)) is is_kept
        assert failed


def test_a_start_of_failed_candidates_alone_is_searched_from_if_the_user_wants_it(tmp_path: Path) -> None:
    failing = ["task.spoiled=failing", "search.keep_failed=false", "budget.oracle_calls=40"]
    with pytest.raises(InputError, match="every initial candidate failed"):
        run_toy(tmp_path, *failing)
    run = run_toy(tmp_path, *failing, "search.on_failed_start=continue", "overwrite=true")
    assert members(run) == {call for call, row in evaluated(run).items() if row["iteration"] == 0}
    assert len(evaluated(run)) == 40


def expected_repairs(run: Path, lag: int) -> dict[tuple[int, int], list[int]]:
    """Return, by iteration and pool, what is to be repaired there, read off the log."""
    found, last = evaluated(run), max(row["iteration"] for row in rows(run, "evaluations"))
    expected: dict[tuple[int, int], list[int]] = {}
    for call, row in sorted(found.items()):
        place = (row["iteration"] + lag + 1, row["pool"])
        if row["parents"] and not row["valid"] and row["score"] is not None and found[row["parents"][0]]["valid"]:
            expected.setdefault(place, []).append(call)
    return {place: calls[:2] for place, calls in expected.items() if place[0] < last}


@pytest.mark.parametrize("lag", [0, 2])
def test_a_model_sees_each_failure_once_in_the_next_iteration_of_its_pool(
    model: list[str], tmp_path: Path, lag: int
) -> None:
    run = run_toy(tmp_path, *REPAIRING, *model, f"search.lag={lag}")
    found = evaluated(run)
    last = max(row["iteration"] for row in rows(run, "evaluations"))
    shown: dict[tuple[int, int], list[int]] = {}
    for row in rows(run, "evaluations"):
        if row["parents"] and row["iteration"] < last and not found[row["parents"][0]]["valid"]:
            assert (row["attempt"], row["slot"] < 2) == (1, True)
            shown.setdefault((row["iteration"], row["pool"]), []).append(row["parents"][0])
    assert shown == expected_repairs(run, lag)
    assert max(Counter(call for calls in shown.values() for call in calls).values()) == 1
    assert len(shown) > 2


@pytest.mark.parametrize(("lag", "commits"), [(0, 1), (0, 2), (0, 5), (2, 1), (2, 4)])
def test_repairs_survive_a_stop(model: list[str], tmp_path: Path, lag: int, commits: int) -> None:
    arguments = [*REPAIRING, *model, f"search.lag={lag}"]
    whole = run_toy(tmp_path / "whole", *arguments)
    with pytest.raises(Interrupted):
        run_toy(tmp_path / "parts", *arguments, display=stop_after(commits))
    assert log(run_toy(tmp_path / "parts", *arguments)) == log(whole)


@pytest.mark.parametrize(("budget", "n_taken"), [(51, 46), (86, 82)])
def test_a_larger_budget_continues_with_the_repairs(
    model: list[str], tmp_path: Path, budget: int, n_taken: int
) -> None:
    arguments = [*REPAIRING, *model, "llm.price={input:1,output:1}"]
    whole = run_toy(tmp_path / "whole", *arguments)
    run_toy(tmp_path / "parts", *arguments, f"budget.oracle_calls={budget}")
    longer = run_toy(tmp_path / "parts", *arguments)
    assert json.loads((longer / "run.json").read_text())["begun_from"]["oracle_calls"] == n_taken
    assert log(longer) == log(whole)


def test_without_a_model_nothing_is_repaired(tmp_path: Path) -> None:
    assert log(run_toy(tmp_path / "on", *REPAIRING)) == log(run_toy(tmp_path / "off", *FAILING))


def test_only_slots_of_the_model_take_what_is_to_be_repaired(model: list[str], tmp_path: Path) -> None:
    run = run_toy(tmp_path, *REPAIRING, *model, "method.operators={llm: 0.5, classical: 0.5}")
    found = evaluated(run)
    repaired = [row for row in rows(run, "evaluations") if row["parents"] and not found[row["parents"][0]]["valid"]]
    assert {row["operator"] for row in repaired} == {"llm"}
    assert {row["operator"] for row in found.values()} > {"llm"}


def similarity(one: str, other: str) -> float:
    return float(np.mean([a == b for a, b in zip(one, other, strict=True)]))


@pytest.mark.parametrize("workers", [1, 2])
def test_no_candidate_is_evaluated_that_is_like_a_member_of_its_pool(tmp_path: Path, workers: int) -> None:
    run = run_toy(tmp_path, "search.novelty=0.9", "budget.oracle_calls=60", f"evaluator.workers={workers}")
    found = evaluated(run)
    pools = {(row["iteration"], row["pool"]): row["members"] for row in rows(run, "populations")}
    nearest = Counter[tuple[bool, str]]()
    for row in rows(run, "evaluations"):
        if row["iteration"] and row["outcome"] in ("evaluated", "rejected") and len(row["genotype"] or "") == 24:
            before = [found[call]["genotype"] for call in pools[row["iteration"] - 1, row["pool"]]]
            is_near = max(similarity(row["genotype"], other) for other in before) >= 0.9
            nearest[is_near, (row["error"] or "none").partition(":")[0]] += 1
    assert set(nearest) >= {(True, "too_similar"), (False, "none")}
    assert {kind for is_near, kind in nearest if is_near} == {"too_similar"}
    assert "too_similar" not in {kind for is_near, kind in nearest if not is_near}
    assert len(found) == 60


def test_a_models_proposal_that_is_too_similar_is_not_evaluated_while_others_are_awaited(
    model: list[str], tmp_path: Path
) -> None:
    diary = tmp_path / "diary"
    run = run_toy(tmp_path, *model, "search.novelty=0.9", "budget.oracle_calls=60", f"task.diary={diary}")
    assert sorted(diary.read_text().split()) == sorted(row["key"] for row in evaluated(run).values())
    assert any((row["error"] or "").startswith("too_similar") for row in rows(run, "evaluations"))


def test_a_run_whose_candidates_have_other_keys_by_now_is_not_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Interrupted):
        run_toy(tmp_path, display=stop_after(2))
    parse = BitTask.parse

    def parse_anew(task: BitTask, genotypes: list[str]) -> list[Hypothesis | Rejection]:
        return [
            Hypothesis(one.genotype, f"2{one.key}") for one in parse(task, genotypes) if isinstance(one, Hypothesis)
        ]

    monkeypatch.setattr(BitTask, "parse", parse_anew)
    with pytest.raises(InputError, match="told candidates apart in another way; continue with that version"):
        run_toy(tmp_path)
