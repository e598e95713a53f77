"""The promises of a cached model, on a scripted client."""

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import InputError, Interrupted, ModelUnavailableError
from evodiverse.llm.cache import Bought, ReplyCache
from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.llm.library import Price
from evodiverse.llm.model import CachedModel
from evodiverse.vocabulary import CostBound, Decoding, Finish, Message, Query, Reply, Stream

PRICE = Price(1e-3, 2e-3)


def query(number: int, content: str = "hello") -> Query:
    return Query("toy", (Message("user", content),), Decoding(1.3, None, 40), Stream(0, 4, 1, 0, number))


class ToldClient:
    """A client that answers a query with its slot.

    ``script`` may raise instead, and returns how many turns of the event loop an answer takes.
    """

    def __init__(self, script: Callable[[int, int], int] = lambda slot, n_before: 1) -> None:
        self.script = script
        self.sent: Counter[int] = Counter()
        self.in_flight = 0
        self.most_in_flight = 0
        self.known_price: Price | None = PRICE
        self.is_closed = False

    async def ask(self, query: Query) -> Reply:
        slot = query.stream.slot
        n_before = self.sent[slot]
        self.sent[slot] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            for _ in range(self.script(slot, n_before)):
                await asyncio.sleep(0)
        finally:
            self.in_flight -= 1
        return Reply(f"reply {slot}", Finish.STOP, prompt_tokens=10, completion_tokens=2)

    def price(self, model: str) -> Price | None:
        return self.known_price

    async def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ReplyCache]:
    with ReplyCache(tmp_path / "cache") as opened:
        yield opened


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float | None]]:
    """The number of failures and the provider's requested delay at each wait; no wait takes any time."""
    waited: list[tuple[int, float | None]] = []

    def note(failures: int, retry_after: float | None, rng: object) -> float:
        waited.append((failures, retry_after))
        return 0.0

    monkeypatch.setattr("evodiverse.llm.asking.backoff", note)
    return waited


def texts(cache: ReplyCache, client: ToldClient | None, numbers: list[int], **options: int) -> list[str]:
    with CachedModel(cache, client, **{"concurrency": 64, "retries": 2, **options}) as model:
        return [reply.text for reply in model.complete([query(number) for number in numbers])]


def test_replies_come_in_the_order_of_the_queries_whichever_arrives_first(cache: ReplyCache) -> None:
    client = ToldClient(lambda slot, n_before: 50 - slot)
    assert texts(cache, client, list(range(50))) == [f"reply {slot}" for slot in range(50)]
    assert client.most_in_flight == 50
    assert client.is_closed


def test_no_queries_have_no_replies(cache: ReplyCache) -> None:
    assert texts(cache, ToldClient(), []) == []


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_no_more_queries_than_allowed_are_in_progress(cache: ReplyCache, concurrency: int) -> None:
    client = ToldClient(lambda slot, n_before: 1 + slot % 7)
    assert len(texts(cache, client, list(range(40)), concurrency=concurrency)) == 40
    assert client.most_in_flight == concurrency


def test_a_slow_reply_does_not_hold_up_the_others(cache: ReplyCache) -> None:
    class SlowFirst(ToldClient):
        async def ask(self, query: Query) -> Reply:
            while query.stream.slot == 0 and self.sent.total() < 29:
                await asyncio.sleep(0)
            return await super().ask(query)

    assert len(texts(cache, SlowFirst(), list(range(30)), concurrency=2)) == 30


def test_a_reply_is_bought_once(cache: ReplyCache) -> None:
    client = ToldClient()
    texts(cache, client, [1, 2, 3])
    texts(cache, client, [2, 3, 4])
    assert client.sent == Counter([1, 2, 3, 4])
    with CachedModel(cache, client, 64, 0) as model:
        assert [reply.cached for reply in model.complete([query(4), query(5)])] == [True, False]


def test_a_query_that_fails_for_a_moment_is_sent_again(
    cache: ReplyCache, waits: list[tuple[int, float | None]]
) -> None:
    def script(slot: int, n_before: int) -> int:
        if slot % 2 and n_before < 2:
            raise TransientError("not now", retry_after=3.0 if n_before else None)
        return 1

    with CachedModel(cache, ToldClient(script), 64, retries=2) as model:
        replies = model.complete([query(number) for number in range(4)])
    assert [reply.retries for reply in replies] == [0, 2, 0, 2]
    assert sorted(waits, key=str) == [(1, None), (1, None), (2, 3.0), (2, 3.0)]


