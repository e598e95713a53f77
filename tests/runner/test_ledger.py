"""Each request to a language model is counted once, and caps hold even in the worst case."""

from dataclasses import replace

import pytest

from evodiverse.runner.ledger import Budget, CallOutcome, Cap, Ledger
from evodiverse.vocabulary import CostBound, Decoding, Finish, Message, Prompt, Query, Reply, Request, Stream, Usage

QUERY = Query("toy", (Message("user", "hello"),), Decoding(1.0, None, 50), Stream(0, 4))
QUOTE = CostBound(100, 0.5)


def record(ledger: Ledger, reply: Reply, pool: int = 0, bound: CostBound = QUOTE, query: Query = QUERY) -> int:
    request = Request(3, pool, 5, 2, (), Prompt.COLD, Stream(0, 4))
    return ledger.record(request, query, bound, reply, CallOutcome.PARSED)


def reply(prompt: int | None = 30, completion: int | None = 12, usd: float | None = 0.25) -> Reply:
    return Reply("text", Finish.STOP, "", prompt, completion, usd, 1.5, 2, cached=True)


def test_calls_are_numbered_and_summed_by_pool() -> None:
    ledger = Ledger(Budget(), 3)
    assert [record(ledger, reply(), pool) for pool in (0, 2, 2)] == [1, 2, 3]
    assert ledger.pools == [Usage(1, 30, 12, 0.25), Usage(), Usage(2, 60, 24, 0.5)]
    assert ledger.total == Usage(3, 90, 36, 0.75)


def test_a_row_holds_everything_about_a_call() -> None:
    ledger = Ledger(Budget(), 2)
    record(ledger, reply(), 1)
    assert ledger.take_rows() == [
        {
            "llm_call": 1,
            "iteration": 3,
            "pool": 1,
            "slot": 5,
            "attempt": 2,
            "model": "toy",
            "prompt_tokens": 30,
            "cached_tokens": None,
            "completion_tokens": 12,
            "cost_usd": 0.25,
            "seconds": 1.5,
            "cached": True,
            "retries": 2,
            "outcome": "parsed",
            "prompt": "hello",
            "reply": "text",
            "reasoning": None,
            "error": None,
        }
    ]
    assert ledger.take_rows() == []


def test_a_row_has_the_reasoning_apart_from_the_reply() -> None:
    ledger = Ledger(Budget(), 1)
    record(ledger, replace(reply(), reasoning="hm"))
    (row,) = ledger.take_rows()
    assert (row["reply"], row["reasoning"]) == ("text", "hm")


def test_several_messages_become_one_text_with_their_roles() -> None:
    ledger = Ledger(Budget(), 1)
    query = Query("toy", (Message("system", "be brief"), Message("user", "hello")), QUERY.decoding, QUERY.stream)
    record(ledger, reply(), query=query)
    assert ledger.take_rows()[0]["prompt"] == "system: be brief\n\nuser: hello"


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        (reply(usd=None), Usage(2, 60, 24, None)),
        (reply(prompt=None), Usage(2, None, 24, 0.5)),
        (reply(completion=None), Usage(2, 60, None, 0.5)),
    ],
)
def test_a_sum_with_an_unknown_part_is_unknown(unknown: Reply, expected: Usage) -> None:
    ledger = Ledger(Budget(), 1)
    record(ledger, unknown)
    record(ledger, reply())
    assert ledger.total == expected


@pytest.mark.parametrize(
    ("caps", "n_fitting"),
    [
        (Budget(llm_calls=5), 4),  # one call was made
        (Budget(tokens=341), 2),  # 42 tokens were used; a request may take 100
        (Budget(tokens=342), 3),
        (Budget(usd=1.74), 2),  # 0.25 USD were spent; a request may cost 0.5
        (Budget(usd=1.75), 3),
        (Budget(seconds=60.0), 1000),
        (Budget(), 1000),
    ],
)
def test_a_round_starts_only_if_its_worst_case_fits(caps: Budget, n_fitting: int) -> None:
    ledger = Ledger(caps, 1)
    record(ledger, reply())
    assert ledger.find_cap([QUOTE] * n_fitting, 59.9) is None
    if n_fitting < 1000:
        (name,) = (cap for cap in Cap if getattr(caps, cap) is not None)
        assert ledger.find_cap([QUOTE] * (n_fitting + 1), 59.9) == name


def test_the_cap_on_time_stops_even_rounds_that_cost_nothing() -> None:
    ledger = Ledger(Budget(seconds=60.0), 1)
    assert ledger.find_cap([], 60.0) is Cap.SECONDS


def test_caps_on_models_do_not_stop_rounds_without_a_model() -> None:
    ledger = Ledger(Budget(llm_calls=1, tokens=1, usd=0.1), 1)
    record(ledger, reply())
    assert ledger.find_cap([], 0.0) is None


@pytest.mark.parametrize(
    ("caps", "unknown"),
    [
        (Budget(tokens=199), reply(prompt=None)),
        (Budget(tokens=199), reply(completion=None)),
        (Budget(usd=0.99), reply(usd=None)),
    ],
)
def test_unknown_counts_and_costs_count_as_the_worst_case(caps: Budget, unknown: Reply) -> None:
    ledger = Ledger(caps, 1)
    record(ledger, unknown)
    assert ledger.find_cap([QUOTE], 0.0) is not None
    known = Ledger(caps, 1)
    record(known, reply())
    assert known.find_cap([QUOTE], 0.0) is None


def test_an_unknown_price_fits_under_no_cap_on_usd() -> None:
    assert Ledger(Budget(usd=1e9), 1).find_cap([CostBound(1, None)], 0.0) is Cap.USD


def test_a_ledger_continues_from_its_saved_totals() -> None:
    caps = Budget(llm_calls=3, tokens=10_000, usd=100.0)
    ledger = Ledger(caps, 2)
    record(ledger, reply(), 1)
    record(ledger, reply(prompt=None, usd=None), 0)
    resumed = Ledger(caps, 2)
    resumed.resume(ledger.saved())
    assert (resumed.pools, resumed.saved()) == (ledger.pools, ledger.saved())
    assert record(resumed, reply()) == 3
