"""Iterations that begin before the previous one has ended (`search.lag`)."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import Interrupted
from tests.llm.servers import Answer, Body, ModelServer, error, serving
from tests.runs import Silent, log, rows, run_toy, stop_after
from tests.toys.bits.model import answer_bits

pytestmark = pytest.mark.slow

SHORT = "budget.oracle_calls=60"
SCREENING = ["method=diverse", "method.screen.proposals=20", "method.screen.batch=[[0,10]]"]
METHODS = {
    "pt": ["method=pt", "budget.oracle_calls=80"],
    "screening": [*SCREENING, "method.screen.apart=60", "task.library=300", "method.screen.shortlist=20"],
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-for-tests")
    monkeypatch.setattr("evodiverse.llm.asking.backoff", lambda failures, retry_after, rng: 0.0)
    with serving(ModelServer(answer_bits)) as running:
        yield running


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))


def asking(server: ModelServer, cache: Path, lag: int) -> list[str]:
    asked = ["llm=openai_compatible", "llm.model=toy", f"llm.api_base={server.url}", f"llm.cache={cache}"]
    return [*asked, SHORT, f"search.lag={lag}"]


def count_places(run: Path, lag: int) -> tuple[int, int]:
    """Return how many parents are outside of the pool after iteration t - 1 - lag, and outside of that after t - 1."""
    members = {(row["iteration"], row["pool"]): set(row["members"]) for row in rows(run, "populations")}
    made = [row for row in rows(run, "evaluations") if row["iteration"] > 0]
    outside = Counter(
        back
        for row in made
        for back in (1 + lag, 1)
        if not set(row["parents"]) <= members[max(row["iteration"] - back, 0), row["pool"]]
    )
    return outside[1 + lag], outside[1]


@pytest.mark.parametrize("lag", [1, 3])
def test_an_iteration_draws_its_parents_from_an_earlier_state(tmp_path: Path, lag: int) -> None:
    n_outside, n_outside_later = count_places(run_toy(tmp_path, f"search.lag={lag}"), lag)
    assert n_outside == 0 < n_outside_later


def test_without_a_lag_parents_are_members_of_the_pools_before(tmp_path: Path) -> None:
    assert count_places(run_toy(tmp_path, "search.lag=0"), 0) == (0, 0)


@pytest.mark.parametrize("lag", [0, 2])
def test_screened_proposals_are_bred_from_the_calls_up_to_an_earlier_state(tmp_path: Path, lag: int) -> None:
    made = rows(run_toy(tmp_path, *SCREENING, f"search.lag={lag}"), "evaluations")
    iteration_of = {row["call"]: row["iteration"] for row in made if row["call"] is not None}
    bred = [row for row in made if row["iteration"] > lag and row["parents"]]
    assert max(iteration_of[max(row["parents"])] - row["iteration"] for row in bred) == -1 - lag


def test_open_slots_count_as_charged(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "search.lag=4", "budget.oracle_calls=57")
    assert sum(row["call"] is not None for row in rows(run, "evaluations")) == 57


@pytest.mark.parametrize(("lag", "k"), [(1, 2), (2, 1), (2, 5)])
@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_has_the_same_log(tmp_path: Path, method: str, lag: int, k: int) -> None:
    arguments = [f"search.lag={lag}", *METHODS[method]]
    whole = run_toy(tmp_path / "whole", *arguments)
    with pytest.raises(Interrupted):
        run_toy(tmp_path / "parts", *arguments, display=stop_after(k))
    assert log(run_toy(tmp_path / "parts", *arguments)) == log(whole)


@pytest.mark.parametrize("method", METHODS)
def test_the_next_iteration_asks_while_the_slowest_reply_is_awaited(
    server: ModelServer, tmp_path: Path, method: str
) -> None:
    arguments = METHODS[method]
    calls = rows(run_toy(tmp_path / "whole", *asking(server, tmp_path / "replies", 1), *arguments), "llm_calls")
    slow = next(call["prompt"] for call in calls if call["iteration"] == 2 and call["outcome"] == "parsed")
    next_one = next(call["prompt"] for call in calls if call["iteration"] == 3)

    def holding(body: Body, number: int) -> Answer:
        answer = answer_bits(body, number)
        if body["messages"][-1]["content"] == slow:
            answer.is_due = lambda: next_one in server.prompts
        return answer

    server.requests.clear()
    server.script = holding
    run = run_toy(tmp_path / "again", *asking(server, tmp_path / "other", 1), *arguments)
    assert rows(run, "llm_calls")[-1]["reply"] == calls[-1]["reply"]


@pytest.mark.parametrize("method", METHODS)
def test_stops_failures_and_latencies_do_not_change_the_log(server: ModelServer, tmp_path: Path, method: str) -> None:
    whole = run_toy(tmp_path / "whole", *asking(server, tmp_path / "replies", 2), *METHODS[method])
    tries: Counter[str] = Counter()

    def unsteady(body: Body, number: int) -> Answer:
        tries[prompt := body["messages"][-1]["content"]] += 1
        if number % 5 == 0 and tries[prompt] < 4:
            return error(503)
        answer = answer_bits(body, number)
        answer.delay = (number * 7919 % 10) / 200
        return answer

    server.script = unsteady
    server.requests.clear()
    arguments = [*asking(server, tmp_path / "other", 2), "llm.concurrency=7", *METHODS[method]]
    for _ in range(3):
        with pytest.raises(Interrupted):
            run_toy(tmp_path / "parts", *arguments, display=stop_after(1))
    run = run_toy(tmp_path / "parts", *arguments)
    assert log(run) == log(whole)
    n_answered = server.n_answered - len(rows(whole, "llm_calls"))
    assert n_answered <= len(rows(run, "llm_calls")) + 4  # the checks of the model, which are not logged


def record(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text())


def test_replies_on_their_way_at_the_end_are_counted_as_paid(server: ModelServer, tmp_path: Path) -> None:
    made = rows(run_toy(tmp_path / "whole", *asking(server, tmp_path / "replies", 3)), "evaluations")
    target = max(row["score"] or 0 for row in made) - 1e-6
    assert max(row["score"] or 0 for row in made if row["iteration"] < 2) < target  # so that others are on their way
    server.requests.clear()
    arguments = [*asking(server, tmp_path / "other", 3), "budget.oracle_calls=200"]
    run = run_toy(tmp_path / "less", *arguments, f"search.target={target}")
    ended = record(run)
    assert ended["stopped_by"] == "target"
    asked = [body for body in server.requests if body["messages"][0]["content"].startswith(("cold", "hot"))]
    assert len(rows(run, "llm_calls")) == ended["llm"]["calls"]
    assert ended["llm_unused"]["calls"] == len(asked) - ended["llm"]["calls"] > 0


def test_no_more_requests_are_sent_once_the_run_has_ended(server: ModelServer, tmp_path: Path) -> None:
    made = rows(run_toy(tmp_path / "whole", *asking(server, tmp_path / "replies", 3)), "evaluations")
    first = max(row["score"] for row in made if row["iteration"] == 0)
    target = next(row["score"] for row in made if (row["score"] or 0) > first) - 1e-6

    def late(body: Body, number: int) -> Answer:
        answer = answer_bits(body, number)
        answer.delay = 0.2
        return answer

    server.script = late
    ending = ["llm.concurrency=2", f"search.target={target}"]
    run = run_toy(tmp_path / "less", *asking(server, tmp_path / "other", 3), *ending)
    assert record(run)["stopped_by"] == "target"
    assert record(run)["llm_unused"]["calls"] < 10
    replayed = ["llm=replay", "llm.model=toy", f"llm.cache={tmp_path / 'other'}", SHORT, "search.lag=3", ending[1]]
    assert log(run_toy(tmp_path / "replayed", *replayed)) == log(run)


@pytest.mark.parametrize(("cap", "limit"), [("llm_calls", 45), ("tokens", 9_000)])
@pytest.mark.parametrize("method", METHODS)
def test_a_cap_holds_and_a_repeated_run_stops_at_the_same_place(
    server: ModelServer, tmp_path: Path, method: str, cap: str, limit: int
) -> None:
    caps = [f"budget.{cap}={limit}", "budget.oracle_calls=200"]
    arguments = [*asking(server, tmp_path / "replies", 2), *METHODS[method], *caps]
    run = run_toy(tmp_path / "first", *arguments)
    used = record(run)["llm"]
    assert record(run)["stopped_by"] == cap
    assert {"llm_calls": used["calls"], "tokens": used["prompt_tokens"] + used["completion_tokens"]}[cap] <= limit
    assert log(run_toy(tmp_path / "second", *arguments)) == log(run)


def test_a_cap_leaves_no_paid_reply_unused(server: ModelServer, tmp_path: Path) -> None:
    arguments = [*asking(server, tmp_path / "replies", 4), "budget.llm_calls=60", "budget.oracle_calls=200"]
    display = Silent()
    ended = record(run_toy(tmp_path, *arguments, display=display))
    assert (ended["stopped_by"], "llm_unused" in ended) == ("llm_calls", False)
    assert ended["llm"]["calls"] > 50
    assert display.snapshots[-1].awaited is None


def test_a_longer_run_has_the_log_of_one_from_scratch(tmp_path: Path) -> None:
    run_toy(tmp_path / "here", "search.lag=2", "budget.oracle_calls=50")
    longer = run_toy(tmp_path / "here", "search.lag=2", "budget.oracle_calls=80")
    assert log(longer) == log(run_toy(tmp_path / "there", "search.lag=2", "budget.oracle_calls=80"))