def fail_at(bad: int, error: Exception) -> Callable[[int, int], int]:
    def script(slot: int, n_before: int) -> int:
        if slot == bad:
            raise error
        return 5

    return script


def test_when_retries_run_out_queries_in_progress_are_kept_and_no_more_are_sent(cache: ReplyCache) -> None:
    client = ToldClient(fail_at(2, TransientError("still not")))
    with pytest.raises(ModelUnavailableError, match="toy failed 3 times in a row, the last time with: still not"):
        texts(cache, client, list(range(100)), concurrency=10)
    assert client.sent[2] == 3
    assert len(client.sent) < 100
    kept = [number for number in range(100) if cache.find([query(number)]) != [None]]
    assert kept == [number for number in sorted(client.sent) if number != 2]


def test_a_refusal_is_not_sent_again(cache: ReplyCache) -> None:
    client = ToldClient(fail_at(0, RefusedError("no such model", 404)))
    with pytest.raises(ModelUnavailableError, match="toy refused: no such model") as failed:
        texts(cache, client, [0])
    assert (client.sent[0], failed.value.status) == (1, 404)


def test_a_provider_that_asks_for_a_day_ends_the_run(cache: ReplyCache) -> None:
    client = ToldClient(fail_at(0, TransientError("quota", retry_after=86_400.0)))
    with pytest.raises(ModelUnavailableError, match="toy asks us to wait 86,400 s: quota"):
        texts(cache, client, [0])
    assert client.sent[0] == 1


def test_a_bug_is_raised_unchanged(cache: ReplyCache) -> None:
    with pytest.raises(ZeroDivisionError):
        texts(cache, ToldClient(fail_at(0, ZeroDivisionError())), [0, 1])


def test_each_stored_reply_is_reported_to_the_caller(cache: ReplyCache, tmp_path: Path) -> None:
    texts(cache, ToldClient(), [0, 1])
    told: list[int] = []

    def look(n: int) -> None:
        told.append(n)
        with ReplyCache(tmp_path / "cache") as other:
            kept = sum(entry is not None for entry in other.find([query(number) for number in range(6)]))
        assert kept >= sum(told)

    with CachedModel(cache, ToldClient(), 2, 0) as model:
        model.complete([query(number) for number in range(6)], look)
    assert [n for n in told if n] == [2, 1, 1, 1, 1]


def test_an_interruption_keeps_queries_in_progress_and_sends_no_more(cache: ReplyCache) -> None:
    client = ToldClient()

    def stop(n: int) -> None:
        if n:
            raise Interrupted(2)

    with CachedModel(cache, client, concurrency=5, retries=0) as model, pytest.raises(Interrupted):
        model.complete([query(number) for number in range(50)], stop)
    assert 1 <= len(client.sent) <= 10
    assert None not in cache.find([query(number) for number in client.sent])


def test_an_interruption_of_the_work_during_a_wait_keeps_queries_in_progress(cache: ReplyCache) -> None:
    def evaluate() -> None:
        if len(client.sent) == 3:
            raise Interrupted(2)

    client = ToldClient(lambda slot, n_before: 10_000)
    with CachedModel(cache, client, concurrency=3, retries=0) as model, pytest.raises(Interrupted):
        model.begin([query(number) for number in range(9)], lambda n: None)(evaluate)
    assert client.sent.total() == 3
    assert None not in cache.find([query(number) for number in client.sent])


class SilentClient(ToldClient):
    """A client that never answers."""

    async def ask(self, query: Query) -> Reply:
        await super().ask(query)
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


def interrupt_when_nothing_comes() -> Callable[[int], None]:
    told: list[int] = []

    def look(n: int) -> None:
        told.append(n)
        if told == [0, 0]:  # the first is about the cache
            raise Interrupted(2)

    return look


