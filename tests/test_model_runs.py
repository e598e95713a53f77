"""Whole runs with a language model: real litellm, real HTTP, and a scripted server."""

import base64
import hashlib
import json
import re
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import InputError, Interrupted, ModelUnavailableError
from evodiverse.llm.model import opened
from evodiverse.runlog.runs import survey_runs
from tests.llm.batch_server import BatchServer
from tests.llm.servers import Answer, Body, ModelServer, error, reply_body, serving
from tests.runs import FROM_ROOT, TOY_CONF, evodiverse, log, plan, rows, run_here, run_toy, stop_after
from tests.starts import start
from tests.toys.bits.model import answer_bits

pytestmark = pytest.mark.slow

SHORT = "budget.oracle_calls=60"
N_PROBES = 2  # one for the decoding of each sampler
KEY = "sk-toy-key-for-tests"


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # no .env file elsewhere has an effect
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("evodiverse.llm.asking.backoff", lambda failures, retry_after, rng: 0.0)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving(ModelServer()) as running:
        yield running


@pytest.fixture
def toy(server: ModelServer) -> ModelServer:
    server.script = answer_bits
    server.requests.clear()
    return server


def using(server: ModelServer, cache: Path, model: str = "toy/model:1") -> list[str]:
    return ["llm=openai_compatible", f"llm.model={model}", f"llm.api_base={server.url}", f"llm.cache={cache}"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a run without any fault, with its reply cache ``cache`` next to it."""
    folder = tmp_path_factory.mktemp("whole")
    with serving(ModelServer(answer_bits)) as server:
        yield run_toy(folder, *using(server, folder / "cache"), SHORT)


def is_real(body: Body) -> bool:
    """Return whether a request comes from the search, not from the check that the model answers."""
    return body["messages"][0]["content"].startswith(("cold", "hot"))


def cache_of(run: Path) -> Path:
    return next(parent / "cache" for parent in run.parents if (parent / "cache").exists())


def record(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text())


def test_every_request_is_a_row_with_its_outcome_and_every_attempt_names_its_request(whole: Path) -> None:
    calls, attempts = rows(whole, "llm_calls"), rows(whole, "evaluations")
    assert [call["llm_call"] for call in calls] == list(range(1, len(calls) + 1))
    made = [attempt for attempt in attempts if attempt["iteration"] > 0]
    assert [attempt["llm_call"] for attempt in made] == [call["llm_call"] for call in calls]
    assert {attempt["operator"] for attempt in made} == {"llm"}
    reasons = {"no_answer": "no_answer", "unparsable": "invalid", None: "parsed"}
    expected = [reasons[attempt["error"] and attempt["error"].split(":")[0]] for attempt in made]
    assert [call["outcome"] for call in calls] == expected
    assert set(expected) == {"parsed", "no_answer", "invalid"}
    assert all(call["reply"] == answer_bits({"messages": [{"content": call["prompt"]}]}, 0).content for call in calls)


def test_the_record_has_the_sums_of_the_log(whole: Path) -> None:
    calls, used = rows(whole, "llm_calls"), record(whole)["llm"]
    assert used["calls"] == len(calls)
    assert used["prompt_tokens"] == sum(call["prompt_tokens"] for call in calls)
    assert used["completion_tokens"] == sum(call["completion_tokens"] for call in calls)
    assert used["cost_usd"] is None
    assert [pool["calls"] for pool in used["pools"]] == [sum(call["pool"] == pool for call in calls) for pool in (0, 1)]


def test_a_model_with_awkward_characters_has_a_folder(whole: Path) -> None:
    assert whole.parts[-5:-2] == ("bits", "pt", "openai_compatible")
    assert "llm.model=toy_model_1-" in whole.parts[-2]


def test_replies_in_any_order_give_the_same_log(toy: ModelServer, whole: Path, tmp_path: Path) -> None:
    def delayed(body: Body, number: int) -> Answer:
        answer = answer_bits(body, number)
        answer.delay = (number * 7919 % 10) / 100
        return answer

    toy.script = delayed
    run = run_toy(tmp_path, *using(toy, tmp_path / "cache"), SHORT, "llm.concurrency=7", "evaluator.workers=2")
    assert log(run) == log(whole)


def test_a_rejected_slot_asks_again_while_other_replies_are_awaited(
    toy: ModelServer, whole: Path, tmp_path: Path
) -> None:
    """The slowest reply of a round comes only after the request that follows a rejected one."""
    calls = {
        (call["iteration"], call["attempt"], call["pool"], call["slot"]): call for call in rows(whole, "llm_calls")
    }
    iteration, _, *slot = next(
        place for place in calls if place[0] > 1 and calls[place[0], 1, *place[2:]]["outcome"] != "parsed"
    )
    again = calls[iteration, 2, *slot]["prompt"]
    slow = next(
        call["prompt"] for place, call in calls.items() if place[:2] == (iteration, 1) and place[2:] != (*slot,)
    )

    def holding(body: Body, number: int) -> Answer:
        answer = answer_bits(body, number)
        if body["messages"][-1]["content"] == slow:
            answer.is_due = lambda: again in toy.prompts
        return answer

    toy.script = holding
    assert log(run_toy(tmp_path, *using(toy, tmp_path / "cache"), SHORT)) == log(whole)


def test_a_run_in_rounds_has_the_same_log(toy: ModelServer, whole: Path, tmp_path: Path) -> None:
    in_rounds = "budget.seconds=10_000"  # a cap on time could end the run between two rounds
    assert log(run_toy(tmp_path, *using(toy, cache_of(whole)), SHORT, in_rounds)) == log(whole)


FAILURES = (
    *(error(status) for status in (408, 409, 425, 500, 502, 503, 529)),
    error(429, Retry_After="0"),
    Answer(cut=-1),
    Answer(cut=25),
    Answer(body=b""),
    Answer(body=b'{"id": "x", "choi'),
    Answer(body=b"<html></html>", headers={"Content-Type": "text/html"}),
)


def test_a_run_in_which_three_in_ten_requests_fail_has_the_same_log(
    toy: ModelServer, whole: Path, tmp_path: Path
) -> None:
    tries: Counter[str] = Counter()
    n_failed = 0

    def failing(body: Body, number: int) -> Answer:
        nonlocal n_failed
        prompt = body["messages"][-1]["content"]
        tries[prompt] += 1
        draw = int.from_bytes(hashlib.sha256(f"{prompt} {tries[prompt]}".encode()).digest()[:4], "big")
        if is_real(body) and draw % 100 < 30:
            n_failed += 1
            return FAILURES[draw // 100 % len(FAILURES)]
        return answer_bits(body, number)

    toy.script = failing
    run = run_toy(tmp_path, *using(toy, tmp_path / "cache"), SHORT)
    assert 0.2 < n_failed / len(toy.requests) < 0.4
    assert log(run) == log(whole)
    assert sum(call["retries"] for call in rows(run, "llm_calls")) == n_failed


def test_a_repeated_run_does_not_pay_for_a_reply_twice(toy: ModelServer, whole: Path, tmp_path: Path) -> None:
    run = run_toy(tmp_path, *using(toy, cache_of(whole)), SHORT)
    assert toy.requests == []
    assert log(run) == log(whole)
    assert all(call["cached"] for call in rows(run, "llm_calls"))


def test_a_replay_needs_no_network_and_gives_the_recorded_log_which_counts_once(whole: Path, tmp_path: Path) -> None:
    replay = ["llm=replay", "llm.model=toy/model:1", f"llm.cache={cache_of(whole)}"]
    run = run_toy(tmp_path, *replay, SHORT)
    assert log(run) == log(whole)
    assert run.parts[-3] == "replay"
    survey = survey_runs(run, whole)
    assert [[one.path for one in some] for some in (survey.complete, survey.replayed)] == [[whole], [run]]


def test_a_replay_that_lacks_a_reply_names_the_request(whole: Path, tmp_path: Path) -> None:
    replay = ["llm=replay", "llm.model=toy/model:1", f"llm.cache={cache_of(whole)}"]
    with pytest.raises(InputError, match=r"iteration 1, pool 0, slot 0, attempt 1 \(seed 5, toy/model:1\)"):
        run_toy(tmp_path, *replay, SHORT, "seed=5")


def test_a_run_that_is_stopped_and_resumed_sends_no_request_twice(
    toy: ModelServer, whole: Path, tmp_path: Path
) -> None:
    arguments = [*using(toy, tmp_path / "cache"), SHORT]
    for commits in (1, 1):
        with pytest.raises(Interrupted):
            run_toy(tmp_path, *arguments, display=stop_after(commits))
    run = run_toy(tmp_path, *arguments)
    assert log(run) == log(whole)
    assert max(Counter(map(json.dumps, toy.requests)).values()) == 1
    assert record(run)["llm"] == record(whole)["llm"]


def test_an_unavailable_provider_ends_the_run_and_the_replies_are_kept(
    toy: ModelServer, whole: Path, tmp_path: Path
) -> None:
    def gone(body: Body, number: int) -> Answer:
        return error(503, "overloaded") if number > 40 else answer_bits(body, number)

    toy.script = gone
    arguments = [*using(toy, tmp_path / "cache"), SHORT, "llm.retries=2", "llm.concurrency=3"]
    with pytest.raises(ModelUnavailableError, match=r"toy/model:1 failed 3 times in a row.*overloaded"):
        run_toy(tmp_path, *arguments)
    answered = Counter(toy.prompts[:41])
    toy.requests.clear()
    toy.script = answer_bits
    assert log(run_toy(tmp_path, *arguments)) == log(whole)
    assert not answered & Counter(toy.prompts)


PRICED = ["llm=litellm", "llm.model=openai/gpt-4o", "method.offspring=2", "budget.oracle_calls=200"]


@pytest.mark.parametrize(
    ("cap", "limit", "spent"),
    [
        ("llm_calls", 20, lambda used: used["calls"]),
        ("tokens", 4_000, lambda used: used["prompt_tokens"] + used["completion_tokens"]),
        ("usd", 0.02, lambda used: used["cost_usd"]),
    ],
)
def test_a_cap_is_never_exceeded_and_a_repeated_run_stops_at_the_same_place(
    toy: ModelServer, tmp_path: Path, cap: str, limit: float, spent: Callable[[dict[str, Any]], float]
) -> None:
    arguments = [*PRICED, f"llm.api_base={toy.url}", f"llm.cache={tmp_path / 'cache'}", f"budget.{cap}={limit}"]
    run = run_toy(tmp_path / "first", *arguments)
    ended = record(run)
    assert (ended["status"], ended["stopped_by"]) == ("complete", cap)
    assert 0.5 * limit < spent(ended["llm"]) <= limit
    n_sent = len(toy.requests)
    assert n_sent == ended["llm"]["calls"] + N_PROBES
    again = run_toy(tmp_path / "second", *arguments)
    assert len(toy.requests) == n_sent
    assert log(again) == log(run)
    assert record(again)["stopped_by"] == cap


def test_a_model_of_ones_own_has_the_price_that_the_user_gives(toy: ModelServer, tmp_path: Path) -> None:
    price = ["llm.price.input=10", "llm.price.output=30", "budget.usd=0.05"]
    run = run_toy(tmp_path, *using(toy, tmp_path / "cache"), *price, "budget.oracle_calls=200", "method.offspring=2")
    used = record(run)["llm"]
    assert record(run)["stopped_by"] == "usd"
    assert used["cost_usd"] == pytest.approx((10 * used["prompt_tokens"] + 30 * used["completion_tokens"]) / 1e6)


def test_a_resumed_run_keeps_the_prices_with_which_it_was_started(toy: ModelServer, tmp_path: Path) -> None:
    arguments = [*using(toy, tmp_path / "cache"), SHORT]
    with pytest.raises(Interrupted):
        run_toy(tmp_path, *arguments, "llm.price={input:10,output:30}", display=stop_after(2))
    (path,) = tmp_path.rglob("prices.json")
    price = {"prompt": 1e-5, "completion": 3e-5, "cached": None, "written": None}
    assert json.loads(path.read_text()) == {"toy/model:1": price}
    used = record(run_toy(tmp_path, *arguments, "llm.price={input:1,output:1}"))["llm"]
    assert used["cost_usd"] == pytest.approx((10 * used["prompt_tokens"] + 30 * used["completion_tokens"]) / 1e6)


@pytest.mark.parametrize("damage", ['{"price": 1}', '{"prompt": "much"}', "7"])
def test_damaged_prices_are_reported(toy: ModelServer, tmp_path: Path, damage: str) -> None:
    arguments = [*using(toy, tmp_path / "cache"), SHORT]
    with pytest.raises(Interrupted):
        run_toy(tmp_path, *arguments, display=stop_after(1))
    (path,) = tmp_path.rglob("prices.json")
    path.write_text(f'{{"toy/model:1": {damage}}}')
    with pytest.raises(InputError, match=r"prices\.json is damaged .*delete it to use the prices of today"):
        run_toy(tmp_path, *arguments)


def test_a_run_stopped_by_a_cap_does_not_continue_after_a_crash_at_its_end(toy: ModelServer, tmp_path: Path) -> None:
    """A cap that stops an iteration between two rounds also holds when later rounds are smaller."""
    arguments = [*using(toy, tmp_path / "cache"), "budget.llm_calls=25"]
    run = run_toy(tmp_path, *arguments)
    before = log(run)
    crashed = record(run) | {"status": "running", "stopped_by": None}
    (run / "run.json").write_text(json.dumps(crashed))
    assert run_toy(tmp_path, *arguments) == run
    assert (log(run), record(run)["stopped_by"]) == (before, "llm_calls")


def test_the_cap_on_time_ends_a_run_cleanly(tmp_path: Path) -> None:
    run = run_toy(tmp_path, "budget.seconds=1e-6")
    assert (record(run)["status"], record(run)["stopped_by"]) == ("complete", "seconds")
    assert record(run)["totals"]["iterations"] == 0


def test_a_cap_that_does_not_cover_a_round_is_reported_at_the_start(
    toy: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = run_toy(tmp_path, *using(toy, tmp_path / "cache"), "budget.llm_calls=3")
    assert "budget.llm_calls does not cover the worst case of a round of 10 requests" in caplog.text
    assert (record(run)["stopped_by"], record(run)["llm"]["calls"]) == ("llm_calls", 0)


def test_a_slot_that_the_model_leaves_empty_is_filled_by_the_classical_operator(
    toy: ModelServer, tmp_path: Path
) -> None:
    toy.script = lambda body, number: Answer("no idea")
    run = run_toy(tmp_path, *using(toy, tmp_path / "cache"), SHORT, "llm.fallback=classical")
    made = [row for row in rows(run, "evaluations") if row["iteration"] > 0]
    assert {(row["operator"], row["attempt"] > 3, row["llm_call"] is None) for row in made} == {
        ("llm", False, False),
        ("fallback_bits", True, True),
    }
    assert record(run)["totals"]["oracle_calls"] == 60


def run_without_offspring(outputs: Path, *arguments: str) -> Path:
    """Make a run that can evaluate no offspring, and return its directory."""
    with pytest.raises(InputError, match="no offspring of the initial candidates could be evaluated"):
        run_toy(outputs, *arguments)
    (path,) = (record.parent for record in outputs.rglob("run.json"))
    return path


def test_without_fallback_empty_slots_stay_empty_and_patience_ends_the_run(toy: ModelServer, tmp_path: Path) -> None:
    toy.script = lambda body, number: Answer("no idea")
    run = run_without_offspring(tmp_path, *using(toy, tmp_path / "cache"), SHORT, "search.patience=2")
    assert record(run)["status"] == "failed"
    assert Counter(row["outcome"] for row in rows(run, "llm_calls")) == {"no_answer": 2 * 3 * 10}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer("it is = 1", finish_reason="length"), "no_answer"),
        (Answer(None, finish_reason="content_filter"), "error"),
        (error(400, "This model's maximum context length is 9 tokens. Please reduce the length."), "error"),
        (error(422, "not this prompt"), "error"),
        (Answer(None), "no_answer"),
        (Answer("=0101"), "invalid"),
    ],
)
def test_a_failed_reply_uses_up_the_attempt_and_the_run_continues(
    toy: ModelServer, tmp_path: Path, answer: Answer, outcome: str
) -> None:
    toy.script = lambda body, number: answer if is_real(body) else Answer()
    run = run_without_offspring(
        tmp_path, *using(toy, tmp_path / "cache"), SHORT, "search.patience=1", "search.attempts=1"
    )
    assert {row["outcome"] for row in rows(run, "llm_calls")} == {outcome}


def test_a_run_that_ended_without_a_usable_reply_goes_on_where_it_ended_when_it_is_resumed(
    toy: ModelServer, tmp_path: Path
) -> None:
    toy.script = lambda body, number: Answer("no idea")
    arguments = [*using(toy, tmp_path / "cache"), "budget.oracle_calls=20", "search.attempts=1", "llm.give_up_after=15"]
    with pytest.raises(ModelUnavailableError, match="none of the first 15 requests to toy/model:1") as ended:
        run_toy(tmp_path, *arguments)
    assert ended.value.exit_code == 1
    assert len(toy.requests) == 15 + N_PROBES
    toy.script = answer_bits
    calls = rows(run_toy(tmp_path, *arguments), "llm_calls")
    assert [call["cached"] for call in calls[:16]] == [False] * 12 + [True] * 3 + [False]
    assert [call["iteration"] for call in calls[11:17]] == [3, 4, 4, 4, 4, 5]
    assert "parsed" in {call["outcome"] for call in calls}


def test_each_pool_may_have_its_own_decoding_and_model(toy: ModelServer, tmp_path: Path) -> None:
    own = ["llm.pools.hot.model=other", "llm.pools.hot.seed=7", "llm.pools.cold.top_p=null"]
    run = run_toy(tmp_path, *using(toy, tmp_path / "cache"), *own, "budget.oracle_calls=30", "search.attempts=1")
    asked = list(filter(is_real, toy.requests))
    by_pool = {
        prompt: {
            (body["model"], body["temperature"], body.get("top_p"), body["max_tokens"])
            for body in asked
            if body["messages"][0]["content"].startswith(prompt)
        }
        for prompt in ("cold", "hot")
    }
    assert by_pool == {"cold": {("toy/model:1", 0.7, None, 50)}, "hot": {("other", 1.0, 0.95, 60)}}
    seeds = [body.get("seed") for body in asked]
    assert len(set(seeds) - {None}) == sum(seed is not None for seed in seeds) > 3
    assert {row["pool"]: row["model"] for row in rows(run, "llm_calls")} == {0: "toy/model:1", 1: "other"}


def test_no_file_contains_the_key(toy: ModelServer, tmp_path: Path) -> None:
    run_toy(tmp_path, *using(toy, tmp_path / "cache"), "budget.oracle_calls=30")
    assert toy.headers[-1]["authorization"] == f"Bearer {KEY}"
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_a_key_repeated_in_replies_is_in_no_file_and_a_replay_gives_the_same_log(
    toy: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def echo(body: Body, number: int) -> Answer:
        if number % 5 == 2:
            return error(429, f"slow down, {KEY}", Retry_After="0")
        if number % 5 == 3:
            return error(422, f"not with {KEY}")
        answer = answer_bits(body, number)
        answer.content = f"{KEY} {answer.content} {base64.b64encode(KEY.encode()).decode()}"
        return answer

    toy.script = lambda body, number: echo(body, number) if is_real(body) else Answer(KEY)
    arguments = [*using(toy, tmp_path / "cache"), "search.patience=2", "llm.concurrency=1"]  # no reply can be read
    run = run_without_offspring(tmp_path / "first", *arguments)
    assert sum("***" in str(call["reply"] or call["error"]) for call in rows(run, "llm_calls")) > 10
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []
    with closing(sqlite3.connect(tmp_path / "cache")) as connection:
        replies = [zlib.decompress(content) for (content,) in connection.execute("SELECT reply FROM replies")]
    assert [reply for reply in replies if KEY.encode() in reply] == []
    assert KEY not in caplog.text
    n_sent = len(toy.requests)
    assert log(run_without_offspring(tmp_path / "again", *arguments)) == log(run)
    assert len(toy.requests) == n_sent


@pytest.mark.parametrize("count", ["-5", "10000001"])
def test_a_reply_with_impossible_counts_counts_as_the_worst_case(toy: ModelServer, tmp_path: Path, count: str) -> None:
    def lie(body: Body, number: int) -> Answer:
        usage = f', "usage": {{"prompt_tokens": {count}, "completion_tokens": {count}, "total_tokens": {count}}}}}'
        return Answer(body=reply_body(answer_bits(body, number).content)[:-1] + usage.encode())

    toy.script = lie
    for cap, limit in (("tokens", 4_000), ("usd", 0.02)):
        arguments = [*PRICED, f"llm.api_base={toy.url}", f"llm.cache={tmp_path / 'cache'}", f"budget.{cap}={limit}"]
        ended = record(run_toy(tmp_path, *arguments))
        assert (ended["status"], ended["stopped_by"]) == ("complete", cap)
        assert 0.5 * limit < ended["llm"][f"counted_{cap}"] <= limit
        assert (ended["llm"]["prompt_tokens"], ended["llm"]["cost_usd"]) == (None, None)


def test_a_redirect_is_refused_at_the_start_with_one_line_that_names_the_host(toy: ModelServer, tmp_path: Path) -> None:
    with serving(ModelServer()) as other:
        toy.script = lambda body, number: Answer(status=307, headers={"Location": f"{other.url}/chat/completions"})
        expected = (
            f"127.0.0.1 redirects to {other.url}/chat/completions, and redirects are not followed; set llm.api_base to"
        )
        with pytest.raises(InputError, match=expected) as refused:
            run_toy(tmp_path, *using(toy, tmp_path / "cache"))
        assert other.requests == []
    assert len(str(refused.value).splitlines()) == 1


def test_a_reply_that_is_too_long_is_requested_again(toy: ModelServer, whole: Path, tmp_path: Path) -> None:
    def flooding(body: Body, number: int) -> Answer:
        return Answer(body=b" " * 5_000_000) if number % 7 == 3 else answer_bits(body, number)

    toy.script = flooding
    assert log(run_toy(tmp_path, *using(toy, tmp_path / "cache"), SHORT)) == log(whole)


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (401, "check the key"),
        (404, r"check llm\.model and llm\.api_base"),
        (400, r"check llm\.model, llm\.pools and llm\.extra"),
    ],
)
def test_a_model_that_refuses_fails_at_the_start(toy: ModelServer, tmp_path: Path, status: int, remedy: str) -> None:
    toy.script = lambda body, number: error(status, f"no, not with {KEY}")
    with pytest.raises(InputError, match=remedy) as refused:
        run_toy(tmp_path, *using(toy, tmp_path / "cache"))
    assert KEY not in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert len(toy.requests) <= 2
    assert not list(tmp_path.rglob("run.json"))


def ask_like_a_reasoning_model(body: Body, number: int) -> Answer:
    """Answer only requests without the parameters that OpenAI's reasoning models refuse, with OpenAI's messages."""
    if "max_tokens" in body:
        return error(400, "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.")
    if "temperature" in body:
        return error(400, "Unsupported value: 'temperature' does not support 0.7 with this model.")
    return error(400, "Unsupported parameter: 'top_p'") if "top_p" in body else answer_bits(body, number)


def test_the_advice_about_refused_parameters_leads_to_a_run(toy: ModelServer, tmp_path: Path) -> None:
    toy.script = ask_like_a_reasoning_model
    settings: dict[str, Any] = {}
    for refused in ("max_tokens", "temperature", "top_p"):
        with pytest.raises(InputError, match=refused) as refusal:
            open_model(toy, tmp_path, settings)
        advised = re.findall(r"(llm[.]\S+)=(\w+)", str(refusal.value))
        settings |= {key: None if value == "null" else value for key, value in advised}
    open_model(toy, tmp_path, settings)
    assert not {"max_tokens", "temperature", "top_p"} & toy.requests[-1].keys()
    assert {body["max_completion_tokens"] for body in toy.requests[-2:]} == {50, 60}  # those of the run itself


def open_model(server: ModelServer, folder: Path, settings: dict[str, Any]) -> None:
    model = plan("task=bits", *using(server, folder / "cache"), instead=settings).model
    assert model is not None
    with opened(model):
        pass


def ask_like_claude(body: Body, number: int) -> Answer:
    """Answer in the format of Anthropic's API, and refuse what it refuses of Claude 4.5."""
    if body.get("temperature", 1) > 1 or {"temperature", "top_p"} <= body.keys():
        return error(400, "`temperature` and `top_p` cannot both be specified for this model.")
    prompt = {"messages": [{"content": body["messages"][0]["content"][0]["text"]}]}
    reply = {
        "id": "scripted",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [{"type": "text", "text": answer_bits(prompt, number).content}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }
    return Answer(body=json.dumps(reply).encode())


def test_a_model_of_claude_starts_with_the_defaults_of_the_task_and_the_run_says_what_was_adapted(
    toy: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    toy.script = ask_like_claude
    claude = ["llm=litellm", "llm.model=anthropic/claude-sonnet-4-5", f"llm.cache={tmp_path / 'cache'}"]
    run = run_toy(tmp_path, *claude, f"llm.api_base={toy.url}", "budget.oracle_calls=17", "search.attempts=1")
    assert {(body["temperature"], body.get("top_p")) for body in toy.requests} == {(0.7, None), (1.0, None)}
    assert record(run)["settings"]["llm.pools.hot.top_p"] is None
    assert record(run)["overrides"].keys() > {"llm.pools.cold.top_p", "llm.pools.hot.top_p"}
    assert "claude-sonnet-4-5 takes only one of temperature and top_p: llm.pools.cold.top_p=null" in caplog.text


def test_a_run_is_not_overwritten_before_the_model_has_answered(toy: ModelServer, tmp_path: Path) -> None:
    run = run_toy(tmp_path, *using(toy, tmp_path / "cache"), "budget.oracle_calls=30")
    before = log(run)
    toy.script = lambda body, number: error(401, "revoked")
    with pytest.raises(InputError, match="check the key"):
        run_toy(tmp_path, *using(toy, tmp_path / "other"), "budget.oracle_calls=30", "overwrite=true")
    assert (log(run), record(run)["status"]) == (before, "complete")


def test_a_dry_run_estimates_costs_without_a_request(toy: ModelServer, tmp_path: Path) -> None:
    settings = [*PRICED, f"llm.api_base={toy.url}", f"llm.cache={tmp_path / 'cache'}", f"outputs={tmp_path}"]
    summary = plan("task=bits", *settings).summary
    assert "and 184 to 552 requests to openai/gpt-4o" in summary
    assert "tokens: 10,120 to 30,360 in total" in summary
    assert re.search(r"for \$0\.\d\d to \$\d\.\d\d at most$", summary)
    assert re.search(r"for \$0\.\d\d at most$", plan("task=bits", *settings, "search.attempts=1").summary)
    assert toy.requests == []


def test_a_run_in_batches_has_the_same_log_at_half_the_cost(tmp_path: Path) -> None:
    with serving(BatchServer(answer_bits)) as server:
        assert isinstance(server, BatchServer)
        server.n_looks = 0
        place = [f"llm.api_base={server.url}", "budget.llm_calls=100"]
        single = run_toy(tmp_path / "single", *PRICED, *place, f"llm.cache={tmp_path / 'one'}")
        n_paths = len(server.paths)
        batch = run_toy(tmp_path / "batch", *PRICED, *place, f"llm.cache={tmp_path / 'two'}", "llm.batch=true")
        assert len(server.singles) == n_paths + N_PROBES
        capped = [*PRICED, *place, f"llm.cache={tmp_path / 'two'}", "llm.batch=true", "llm.client=replay"]
        repeated = run_toy(tmp_path / "repeated", *capped)
    assert log(batch) == log(single) == log(repeated)
    costs = [record(run)["llm"]["cost_usd"] for run in (single, batch, repeated)]
    assert costs[1:] == [pytest.approx(costs[0] / 2)] * 2


def test_the_dry_run_of_batches_shows_half_the_cost(toy: ModelServer, tmp_path: Path) -> None:
    settings = [*PRICED, f"llm.api_base={toy.url}", f"llm.cache={tmp_path / 'cache'}", f"outputs={tmp_path}"]
    single, batch = (
        [float(usd) for usd in re.findall(r"\$([\d.]+)", plan("task=bits", *settings, f"llm.batch={value}").summary)]
        for value in (False, True)
    )
    assert len(single) == 2
    assert batch == [pytest.approx(usd / 2, abs=0.01) for usd in single]


def with_140_requests(server: ModelServer, folder: Path) -> list[str]:
    return [
        *("--config-dir", str(TOY_CONF), "task=bits"),
        *(*using(server, folder / "cache"), f"outputs={folder}", "llm.concurrency=140", "method.offspring=70"),
        *("budget.oracle_calls=160", "evaluator.workers=1", "search.attempts=2"),
    ]


class HalfServer(ModelServer):
    """A server that waits until 140 requests have arrived, and then answers the first 70 of them."""

    def __init__(self) -> None:
        super().__init__(self.answer_half)
        self.answers_all = False
        self.asked: list[str] = []

    def answer_half(self, body: Body, number: int) -> Answer:
        answer = answer_bits(body, number)
        if is_real(body):
            self.asked.append(body["messages"][0]["content"])
            is_first_half = len(self.asked) <= 70
            answer.is_due = lambda: self.answers_all or (is_first_half and len(self.asked) == 140)
        return answer


def test_a_kill_with_140_requests_in_flight_loses_no_reply(tmp_path: Path) -> None:
    with serving(HalfServer()) as server:
        arguments = with_140_requests(server, tmp_path / "killed")
        process = start("-m", "evodiverse", *arguments, cwd=tmp_path, env=FROM_ROOT)
        while count_kept(tmp_path / "killed" / "cache") < 70 + N_PROBES:
            assert process.poll() is None
            time.sleep(0.05)  # no assertion depends on how long it takes
        process.kill()
        process.wait()
        assert server.most_in_flight == 140
        first, server.asked, server.answers_all = server.asked, [], True
        assert evodiverse(*arguments, cwd=tmp_path, env=FROM_ROOT).returncode == 0
        assert not set(first[:70]) & set(server.asked)
        assert set(first[70:]) <= set(server.asked)
        run_here(*with_140_requests(server, tmp_path / "whole")[2:])
    killed, whole = (next((tmp_path / name).rglob("run.json")).parent for name in ("killed", "whole"))
    assert log(killed) == log(whole)


def count_kept(cache: Path) -> int:
    if not cache.exists():
        return 0
    with closing(sqlite3.connect(cache, timeout=10)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
        except sqlite3.OperationalError:  # there is no table yet
            return 0


def test_a_failed_run_names_the_command_that_resumes_it(tmp_path: Path) -> None:
    def gone(body: Body, number: int) -> Answer:
        return error(503, "overloaded") if is_real(body) else Answer()

    with serving(ModelServer(gone)) as server:
        arguments = [*using(server, tmp_path / "cache"), "llm.retries=0", "task=bits", "display=none"]
        failed = evodiverse("--config-dir", str(TOY_CONF), *arguments, cwd=tmp_path, env=FROM_ROOT)
    assert failed.returncode == 1
    first, second = failed.stderr.splitlines()
    assert first.startswith("evodiverse: toy/model:1 failed 1 times in a row")
    assert second.startswith(f"evodiverse: to resume: evodiverse --config-dir {TOY_CONF} llm=openai_compatible")
    assert failed.stdout == ""


def test_a_run_with_a_mixture_has_the_same_log_however_it_was_stopped(toy: ModelServer, tmp_path: Path) -> None:
    models = "[{model:toy/one,weight:3},{model:toy/two,weight:1}]"
    cache = tmp_path / "cache"
    mixed = [*using(toy, cache), f"llm.pools.cold.models={models}", "budget.oracle_calls=120", "evaluator.workers=2"]
    whole = run_toy(tmp_path / "whole", *mixed)
    n_paid = len(toy.requests)
    asked = Counter((call["pool"], call["model"]) for call in rows(whole, "llm_calls"))
    assert set(asked) == {(0, "toy/one"), (0, "toy/two"), (1, "toy/model:1")}
    assert asked[0, "toy/one"] > asked[0, "toy/two"]
    probed_and_asked = ["toy/one", "toy/two", "toy/model:1", *(call["model"] for call in rows(whole, "llm_calls"))]
    assert Counter(body["model"] for body in toy.requests) == Counter(probed_and_asked)
    with pytest.raises(Interrupted):
        run_toy(tmp_path / "stopped", *mixed, display=stop_after(2))
    assert log(run_toy(tmp_path / "stopped", *mixed, "llm.concurrency=1")) == log(whole)
    assert len(toy.requests) == n_paid


@pytest.mark.parametrize("lag", [0, 1])
def test_a_run_split_between_two_operators_has_the_same_log_however_it_was_stopped(
    lag: int, toy: ModelServer, tmp_path: Path
) -> None:
    shares = [f"search.lag={lag}", "method.operators={llm:0.7,classical:0.3}"]
    shared = [*using(toy, tmp_path / "cache"), SHORT, *shares, "evaluator.workers=2"]
    whole = run_toy(tmp_path / "whole", *shared)
    made = [row for row in rows(whole, "evaluations") if row["iteration"]]
    assert {(row["operator"], row["llm_call"] is None) for row in made} == {("llm", False), ("bits", True)}
    slots = {(row["iteration"], row["pool"], row["slot"]) for row in made}
    assert len({(row["iteration"], row["pool"], row["slot"], row["operator"]) for row in made}) == len(slots)
    with pytest.raises(Interrupted):
        run_toy(tmp_path / "stopped", *shared, display=stop_after(2))
    assert log(run_toy(tmp_path / "stopped", *shared)) == log(whole)


def test_a_dry_run_counts_the_requests_of_the_model_s_share(toy: ModelServer, tmp_path: Path) -> None:
    shared = [*using(toy, tmp_path / "cache"), "budget.oracle_calls=116", "method.operators={llm:0.7,classical:0.3}"]
    assert "and 70 to 210 requests to toy/model:1" in plan("task=bits", *shared).summary
