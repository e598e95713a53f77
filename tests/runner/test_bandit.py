"""What a bandit learns from the requests of an iteration, and what the log has of it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from evodiverse.llm.library import Price
from evodiverse.runner.bandit import Bandit
from evodiverse.search.state import Attempt, IterationInfo
from evodiverse.vocabulary import (
    CostBound,
    Decoding,
    Evaluation,
    Finish,
    Outcome,
    Prompt,
    Reply,
    Request,
    Sampler,
    Stream,
)

DECODING = Decoding(1.0, None, 50)
BOTH = [Sampler("dear", DECODING, 1.0), Sampler("cheap", DECODING, 3.0)]
COSTS = {"dear": Price(0.01, 0.04, 0.001).cost, "cheap": Price(0.001, 0.002).cost}
SCORES = np.array([0.5])
REPLY = Reply("=01", Finish.STOP, prompt_tokens=100, completion_tokens=20)
BOUND = CostBound(300, None)


def bandit() -> Bandit:
    """Return a bandit of two pools with a choice and one without."""
    return Bandit([BOTH, BOTH, BOTH[:1]], COSTS)


def request(pool: int = 0, iteration: int = 1) -> Request:
    return Request(iteration, pool, 0, 1, (), Prompt.COLD, Stream(0, 4, iteration))


def info(*gained: int, n: int = 0, iteration: int = 1) -> IterationInfo:
    """Return the record of an iteration with so many requests, of which those with these numbers gained."""
    attempts = tuple(
        Attempt(
            *(iteration, 0, 0, 1, Outcome.EVALUATED, "llm", (1,)),
            evaluation=Evaluation(0.6 if number in gained else 0.4, 0.0),
            llm_call=number,
        )
        for number in range(1, n + 1)
    )
    return IterationInfo(iteration, (), attempts)


def learn(one: Bandit, noted: Sequence[tuple[str, int, Reply]], *gained: int, iteration: int = 1) -> dict[str, tuple]:
    """Return the requests, gains and cost of each model in an iteration with these requests."""
    one.begin(iteration, one.share_out(10))
    for number, (model, pool, reply) in enumerate(noted, start=1):
        one.note(number, request(pool, iteration), model, reply, BOUND)
    rows = one.end(info(*gained, n=len(noted), iteration=iteration), SCORES)
    return {str(row["model"]): (row["requests"], row["gains"], row["full_cost_usd"]) for row in rows}


def test_the_weights_are_the_first_shares() -> None:
    assert bandit().share_out(10) == [[0.25, 0.75], [0.25, 0.75], [1.0]]


def test_an_iteration_has_the_shares_that_it_began_with_until_it_ends() -> None:
    one = bandit()
    one.begin(1, [[0.1, 0.9], [0.2, 0.8], [1.0]])
    one.begin(2, [[0.5, 0.5], [0.6, 0.4], [1.0]])
    assert [one.find_shares(request(pool, iteration)) for iteration, pool in ((1, 1), (2, 0))] == [
        [0.2, 0.8],
        [0.5, 0.5],
    ]


def test_requests_of_all_pools_with_a_choice_count_together() -> None:
    noted = [("dear", 0, REPLY), ("dear", 1, REPLY), ("cheap", 1, REPLY), ("dear", 2, REPLY)]
    assert learn(bandit(), noted, 1, 3, 4) == {
        "dear": (2, 1, pytest.approx(2 * (1 + 0.8))),
        "cheap": (1, 1, pytest.approx(0.1 + 0.04)),
    }


def test_a_reply_from_the_cache_counts_at_its_full_price() -> None:
    cached = replace(REPLY, cached=True, cost_usd=0.0)
    assert learn(bandit(), [("dear", 0, cached)]) == learn(bandit(), [("dear", 0, REPLY)])


def test_tokens_that_the_provider_had_cached_count_at_their_price() -> None:
    reply = replace(REPLY, cached_tokens=80)
    assert learn(bandit(), [("dear", 0, reply)])["dear"][2] == pytest.approx(0.2 + 0.08 + 0.8)


@pytest.mark.parametrize("unknown", ["prompt_tokens", "completion_tokens"])
def test_a_reply_of_unknown_size_counts_at_the_most_that_it_can_cost(unknown: str) -> None:
    assert learn(bandit(), [("dear", 0, replace(REPLY, **{unknown: None}))])["dear"][2] == pytest.approx(300 * 0.04)


def test_a_model_without_requests_has_a_row_without_an_index() -> None:
    one = bandit()
    one.begin(1, one.share_out(10))
    one.note(1, request(), "dear", REPLY, BOUND)
    dear, cheap = one.end(info(1, n=1), SCORES)
    assert dear["index"] == pytest.approx(1 / 1.8)  # with a single request, which gained, the bound is 1
    assert (cheap["requests"], cheap["index"]) == (0, None)


def test_the_initial_candidates_have_no_rows() -> None:
    assert bandit().end(info(iteration=0), SCORES) == []


def test_the_state_can_be_rebuilt_from_the_log() -> None:
    one, other, rows = bandit(), bandit(), []
    for iteration in range(1, 5):
        one.begin(iteration, one.share_out(10))
        for number in range(1, 8):
            model = "dear" if number <= iteration else "cheap"
            one.note(number, request(0, iteration), model, REPLY, BOUND)
        rows += one.end(info(2, 5, n=7, iteration=iteration), SCORES)
    other.resume(rows)
    assert other.share_out(10) == one.share_out(10) != bandit().share_out(10)
    for each in (one, other):
        each.begin(5, [])
    assert other.end(info(n=0, iteration=5), SCORES) == one.end(info(n=0, iteration=5), SCORES)  # with all indices