@pytest.mark.parametrize(
    "client",
    [SilentClient(), ToldClient(fail_at(0, TransientError("not now")))],
    ids=["silence", "failures"],
)
def test_an_interruption_is_noticed_while_no_reply_arrives(
    cache: ReplyCache, client: ToldClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evodiverse.llm.asking.GRACE_SECONDS", 0.05)
    monkeypatch.setattr("evodiverse.llm.asking.backoff", lambda failures, retry_after, rng: 1000.0)
    with CachedModel(cache, client, concurrency=2, retries=1000) as model, pytest.raises(Interrupted):
        model.complete([query(0), query(0, "once more"), query(0, "and again")], interrupt_when_nothing_comes())
    assert client.sent.total() == 2


def test_a_model_answers_where_an_event_loop_already_runs_and_leaves_no_thread(cache: ReplyCache) -> None:
    async def cell() -> list[str]:
        return texts(cache, ToldClient(), [0, 1])

    before = threading.enumerate()
    assert asyncio.run(cell()) == ["reply 0", "reply 1"]
    assert threading.enumerate() == before


def test_the_context_of_the_caller_reaches_the_client(cache: ReplyCache) -> None:
    place = ContextVar("place", default="")
    found: list[str] = []
    client = ToldClient(lambda slot, n_before: len(found.append(place.get()) or "1"))
    with CachedModel(cache, client, 64, 0) as model:
        for name in ("first", "second"):
            place.set(name)
            model.complete([query(0, name)])
    assert found == ["first", "second"]


def test_a_signal_that_raises_in_the_main_thread_ends_the_wait(cache: ReplyCache) -> None:
    def press(slot: int, n_before: int) -> int:
        if slot == 1:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return 1

    client = SilentClient(press)
    with CachedModel(cache, client, concurrency=2, retries=0) as model, pytest.raises(KeyboardInterrupt):
        model.complete([query(number) for number in range(4)])
    assert (sorted(client.sent), client.is_closed) == ([0, 1], True)


def test_a_signal_before_the_wait_leaves_no_thread(cache: ReplyCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any) -> None:
        schedule(*arguments)
        monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", schedule)
        raise KeyboardInterrupt

    before = threading.enumerate()
    schedule = asyncio.run_coroutine_threadsafe
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", interrupt)
    with CachedModel(cache, SilentClient(), concurrency=2, retries=0) as model, pytest.raises(KeyboardInterrupt):
        model.complete([query(0)])
    assert threading.enumerate() == before


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refusal_of_one_prompt_is_a_reply_without_text_but_a_probe_fails(cache: ReplyCache, status: int) -> None:
    client = ToldClient(fail_at(1, RefusedError("not this one", status)))
    with CachedModel(cache, client, 64, 0) as model:
        with pytest.raises(ModelUnavailableError, match=r"toy refused: not this one$"):
            model.complete([query(1)], is_probe=True)
        first, second = model.complete([query(0), query(1)])
    assert (first.text, second.text, second.finish, second.error) == ("reply 0", "", Finish.ERROR, "not this one")


def test_a_reply_that_another_process_bought_first_is_the_one_that_counts(cache: ReplyCache, tmp_path: Path) -> None:
    class Slower(ToldClient):
        async def ask(self, query: Query) -> Reply:
            with ReplyCache(tmp_path / "cache") as other:
                other.keep([(query, Bought(Reply("theirs", Finish.STOP), None))])
            return await super().ask(query)

    assert texts(cache, Slower(), [0]) == ["theirs"]
    assert texts(cache, None, [0]) == ["theirs"]


def test_without_a_client_the_first_missing_reply_is_named(cache: ReplyCache) -> None:
    texts(cache, ToldClient(), [0])
    assert texts(cache, None, [0, 0]) == ["reply 0", "reply 0"]
    with pytest.raises(InputError, match=r"iteration 1, pool 0, slot 7, attempt 0 \(seed 0, toy\)"):
        texts(cache, None, [0, 7, 8])


def test_a_quote_bounds_the_cost_of_a_query(cache: ReplyCache) -> None:
    text = "C1=CC=CN1 β 药" * 10
    with CachedModel(cache, ToldClient(), 64, 0) as model:
        (bound,) = model.bound_costs([query(0, text)])
    assert bound.tokens - 40 >= len(text.encode())
    assert bound.usd == pytest.approx((bound.tokens - 40) * PRICE.prompt + 40 * PRICE.completion)


def test_an_unknown_price_is_no_price(cache: ReplyCache) -> None:
    client = ToldClient()
    client.known_price = None
    with CachedModel(cache, client, 64, 0) as model:
        assert model.bound_costs([query(0)])[0].usd is None


def test_a_cached_reply_is_quoted_at_the_price_it_was_bought_for(cache: ReplyCache) -> None:
    client = ToldClient()
    with CachedModel(cache, client, 64, 0) as model:
        then: list[CostBound] = model.bound_costs([query(0)])
        model.complete([query(0)])
        client.known_price = Price(1.0, 1.0)
        assert model.bound_costs([query(0)]) == then
        assert model.bound_costs([replace(query(0), model="other")]) != then
    with CachedModel(cache, None, 64, 0) as model:
        assert model.bound_costs([query(0)]) == then
