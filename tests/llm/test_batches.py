"""Batches of queries: a real server over HTTP, that loses lines, is late, mixes the order and expires."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import InputError, ModelUnavailableError, ServiceError
from evodiverse.llm import batches
from evodiverse.llm.batches import Batching
from evodiverse.llm.cache import Bought, ReplyCache, query_key
from evodiverse.llm.chat import ChatClient
from evodiverse.llm.clients import KINDS
from evodiverse.llm.endpoints import AnthropicEndpoint, Endpoint, OpenAiEndpoint
from evodiverse.llm.library import Price
from evodiverse.llm.model import CachedModel
from evodiverse.llm.settings import Llm, LlmPool, LlmPools
from evodiverse.llm.shelf import Batch, Shelf
from evodiverse.vocabulary import Decoding, Finish, Message, Query, Reply, Stream
from tests.llm.batch_server import BatchServer
from tests.llm.servers import Answer, Body, error, serving

PRICE = Price(1e-3, 2e-3)
FULL = 100 * 1e-3 + 20 * 2e-3  # of one reply of the server


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.llm.asking.backoff", lambda failures, retry_after, rng: 0.0)
    monkeypatch.setattr(batches, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(batches, "_LONGEST_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(batches, "_OUTAGE_SECONDS", 0.3)


def echo(body: Body, number: int) -> Answer:
    """Answer with the last message."""
    return Answer(body["messages"][-1]["content"])


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with serving(BatchServer(echo)) as running:
        assert isinstance(running, BatchServer)
        yield running


def query(number: int, model: str = "toy") -> Query:
    messages = (Message("system", "be brief"), Message("user", f"say {number}"))
    return Query(model, messages, Decoding(1.3, None, 40), Stream(0, 4, 1, 0, number))


QUERIES = [query(number) for number in range(6)]
TEXTS = [f"say {number}" for number in range(6)]


def make_endpoint(server: BatchServer, kind: type[Endpoint] = OpenAiEndpoint) -> Endpoint:
    address = server.url if kind is OpenAiEndpoint else server.url.removesuffix("/v1")
    return kind(address, "sk-none-for-tests", "TOY_API_KEY", 30.0, name="toy-1", price=PRICE.halved())


def make_model(
    server: BatchServer, cache: ReplyCache, kind: type[Endpoint] = OpenAiEndpoint, retries: int = 2, **options: Any
) -> CachedModel:
    names = ("toy", "other")
    client = ChatClient(
        {name: f"openai/{name}" for name in names}, server.url, "sk-none", 30.0, dict.fromkeys(names, PRICE)
    )
    batching = Batching(
        Shelf(cache.path),
        dict.fromkeys(names, make_endpoint(server, kind)),
        **{"falls_back": True, **options},
    )
    return CachedModel(cache, client, 64, retries, batching)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ReplyCache]:
    with ReplyCache(tmp_path / "cache") as opened:
        yield opened


def complete(model: CachedModel, queries: list[Query] = QUERIES) -> list[Reply]:
    with model:
        return model.complete(queries)


def texts(replies: list[Reply]) -> list[str]:
    return [reply.text for reply in replies]


def put(cache: ReplyCache, batch: Batch) -> None:
    """Leave a batch as an earlier process did."""
    shelf = Shelf(cache.path)
    shelf.folder.mkdir(exist_ok=True)
    shelf.write(batch)


def jobs_on_shelf(cache: ReplyCache) -> list[Batch]:
    return Shelf(cache.path).read()


@pytest.mark.parametrize("kind", [OpenAiEndpoint, AnthropicEndpoint])
def test_the_queries_of_a_round_are_one_batch_at_half_the_price(
    server: BatchServer, cache: ReplyCache, kind: type[Endpoint]
) -> None:
    replies = complete(make_model(server, cache, kind))
    assert texts(replies) == TEXTS
    assert len(server.jobs) == 1
    assert not server.singles
    assert [reply.cost_usd for reply in replies] == [pytest.approx(FULL / 2)] * 6
    assert all(reply.prompt_tokens == 100 and reply.completion_tokens == 20 for reply in replies)
    assert not jobs_on_shelf(cache)
    assert texts(complete(make_model(server, cache, kind))) == TEXTS  # now from the cache
    assert len(server.jobs) == 1


def test_anthropic_gets_its_own_format_and_its_numbers_are_read(server: BatchServer, cache: ReplyCache) -> None:
    (reply,) = complete(make_model(server, cache, AnthropicEndpoint), QUERIES[:1])
    (job,) = server.jobs.values()
    assert job.requests[0][1] == {
        "model": "toy-1",
        "messages": [{"role": "user", "content": "say 0"}],
        "system": "be brief",
        "temperature": 1.3,
        "max_tokens": 40,
    }
    assert (reply.prompt_tokens, reply.cached_tokens, reply.reasoning) == (100, 20, "hm")
    sent = [dict(headers) for headers, path in zip(server.headers, server.paths, strict=True) if "batches" in path]
    assert {(one["x-api-key"], one["anthropic-version"]) for one in sent} == {("sk-none-for-tests", "2023-06-01")}


def test_each_model_has_its_own_batch(server: BatchServer, cache: ReplyCache) -> None:
    mixed = [query(number, "toy" if number % 2 else "other") for number in range(6)]
    assert texts(complete(make_model(server, cache), mixed)) == TEXTS
    assert sorted(len(job.requests) for job in server.jobs.values()) == [3, 3]


def lose(*numbers: int, to: Callable[[], Answer]) -> Callable[[Body, int], Answer]:
    """Return a script that answers some queries otherwise when they come for the first time."""
    left = {f"say {number}" for number in numbers}

    def script(body: Body, number: int) -> Answer:
        text = body["messages"][-1]["content"]
        if text in left:
            left.remove(text)
            return to()
        return echo(body, number)

    return script


FAILURES = {
    "lost": lambda: Answer(cut=0),
    "expired": lambda: Answer(is_due=lambda: False),
    "failed": lambda: error(500),
}


@pytest.mark.parametrize("kind", [OpenAiEndpoint, AnthropicEndpoint])
@pytest.mark.parametrize("failure", FAILURES)
def test_queries_without_a_reply_are_sent_by_themselves_at_the_full_price(
    server: BatchServer, cache: ReplyCache, failure: str, kind: type[Endpoint]
) -> None:
    server.script = lose(1, 4, to=FAILURES[failure])
    replies = complete(make_model(server, cache, kind))
    assert texts(replies) == TEXTS
    assert len(server.jobs) == 1
    assert len(server.singles) == 2
    assert [round(reply.cost_usd / FULL, 6) for reply in replies if reply.cost_usd] == [0.5, 1, 0.5, 0.5, 1, 0.5]


@pytest.mark.parametrize("failure", FAILURES)
def test_queries_without_a_reply_can_be_sent_in_another_batch(
    server: BatchServer, cache: ReplyCache, failure: str
) -> None:
    server.script = lose(1, 4, to=FAILURES[failure])
    replies = complete(make_model(server, cache, falls_back=False))
    assert texts(replies) == TEXTS
    assert [len(job.requests) for job in server.jobs.values()] == [6, 2]
    assert not server.singles
    assert [reply.retries for reply in replies] == [0, 1, 0, 0, 1, 0]


def test_batches_that_lose_a_query_again_and_again_end_the_run_without_losing_the_others(
    server: BatchServer, cache: ReplyCache
) -> None:
    server.script = lambda body, number: Answer(cut=0) if "say 3" in str(body) else echo(body, number)
    with pytest.raises(ModelUnavailableError, match=r"1 query without a reply in 3 batches.*batch_fallback=single"):
        complete(make_model(server, cache, falls_back=False))
    assert [len(job.requests) for job in server.jobs.values()] == [6, 1, 1]
    assert [bought is None for bought in cache.find(QUERIES)] == [False, False, False, True, False, False]


def test_a_query_that_is_refused_for_its_prompt_has_an_empty_reply(server: BatchServer, cache: ReplyCache) -> None:
    server.script = lose(2, to=lambda: error(400, "bad prompt"))
    replies = complete(make_model(server, cache))
    assert replies[2].finish is Finish.ERROR
    assert "bad prompt" in replies[2].error
    assert not server.singles


def test_a_refusal_of_the_account_ends_the_round_and_other_replies_are_kept(
    server: BatchServer, cache: ReplyCache
) -> None:
    server.script = lose(2, to=lambda: error(403))
    with pytest.raises(ModelUnavailableError, match="the key is not allowed"):
        complete(make_model(server, cache))
    assert sum(bought is not None for bought in cache.find(QUERIES)) == 5


@pytest.mark.parametrize("kind", [OpenAiEndpoint, AnthropicEndpoint])
def test_a_batch_whose_start_was_not_confirmed_is_not_sent_again(
    server: BatchServer, cache: ReplyCache, kind: type[Endpoint]
) -> None:
    cuts = iter([Answer(cut=-1), error(503)])
    server.before = lambda method, path: next(cuts, None) if method == "POST" and path.endswith("/batches") else None
    assert texts(complete(make_model(server, cache, kind))) == TEXTS
    assert len(server.jobs) == 1


@pytest.mark.parametrize("kind", [OpenAiEndpoint, AnthropicEndpoint])
def test_it_is_found_behind_many_newer_ones(server: BatchServer, cache: ReplyCache, kind: type[Endpoint]) -> None:
    def cut(method: str, path: str) -> Answer | None:
        if method == "POST" and path.endswith("/batches") and len(server.jobs) == 1:
            for _ in range(5):
                server._start("x" if kind is OpenAiEndpoint else "", [("other-0", {}), ("other-1", {})])
            return Answer(cut=-1)
        return None

    server.before = cut
    assert texts(complete(make_model(server, cache, kind))) == TEXTS
    assert len(server.jobs) == 6


def test_a_provider_that_does_not_list_its_batches_leaves_the_decision_to_the_user(
    server: BatchServer, cache: ReplyCache
) -> None:
    def cut(method: str, path: str) -> Answer | None:
        is_start = method == "POST" and path.endswith("/batches")
        return Answer(cut=-1) if is_start else error(405) if "?limit" in path else None

    server.before = cut
    for _ in range(2):
        with pytest.raises(ModelUnavailableError, match=r"set job in .* or delete that file") as asked:
            complete(make_model(server, cache))
    (batch,), (job,) = jobs_on_shelf(cache), server.jobs
    assert str(Shelf(cache.path).path(batch)) in str(asked.value)
    Shelf(cache.path).write(replace(batch, job=job))
    assert texts(complete(make_model(server, cache))) == TEXTS
    assert len(server.jobs) == 1


def test_nothing_is_listed_if_the_earlier_process_had_not_sent_the_batch(
    server: BatchServer, cache: ReplyCache
) -> None:
    complete(make_model(server, cache), QUERIES[:1])
    keys = [query_key(one).hex() for one in QUERIES[1:]]
    put(cache, Batch("0" * 16, server.url, "openai", "TOY_API_KEY", "toy", keys, 0.0))
    server.before = lambda method, path: error(405) if "?limit" in path else None
    assert texts(complete(make_model(server, cache))) == TEXTS
    assert not jobs_on_shelf(cache)


class StopError(Exception):
    pass


def stop_once_sent(server: BatchServer, model: CachedModel, queries: list[Query] = QUERIES) -> None:
    """Ask, and stop as soon as the batch is looked at."""

    def report(n: int) -> None:
        if any(job.n_looks for job in server.jobs.values()):
            raise StopError

    with model, pytest.raises(StopError):
        model.complete(queries, report)


@pytest.mark.parametrize("asked", [QUERIES, [*QUERIES[3:], query(7)]], ids=["same", "others"])
def test_a_run_that_was_stopped_goes_on_with_its_batch(
    server: BatchServer, cache: ReplyCache, asked: list[Query]
) -> None:
    server.n_looks = 10**9
    stop_once_sent(server, make_model(server, cache))
    assert len(jobs_on_shelf(cache)) == 1
    server.n_looks = 0
    assert texts(complete(make_model(server, cache), asked)) == [f"say {one.stream.slot}" for one in asked]
    assert [len(job.requests) for job in server.jobs.values()] == ([6] if asked is QUERIES else [6, 1])
    assert all(cache.find(QUERIES))  # those of the first batch that nobody asked for now, too


def test_two_runs_that_make_the_same_queries_share_a_batch(server: BatchServer, cache: ReplyCache) -> None:
    server.n_looks = 20
    found: list[list[Reply]] = []
    with ReplyCache(cache.path) as other:
        models = [make_model(server, one) for one in (cache, other)]
        threads = [threading.Thread(target=lambda model=model: found.append(complete(model))) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [texts(replies) for replies in found] == [TEXTS, TEXTS]
    assert len(server.jobs) == 1


def test_replies_that_another_run_has_stored_meanwhile_are_not_bought(
    server: BatchServer, cache: ReplyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Shelf.locked

    @asynccontextmanager
    async def lock_late(shelf: Shelf, pause: Any) -> AsyncIterator[None]:
        async with usual(shelf, pause):
            cache.keep([(one, Bought(Reply(one.messages[-1].content, Finish.STOP), None)) for one in QUERIES[:5]])
            yield

    monkeypatch.setattr(Shelf, "locked", lock_late)
    assert texts(complete(make_model(server, cache))) == TEXTS
    assert [len(job.requests) for job in server.jobs.values()] == [1]


def test_the_progress_counts_each_reply_once(server: BatchServer, cache: ReplyCache) -> None:
    server.n_looks = 5
    server.script = lose(1, 4, to=FAILURES["lost"])
    counted: list[int] = []
    with make_model(server, cache) as model:
        model.complete(QUERIES, counted.append)
    assert sum(counted) == 6


@pytest.mark.parametrize("kind", [OpenAiEndpoint, AnthropicEndpoint])
def test_a_cancelled_batch_ends_the_run_which_then_sends_the_rest(
    server: BatchServer, cache: ReplyCache, kind: type[Endpoint]
) -> None:
    server.n_looks = 10**9
    server.script = lose(1, 4, to=FAILURES["expired"])
    stop_once_sent(server, make_model(server, cache, kind))
    (batch,) = jobs_on_shelf(cache)

    async def cancel() -> None:
        endpoint = make_endpoint(server, kind)
        await endpoint.cancel(batch.job or "")
        await endpoint.close()

    asyncio.run(cancel())
    with pytest.raises(ModelUnavailableError, match="was cancelled, and 4 replies of it stored"):
        complete(make_model(server, cache, kind))
    server.n_looks = 0
    assert texts(complete(make_model(server, cache, kind))) == TEXTS
    assert [len(job.requests) for job in server.jobs.values()] == [6, 2]


def test_a_batch_that_is_refused_as_a_whole_says_why(server: BatchServer, cache: ReplyCache) -> None:
    failed = {"status": "failed", "errors": {"data": [{"message": "Enqueued token limit reached"}]}}
    body = json.dumps(failed).encode()
    server.before = lambda method, path: Answer(body=body) if path.startswith("/v1/batches/") else None
    with pytest.raises(ModelUnavailableError, match=r"Enqueued token limit reached; correct that, or set llm.batch=f"):
        complete(make_model(server, cache))
    assert not jobs_on_shelf(cache)


def test_a_provider_that_refuses_to_start_a_batch_leaves_nothing_open(server: BatchServer, cache: ReplyCache) -> None:
    server.before = lambda method, path: error(404) if path == "/v1/files" else None
    with pytest.raises(ModelUnavailableError, match=r"llm\.batch=false sends each request by itself"):
        complete(make_model(server, cache))
    assert not jobs_on_shelf(cache)


def test_a_batch_that_the_provider_does_not_know_leaves_the_decision_to_the_user(
    server: BatchServer, cache: ReplyCache
) -> None:
    keys = [query_key(one).hex() for one in QUERIES]
    put(cache, Batch("0" * 16, server.url, "openai", "TOY_API_KEY", "toy", keys, 0.0, "file-0", "job-0"))
    with pytest.raises(ModelUnavailableError, match=r"does not know the batch job-0 .* delete .*0{16}\.json"):
        complete(make_model(server, cache))
    assert len(jobs_on_shelf(cache)) == 1
    assert not server.singles


@pytest.mark.parametrize("status", [400, 401, 403])
@pytest.mark.parametrize("kind", [OpenAiEndpoint, AnthropicEndpoint])
def test_a_list_that_is_refused_does_not_forget_a_batch_that_may_be_under_way(
    server: BatchServer, cache: ReplyCache, kind: type[Endpoint], status: int
) -> None:
    def cut(method: str, path: str) -> Answer | None:
        is_start = method == "POST" and path.endswith("/batches")
        return Answer(cut=-1) if is_start else error(status) if "?limit" in path else None

    server.before = cut
    with pytest.raises(ModelUnavailableError):
        complete(make_model(server, cache, kind))
    server.before = lambda method, path: None
    assert texts(complete(make_model(server, cache, kind))) == TEXTS
    assert len(server.jobs) == 1


def test_a_run_that_sends_no_more_batches_still_reads_those_that_were_sent(
    server: BatchServer, cache: ReplyCache
) -> None:
    server.n_looks = 10**9
    stop_once_sent(server, make_model(server, cache))
    server.n_looks = 0
    followed: list[str] = []

    def follow(asked: Query, reply: Reply) -> None:
        followed.append(reply.text)

    with make_model(server, cache, sends=False) as model:
        replies = model.begin([*QUERIES, query(7)], lambda _: None, follow)(lambda: None)
    assert texts(replies) == [*TEXTS, "say 7"]
    assert followed == ["say 7"]
    assert len(server.singles) == len(server.jobs) == 1


def test_a_file_whose_replies_are_all_stored_is_removed(server: BatchServer, cache: ReplyCache) -> None:
    complete(make_model(server, cache))
    for name, asked in (("0" * 16, QUERIES), ("1" * 16, [query(9)])):
        keys = [query_key(one).hex() for one in asked]
        put(cache, Batch(name, server.url, "openai", "TOY_API_KEY", "toy", keys, 0.0, "file-0", "job-0"))
    assert [batch.name for batch in Shelf(cache.path).prune(cache)] == ["1" * 16]
    assert [batch.name for batch in jobs_on_shelf(cache)] == ["1" * 16]


def test_the_user_is_told_of_batches_under_way(
    server: BatchServer, cache: ReplyCache, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.n_looks = 10**9
    stop_once_sent(server, make_model(server, cache))
    assert "1 batch is under way" in caplog.text


def test_the_bound_on_a_reply_of_a_batch_is_the_same_before_and_after(server: BatchServer, cache: ReplyCache) -> None:
    for falls_back in (True, False):
        asked = [query(number) for number in ((1, 2) if falls_back else (3, 4))]
        with make_model(server, cache, falls_back=falls_back) as model:
            before = model.bound_costs(asked)
            model.complete(asked)
            assert model.bound_costs(asked) == before


def test_a_list_that_does_not_end_leaves_the_decision_to_the_user(server: BatchServer, cache: ReplyCache) -> None:
    page = json.dumps({"data": [{"id": "job-9", "input_file_id": "another"}], "has_more": True}).encode()
    pages: list[str] = []

    def cut(method: str, path: str) -> Answer | None:
        is_start = method == "POST" and path.endswith("/batches")
        pages.extend([path] if "?limit" in path else [])
        return Answer(cut=-1) if is_start else Answer(body=page) if "?limit" in path else None

    server.before = cut
    with pytest.raises(ModelUnavailableError, match="delete that file to send the queries again"):
        complete(make_model(server, cache))
    assert len(server.jobs) == 1
    assert len(pages) == 2  # the same page again shows that there is no end


@pytest.mark.parametrize("name", ["", "x" * 301, "a%b", "a\ud800", "sk-none-for-tests", "line\nbreak"])
def test_a_name_that_no_request_can_hold_ends_the_run_without_showing_it(
    server: BatchServer, cache: ReplyCache, name: str
) -> None:
    body = json.dumps({"id": name}).encode()
    server.before = lambda method, path: Answer(body=body) if path == "/v1/files" else None
    with pytest.raises(ModelUnavailableError, match="has an impossible id") as refused:
        complete(make_model(server, cache))
    assert not name or name not in str(refused.value)


def test_a_batch_of_someone_else_is_left_and_the_queries_are_sent(server: BatchServer, cache: ReplyCache) -> None:
    keys = [query_key(one).hex() for one in QUERIES]
    server._start("", [(f"other-{number}", {"messages": [{"content": "x"}]}) for number in range(6)])
    address = server.url.removesuffix("/v1")
    put(cache, Batch("0" * 16, address, "anthropic", "TOY_API_KEY", "toy", keys, time.time(), ""))
    assert texts(complete(make_model(server, cache, AnthropicEndpoint, falls_back=False))) == TEXTS
    assert len(server.jobs) == 2
    assert not jobs_on_shelf(cache)


def test_replies_that_cannot_be_read_at_first_are_read_again(server: BatchServer, cache: ReplyCache) -> None:
    pages = iter([Answer(body=b"<html>busy</html>"), Answer(body=b"")])
    server.before = lambda method, path: next(pages, None) if path.endswith("/content") else None
    assert texts(complete(make_model(server, cache))) == TEXTS
    assert not server.singles


def test_the_name_of_a_file_leads_to_no_other_place_of_the_server(server: BatchServer, cache: ReplyCache) -> None:
    usual = server._show

    def rename(name: str) -> dict[str, Any]:
        return usual(name) | ({"output_file_id": "../../x"} if server.jobs[name].over else {})

    def read(method: str, path: str) -> Answer | None:
        lines = [line for job in server.jobs.values() for line in job.lines]
        return Answer(body="\n".join(lines).encode()) if path == "/v1/files/..%2F..%2Fx/content" else None

    server._show, server.before = rename, read  # type: ignore[method-assign]
    assert texts(complete(make_model(server, cache))) == TEXTS
    assert not server.singles


def test_numbers_of_replies_may_have_a_decimal_point(server: BatchServer, cache: ReplyCache) -> None:
    usual = server._show
    server._show = lambda name: usual(name) | {"request_counts": {"completed": 6.0}}  # type: ignore[method-assign]
    server.before = lambda method, path: Answer(body=b"") if path.endswith("/content") else None
    with pytest.raises(ModelUnavailableError, match="0 of 6 replies of the batch"):
        complete(make_model(server, cache))


HOSTILE = [
    b"",
    b"not json",
    b'{"custom_id": "' + b"9" * 5000 + b'"}\n[]\nnull\n"x"',
    b"".join(
        b'{"custom_id": "0-%d", "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "of '
        b'another"}}]}}}\n' % number
        for number in range(6)
    ),
    b'{"custom_id": 7}\n{"custom_id": "0000000000000000-0", "response": {"status_code": 200, "body": {}}}',
    b"\xff\xfe" * 50,
    b"\n" * 2_000_000,
    b"[" * 100_000,
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_content_without_replies_ends_the_run_and_the_batch_is_not_forgotten(
    server: BatchServer, cache: ReplyCache, content: bytes
) -> None:
    server.before = lambda method, path: Answer(body=content) if path.endswith("/content") else None
    with pytest.raises(ModelUnavailableError, match="0 of 6 replies of the batch"):
        complete(make_model(server, cache))
    assert len(jobs_on_shelf(cache)) == 1
    server.before = lambda method, path: None
    assert texts(complete(make_model(server, cache))) == TEXTS
    assert not server.singles


@pytest.mark.parametrize(
    "line",
    [
        {"response": {"status_code": 200, "body": {"choices": [{"message": {"content": 5}}]}}},
        {"response": {"status_code": 200, "body": {"choices": [{"message": {"content": "x"}}], "usage": [1]}}},
        {"response": {"status_code": "200", "body": []}},
        {"response": {"status_code": 200, "body": None}, "error": {"message": "x" * 100_000}},
    ],
)
def test_a_damaged_reply_is_lost_alone(server: BatchServer, cache: ReplyCache, line: Body) -> None:
    usual = server._show

    def damage(name: str) -> dict[str, Any]:
        job = server.jobs[name]
        custom_id = job.requests[2][0]
        job.lines = [one for one in job.lines if custom_id not in one]
        job.lines.insert(0, json.dumps({"custom_id": custom_id} | line))
        return usual(name)

    server._show = damage  # type: ignore[method-assign]
    assert texts(complete(make_model(server, cache))) == TEXTS
    assert [body["messages"][-1]["content"] for body in server.singles] == ["say 2"]


@pytest.mark.parametrize("answer", [b"[]", b'{"status": 5}', b"{}", b'"x"', b"null"])
def test_a_state_that_is_none_is_asked_for_again_and_then_ends_the_run(
    server: BatchServer, cache: ReplyCache, answer: bytes
) -> None:
    server.before = lambda method, path: Answer(body=answer) if path.startswith("/v1/batches/") else None
    with pytest.raises(ModelUnavailableError, match=r"has not told the state .* has no status"):
        complete(make_model(server, cache))
    assert len(jobs_on_shelf(cache)) == 1  # it may still be under way


NAMES = dict.fromkeys(("name", "address", "api", "key_variable", "model"), "openai")
DAMAGED = [
    '{"name": 1}',
    "[]",
    json.dumps(NAMES | {"keys": ["x"], "at": 0}),
    json.dumps(NAMES | {"keys": [], "at": "0"}),
]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_of_a_batch_is_named(server: BatchServer, cache: ReplyCache, content: str) -> None:
    shelf = Shelf(cache.path)
    shelf.folder.mkdir()
    (shelf.folder / "0123.json").write_text(content)
    with pytest.raises(ServiceError, match=r"0123\.json is damaged .*delete it to send the queries again"):
        complete(make_model(server, cache))


@pytest.mark.parametrize(("falls_back", "share"), [(True, 1.0), (False, 0.5)])
def test_the_bound_on_the_cost_covers_what_may_be_paid(
    server: BatchServer, cache: ReplyCache, *, falls_back: bool, share: float
) -> None:
    with make_model(server, cache, falls_back=falls_back) as model:
        (bound,) = model.bound_costs(QUERIES[:1])
        usd = PRICE.cost(bound.tokens - 40, 40) * share
        assert bound.usd == pytest.approx(usd)


def settings(model: str, **changes: Any) -> Llm:
    pools = LlmPools(LlmPool(), LlmPool())
    return Llm("litellm", "litellm", model=model, pools=pools, **{"batch": True, **changes})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "changes", "expected"),
    [
        ("openai/gpt-5", {}, "api.openai.com/v1 gpt-5 OPENAI_API_KEY"),
        ("gpt-5", {}, "api.openai.com/v1 gpt-5 OPENAI_API_KEY"),
        ("toy:1", {"provider": "openai", "api_base": "http://h:1/v1/"}, "h:1/v1 toy:1 OPENAI_API_KEY"),
        ("anthropic/claude-haiku-4-5", {}, "api.anthropic.com claude-haiku-4-5 ANTHROPIC_API_KEY"),
        ("anthropic/x", {"api_base": "http://h:1/v1/messages", "api_key_env": "MINE"}, "h:1 x MINE"),
    ],
)
def test_endpoints_have_the_address_and_the_key_of_the_provider(
    model: str, changes: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, name, variable = expected.split()
    monkeypatch.setenv(variable, "the key")
    (endpoint,) = KINDS["litellm"].endpoints(settings(model, **changes)).values()
    assert (endpoint.address.partition("://")[2], endpoint.name) == (address, name)
    assert (endpoint.key, endpoint.key_variable) == ("the key", variable)


@pytest.mark.parametrize(
    ("model", "changes", "expected"),
    [
        ("deepseek/deepseek-chat", {}, "llm.batch=true: .* not those of deepseek/deepseek-chat; set llm.batch=false"),
        ("anthropic/claude-haiku-4-5", {"extra": {"reasoning_effort": "low"}}, "llm.extra.reasoning_effort: litellm"),
    ],
)
def test_models_without_batches_are_refused(
    model: str, changes: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-none-for-tests")
    (violation,) = KINDS["litellm"].find_violations(settings(model, **changes), needs_price=False)
    with pytest.raises(InputError, match=expected):
        raise InputError(violation)
