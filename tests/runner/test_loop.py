"""Invariants of whole runs, on the toy task."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evodiverse.errors import InputError, Interrupted, ServiceError
from evodiverse.sandbox.processes import ProcessSandbox
from tests.runs import ROOT, Silent, log, plan, rows, run_toy, stop_after
from tests.toys.bits import domain
from tests.toys.bits.task import BitTask

# The other methods need a model, molecules or programs.
OTHERS = {"pt_same_prompt", "random_start", "restarts"}
METHODS = sorted({path.stem for path in (ROOT / "conf/method").glob("*.yaml")} - OTHERS)


@pytest.fixture(scope="module", params=METHODS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = ["method.screen.batch=[[0,10]]"] if request.param == "diverse" else []  # enough iterations for exchanges
    needed = ["search.features={n_ones: [0, 24]}", "task.pareto=[score,24-n_ones]"]
    return run_toy(tmp_path_factory.mktemp(request.param), f"method={request.param}", "seed=5", *needed, *small)


def settings(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text())["settings"]


@pytest.mark.slow
def test_calls_are_numbered_in_the_order_charged_and_use_up_the_budget(run: Path) -> None:
    calls = [row["call"] for row in rows(run, "evaluations") if row["call"] is not None]
    assert calls == list(range(1, 201))


def test_a_key_is_charged_once(run: Path) -> None:
    keys = Counter(row["key"] for row in rows(run, "evaluations") if row["outcome"] == "evaluated")
    assert max(keys.values()) == 1


def test_another_attempt_follows_only_a_failed_one_unless_proposals_are_screened(run: Path) -> None:
    screened = {row["iteration"] for row in rows(run, "screened")}
    outcomes: dict[tuple[int, int, int], list[str]] = {}
    for row in rows(run, "evaluations"):
        if row["iteration"] in screened:
            continue
        outcomes.setdefault((row["iteration"], row["slot"], row["pool"]), []).append(row["outcome"])
    assert all(set(tried[:-1]) <= {"rejected", "duplicate"} and len(tried) <= 3 for tried in outcomes.values())


def test_a_pool_holds_a_key_once_and_only_candidates_with_a_score(run: Path) -> None:
    scores = {row["call"]: row["score"] for row in rows(run, "evaluations") if row["call"] is not None}
    for row in rows(run, "populations"):
        assert len(set(row["members"])) == len(row["members"])
        assert all(scores[call] is not None for call in row["members"])


def test_every_iteration_lists_every_pool_with_its_beta(run: Path) -> None:
    ladder = [float(beta) for beta in settings(run)["method.ladder"]]
    listed = rows(run, "populations")
    last = max(row["iteration"] for row in listed)
    expected = [(iteration, pool, beta) for iteration in range(last + 1) for pool, beta in enumerate(ladder)]
    assert [(row["iteration"], row["pool"], row["beta"]) for row in listed] == expected


def test_a_pool_exceeds_its_capacity_only_by_migrants(run: Path) -> None:
    migrants = Counter((row["iteration"], row["to_pool"]) for row in rows(run, "migrations"))
    capacity = settings(run)["method.capacity"]
    for row in rows(run, "populations"):
        assert len(row["members"]) <= capacity + migrants[row["iteration"], row["pool"]]


def test_parents_are_members_of_the_previous_pool_or_with_screening_any_earlier_candidates(run: Path) -> None:
    members = {(row["iteration"], row["pool"]): set(row["members"]) for row in rows(run, "populations")}
    iteration_of = {row["call"]: row["iteration"] for row in rows(run, "evaluations") if row["call"]}
    for row in rows(run, "evaluations"):
        if row["iteration"] > 0 and not any(key.startswith("method.screen.") for key in settings(run)):
            assert set(row["parents"]) <= members[row["iteration"] - 1, row["pool"]]
        elif row["iteration"] > 0:
            assert all(iteration_of[parent] < row["iteration"] for parent in row["parents"])


def test_a_swap_is_accepted_as_its_rule_says(run: Path) -> None:
    rule = settings(run)["method.swap.rule"]
    for row in rows(run, "swaps"):
        allowed = rule == "random" or row["log_u"] <= min(0.0, row["log_accept"])
        assert row["accepted"] == (allowed and not row["blocked"])


def moves(run: Path) -> dict[tuple[int, int], dict[int, bool]]:
    """Return, by iteration and pool, whether each candidate that was moved to or from the pool ends in it."""
    ends: dict[tuple[int, int], dict[int, bool]] = defaultdict(dict)
    for row in rows(run, "swaps"):
        cold, hot = (row["iteration"], row["cold_pool"]), (row["iteration"], row["hot_pool"])
        if row["accepted"]:
            ends[cold] |= {row["cold_call"]: False, row["hot_call"]: True}
            ends[hot] |= {row["hot_call"]: False, row["cold_call"]: True}
    for row in rows(run, "migrations"):
        ends[row["iteration"], row["to_pool"]][row["call"]] = True
    return ends


def test_only_accepted_swaps_and_migrations_move_candidates_between_pools(run: Path) -> None:
    members = {(row["iteration"], row["pool"]): set(row["members"]) for row in rows(run, "populations")}
    made: dict[tuple[int, int], set[int]] = defaultdict(set)
    for row in rows(run, "evaluations"):
        made[row["iteration"], row["pool"]] |= {row["call"], row["reused_call"]}
    moved = moves(run)
    assert bool(moved) == (settings(run)["method.swap.rule"] != "none")
    for (iteration, pool), now in members.items():
        if iteration > 0:
            own = members[iteration - 1, pool] | made[iteration, pool]
            ends = moved.get((iteration, pool), {})
            assert now - own == {call for call, is_here in ends.items() if is_here} - own
            assert {call: call in now for call in ends} == ends


def test_the_oracle_is_called_once_for_every_charged_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan("task=bits", f"outputs={tmp_path}")
    task = planned.domain.build_task(planned.task, Path, ProcessSandbox)
    monkeypatch.setattr(domain, "build_task", lambda settings, artifact, sandbox: task)
    run = run_toy(tmp_path)
    assert task.n_evaluated == sum(row["outcome"] == "evaluated" for row in rows(run, "evaluations")) == 200


def test_initial_candidates_are_the_first_calls_of_iteration_0(tmp_path: Path) -> None:
    initial = [row for row in rows(run_toy(tmp_path), "evaluations") if row["iteration"] == 0]
    assert [(row["slot"], row["pool"]) for row in initial] == [(slot, pool) for slot in range(8) for pool in range(2)]
    assert {row["operator"] for row in initial} == {"initial"}
    assert [row["call"] for row in initial if row["call"] is not None] == list(range(1, 17))


def test_shared_initial_candidates_belong_to_no_pool_and_enter_all(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "task.shared=true")
    assert {row["pool"] for row in rows(run, "evaluations") if row["iteration"] == 0} == {None}
    first, second = (row["members"] for row in rows(run, "populations") if row["iteration"] == 0)
    assert first == second == list(range(1, 9))


def test_a_budget_that_ends_within_an_iteration_is_shared_fairly_by_the_pools(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "budget.oracle_calls=20")
    slots = [(row["slot"], row["pool"]) for row in rows(run, "evaluations") if row["iteration"] == 1]
    assert set(slots) == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_search_that_can_charge_nothing_more_ends_by_patience(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "task.length=3", "search.patience=4")
    record = json.loads((run / "run.json").read_text())
    assert (record["status"], record["stopped_by"]) == ("complete", "patience")
    assert (
        max(row["iteration"] for row in rows(run, "evaluations") if row["call"]) == record["totals"]["iterations"] - 4
    )


def test_a_search_that_could_evaluate_no_offspring_reports_the_outcomes_of_its_proposals(tmp_path: Path) -> None:
    single = ("task.length=1", "task.shared=true", "search.patience=4")
    for _ in range(2):  # the error is the same when the run is started again
        with pytest.raises(InputError, match=NO_OFFSPRING) as raised:
            run_toy(tmp_path, *single)
        (run,) = tmp_path.glob("bits/pt/off/*/seed0")
        attempts = [row for row in rows(run, "evaluations") if row["iteration"]]
        n_alike = sum(row["outcome"] == "duplicate" for row in attempts)
        assert f"(duplicate {n_alike}, " in str(raised.value)
        assert f"in {n_alike} of {len(attempts)} attempts: duplicate)" in str(raised.value)
        assert max(row["iteration"] for row in attempts) == 4
        assert json.loads((run / "run.json").read_text())["status"] == "failed"


NO_OFFSPRING = (
    r"^no offspring of the initial candidates could be evaluated \(duplicate \d+, .*; most often, in .*start from"
)


def test_a_budget_that_covers_only_the_initial_candidates_is_not_an_error(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "budget.oracle_calls=16")
    assert json.loads((run / "run.json").read_text())["stopped_by"] == "budget"


def test_an_early_stop_ends_a_search_without_gain(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "search.early_stop.patience=2", "search.early_stop.gain=1")
    assert json.loads((run / "run.json").read_text())["stopped_by"] == "early_stop"


def test_a_score_above_the_target_ends_a_search(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "search.target=0.6")
    assert json.loads((run / "run.json").read_text())["stopped_by"] == "target"
    scores = [(row["iteration"], row["score"]) for row in rows(run, "evaluations") if row["score"] is not None]
    last = max(iteration for iteration, _ in scores)
    assert max(score for _, score in scores) > 0.6
    assert all(score <= 0.6 for iteration, score in scores if iteration < last)


FAILED = r"^every initial candidate failed \(crashed 16; the first: crashed: the toy is broken\); start from one that"


def test_a_search_does_not_start_from_only_failed_candidates(tmp_path: Path) -> None:
    for _ in range(2):  # a resumed run gives the same error
        with pytest.raises(InputError, match=FAILED):
            run_toy(tmp_path, "task.spoiled=failing")
        run = tmp_path / "bits/pt/off/task.spoiled=failing/seed0"
        assert [row["call"] for row in rows(run, "evaluations")] == list(range(1, 17))
        assert json.loads((run / "run.json").read_text())["status"] == "failed"


def test_a_search_from_failed_candidates_continues_if_that_is_requested(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=FAILED):
        run_toy(tmp_path / "resumed", "task.spoiled=failing")
    resumed = run_toy(tmp_path / "resumed", "task.spoiled=failing", "search.on_failed_start=continue")
    whole = run_toy(tmp_path / "whole", "task.spoiled=failing", "search.on_failed_start=continue")
    assert json.loads((resumed / "run.json").read_text())["stopped_by"] == "budget"
    assert log(resumed) == log(whole)
    assert resumed.parent.name == "task.spoiled=failing"


def test_a_search_that_continued_from_failed_candidates_resumes(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run_toy(tmp_path, "task.spoiled=failing", "search.on_failed_start=continue", display=stop_after(3))
    run = run_toy(tmp_path, "task.spoiled=failing")
    assert json.loads((run / "run.json").read_text())["status"] == "complete"


def test_the_setting_for_a_failed_start_does_not_identify_a_run(tmp_path: Path) -> None:
    stopping, continuing = (plan("task=bits", f"search.on_failed_start={choice}") for choice in ("stop", "continue"))
    assert stopping.settings == continuing.settings
    assert "search.on_failed_start" not in stopping.settings


def test_a_worker_that_keeps_dying_fails_the_run_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=r"a worker process died .* run the same command again to resume"):
        run_toy(tmp_path, "task.spoiled=worker", "evaluator.workers=2")


def test_an_exception_in_the_oracle_is_recorded_and_raised(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=r"BitTask\.evaluate raised RuntimeError: the toy oracle is spoiled \("):
        run_toy(tmp_path, "task.spoiled=oracle")
    record = json.loads((tmp_path / "bits/pt/off/task.spoiled=oracle/seed0/run.json").read_text())
    assert record["status"] == "failed"
    assert "RuntimeError: the toy oracle is spoiled" in record["error"]


def test_the_last_snapshot_shows_how_the_run_ended(tmp_path: Path) -> None:
    display = Silent()
    run = run_toy(tmp_path, display=display)
    record, last = json.loads((run / "run.json").read_text()), display.snapshots[-1]
    assert (last.oracle_calls, last.budget, last.iteration) == (200, 200, record["totals"]["iterations"])
    assert last.best == record["totals"]["best_score"]
    assert last.xi == rows(run, "adaptation")[-1]["xi"]


def test_a_resumed_run_shows_the_same_as_an_uninterrupted_one(tmp_path: Path) -> None:
    whole, parts = Silent(), Silent()
    run_toy(tmp_path / "whole", display=whole)
    with pytest.raises(Interrupted):
        run_toy(tmp_path / "parts", display=stop_after(8))
    run_toy(tmp_path / "parts", display=parts)
    timed = {"calls_per_second": 0.0, "seconds_left": None, "seconds": {}, "waited": None}
    assert replace(parts.snapshots[-1], **timed) == replace(whole.snapshots[-1], **timed)
    assert whole.snapshots[-1].swap_rates


@pytest.fixture(scope="module")
def screened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_toy(tmp_path_factory.mktemp("screened"), "method=diverse", "seed=6", "method.screen.batch=[[0,20]]")


@pytest.mark.slow
def test_every_proposal_of_an_inner_search_is_logged_once(screened: Path) -> None:
    places = Counter(
        (row["iteration"], row["slot"], row["pool"], row["attempt"])
        for dataset in ("evaluations", "screened")
        for row in rows(screened, dataset)
        if row["iteration"]
    )
    iterations = {place[0] for place in places}
    assert len(iterations) > 5
    assert set(places.values()) == {1}
    assert Counter(place[0] for place in places) == dict.fromkeys(iterations, 8 * 100)


def test_evaluated_proposals_have_forecasts_and_initial_candidates_have_none(screened: Path) -> None:
    for row in rows(screened, "evaluations"):
        if row["call"] is not None:
            assert (row["predicted"] is None) == (row["spread"] is None) == (row["iteration"] == 0)


def test_evaluated_proposals_were_expected_to_be_better_than_those_passed_over(screened: Path) -> None:
    means = {
        dataset: np.mean([row["predicted"] for row in rows(screened, dataset) if row["predicted"] is not None])
        for dataset in ("evaluations", "screened")
    }
    assert means["evaluations"] > means["screened"]


@pytest.mark.slow
def test_an_iteration_has_as_many_calls_as_its_batch(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "method=diverse", "method.screen.batch=[[0,4],[30,7]]", "budget.oracle_calls=60")
    calls = Counter(row["iteration"] for row in rows(run, "evaluations") if row["call"] is not None)
    done = 0
    for iteration, n in sorted(calls.items()):
        if iteration:
            assert n == min(4 if done < 30 else 7, 60 - done)
        done += n


def test_the_display_and_the_log_say_how_long_the_last_iteration_waited(tmp_path: Path) -> None:
    display = Silent()
    run = run_toy(tmp_path, "budget.oracle_calls=50", display=display)
    before, last = (row["seconds"]["operator"] for row in rows(run, "populations")[-4::2])
    assert display.snapshots[-1].waited == last - before > 0


def test_without_proposals_to_choose_from_nothing_is_screened(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "method=diverse", "method.screen.proposals=0")
    assert rows(run, "screened") == []


def test_niches_drop_a_candidate_that_the_rule_without_niches_keeps(tmp_path: Path) -> None:
    """The pools of the toy are full. No member has more similar ones than its share, unless they fill up the pool."""
    run = run_toy(tmp_path, "method=niche_ga", "method.elites=0", "method.niche.share=[1]")
    best = run_toy(tmp_path, "method=niche_ga", "method.elites=0", "method.survivors.rule=append")
    assert rows(run, "populations") != rows(best, "populations")


def test_a_task_that_only_chooses_also_gets_its_line_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BitTask, "grade", lambda self, hypothesis: len(hypothesis.key), raising=False)
    monkeypatch.setattr(BitTask, "headline", lambda self, found: f"best {found[0].candidate.score}", raising=False)
    run = run_toy(tmp_path)
    best = max(row["score"] for row in rows(run, "evaluations") if row["score"] is not None)
    assert (run / "best" / "chosen.txt").read_text() == f"best {best}\n"
