"""One query over real HTTP, by httpx or through real litellm."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from evodiverse.llm.chat import ChatClient
from evodiverse.llm.client import MAX_CHARACTERS, Client, LiteLlmClient
from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.llm.library import Price
from evodiverse.llm.providers import find_provider
from evodiverse.vocabulary import Decoding, Finish, Message, Query, Reply, Stream
from tests.llm.servers import Answer, ModelServer, error, reply_body, serving

KEY = "sk-very-secret-key"
QUERY = Query("toy", (Message("user", "say hello"),), Decoding(1.3, None, 40), Stream(0, 4, 1, 0, 2, 1))


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving(ModelServer()) as running:
        yield running


TOOL = {"name": "dock", "arguments": "{}"}


def ask(
    server: ModelServer,
    answer: Answer,
    query: Query = QUERY,
    name: str = "openai/toy",
    prices: dict[str, Price] | None = None,
    timeout_s: float = 30.0,
) -> Reply:
    """Send one query to a server that gives this answer."""
    server.script = lambda body, number: answer
    server.requests.clear()
    server.headers.clear()

    return ask_once(client_of(name, server.url, KEY, timeout_s, prices or {}, model=query.model), query)


def client_of(name: str, *settings: Any, model: str = "toy") -> ChatClient | LiteLlmClient:
    """Return the client through which a run asks a model of this name."""
    return (LiteLlmClient if find_provider(name) is None else ChatClient)({model: name}, *settings)


def ask_once(client: Client, query: Query = QUERY) -> Reply:
    async def once() -> Reply:
        try:
            return await client.ask(query)
        finally:
            await client.close()

    return asyncio.run(once())


def test_a_reply_has_its_text_and_its_tokens(server: ModelServer) -> None:
    reply = ask(server, Answer("hello there", usage=(7, 3)))
    assert (reply.text, reply.finish, reply.prompt_tokens, reply.completion_tokens) == (
        "hello there",
        Finish.STOP,
        7,
        3,
    )
    assert 0 < reply.seconds < 30


def test_parameters_that_are_none_are_not_sent(server: ModelServer) -> None:
    ask(server, Answer())
    (body,) = server.requests
    assert body["messages"] == [{"role": "user", "content": "say hello"}]
    assert {key: body.get(key) for key in ("model", "temperature", "max_tokens", "top_p", "seed")} == {
        "model": "toy",
        "temperature": 1.3,
        "max_tokens": 40,
        "top_p": None,
        "seed": None,
    }


def test_all_parameters_of_the_decoding_are_sent(server: ModelServer) -> None:
    decoding = Decoding(0.7, 0.8, 30, 11, {"thinking": {"type": "disabled"}, "user": None})
    ask(server, Answer(), Query("toy", QUERY.messages, decoding, QUERY.stream), name="deepseek/toy")
    (body,) = server.requests
    sent = {key: body.get(key) for key in ("temperature", "top_p", "max_tokens", "seed", "thinking")}
    assert sent == {"temperature": 0.7, "top_p": 0.8, "max_tokens": 30, "seed": 11, "thinking": {"type": "disabled"}}
    assert "user" not in body
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


TRANSIENT = {
    **{f"status {status}": error(status) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)},
    "no answer": Answer(cut=-1),
    "no body": Answer(cut=0),
    "half a body": Answer(cut=30),
    "an empty body": Answer(body=b""),
    "half a JSON": Answer(body=b'{"id": "x", "choi'),
    "null": Answer(body=b"null"),
    "a list": Answer(body=b"[1, 2]"),
    "a page": Answer(body=b"<html>welcome</html>", headers={"Content-Type": "text/html"}),
    "no choice": Answer(body=json.dumps({"id": "x", "choices": [], "usage": None}).encode()),
    "no message": Answer(body=json.dumps({"id": "x", "choices": [{"index": 0, "finish_reason": "stop"}]}).encode()),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_a_failure_that_may_pass_is_transient(server: ModelServer, name: str) -> None:
    with pytest.raises(TransientError):
        ask(server, TRANSIENT[name])


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 418, 422])
def test_a_failure_that_will_not_pass_is_a_refusal_with_its_status(server: ModelServer, status: int) -> None:
    with pytest.raises(RefusedError, match="scripted failure") as refused:
        ask(server, error(status))
    assert refused.value.status == status


def test_a_server_that_hangs_times_out(server: ModelServer) -> None:
    with pytest.raises(TransientError, match=rf"no reply from 127\.0\.0\.1:{server.port} within 0\.3 s"):
        ask(server, Answer(delay=5.0), timeout_s=0.3)


def refuse_names(*_: object, **__: object) -> None:
    raise socket.gaierror(-2, "Name or service not known")


LOST = {
    "closed port": ("http://127.0.0.1:9/v1", "", r"127\.0\.0\.1:9 failed \(ConnectionRefusedError: .*127\.0\.0\.1"),
    "unknown host": ("http://no.invalid/v1", "", r"no\.invalid failed \(gaierror: .*Name or service not known"),
    "proxy": ("http://some.invalid/v1", "http://me:pass@127.0.0.1:9", r"some\.invalid failed .*\('127\.0\.0\.1', 9\)"),
    "litellm": ("http://some.invalid/v1", "http://me:pass@127.0.0.1:9", r"some\.invalid by the proxy 127\.0\.0\.1:9"),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("closed port", "openai/toy"), ("unknown host", "deepseek/toy")),
        *(("proxy", "openai/toy"), ("litellm", "mistral/toy")),
    ],
)
def test_a_failed_connection_is_transient_and_has_its_address_and_cause(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, proxy, expected = LOST[kind]
    monkeypatch.setenv("http_proxy", proxy)
    if kind == "unknown host":
        monkeypatch.setattr(socket, "getaddrinfo", refuse_names)
    with pytest.raises(TransientError, match=f"^the connection to http://{expected}"):
        ask_once(client_of(name, address, KEY, 5.0))


def test_a_connection_that_is_cut_has_its_address_and_cause(server: ModelServer) -> None:
    with pytest.raises(
        TransientError, match=rf"the connection to http://127\.0\.0\.1:{server.port} failed \(.*disconn"
    ):
        ask(server, Answer(cut=-1))


def test_the_wait_that_a_provider_asks_for_is_known(server: ModelServer) -> None:
    with pytest.raises(TransientError) as failed:
        ask(server, error(429, Retry_After="7"))
    assert failed.value.retry_after == 7


def test_a_key_in_an_error_is_hidden(server: ModelServer) -> None:
    with pytest.raises(RefusedError) as refused:
        ask(server, error(401, f"no such key: {KEY}"))
    assert KEY not in str(refused.value)
    assert "no such key: ***" in str(refused.value)


@pytest.mark.parametrize("name", ["half a body", "half a JSON", "a page", "null", "a list"])
@pytest.mark.parametrize("provider", ["deepseek", "mistral"])
def test_a_failure_that_may_pass_is_transient_with_other_providers_too(
    server: ModelServer, name: str, provider: str
) -> None:
    with pytest.raises(TransientError):
        ask(server, TRANSIENT[name], name=f"{provider}/toy")


def test_a_key_that_the_end_of_an_error_cuts_is_hidden(server: ModelServer) -> None:
    with pytest.raises(RefusedError) as refused:
        ask(server, error(401, "x" * 2000))
    n_shown = str(refused.value).count("x")
    for n_cut in range(1, len(KEY) - 7):
        n_before = n_shown - len(KEY) + n_cut
        with pytest.raises(RefusedError) as refused:
            ask(server, error(401, "x" * n_before + KEY * 20))
        assert KEY[:8] not in str(refused.value)


def test_a_reply_that_repeats_the_key_is_without_it(server: ModelServer) -> None:
    assert ask(server, Answer(f"it is {KEY}.")).text == "it is ***."


@pytest.mark.parametrize("form", [json.dumps, quote])
def test_a_key_is_hidden_as_json_and_addresses_write_it(server: ModelServer, form: Callable[[str], str]) -> None:
    key = 'sk-"quoted"\\key/+'
    with serving(ModelServer(lambda body, number: Answer(form(key)))) as echo:
        reply = ask_once(client_of("openai/toy", echo.url, key, 30.0))
    assert "quoted" not in reply.text


@pytest.mark.parametrize(
    ("name", "variable", "body"),
    [
        ("deepseek/toy", "DEEPSEEK_API_KEY", lambda text: reply_body(text)),
        (
            "anthropic/toy",
            "ANTHROPIC_API_KEY",
            lambda text: json.dumps(
                {
                    "id": "x",
                    "type": "message",
                    "role": "assistant",
                    "model": "toy",
                    "content": [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}],
                    "stop_reason": "end_turn",
                    "usage": {"input_tokens": 7, "output_tokens": 3},
                }
            ).encode(),
        ),
    ],
)
def test_the_key_that_a_provider_has_in_the_environment_is_hidden(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, body: Callable[[str], bytes]
) -> None:
    monkeypatch.setenv(variable, "the-key-of-this-provider")
    server.script = lambda _, number: Answer(body=body("the-key-of-this-provider"))
    assert ask_once(client_of(name, server.url, None, 30.0)).text == "***"
    assert "the-key-of-this-provider" in str(server.headers[-1])


def test_a_key_is_hidden_before_a_flood_is_cut(server: ModelServer) -> None:
    reply = ask(server, Answer("C" * (MAX_CHARACTERS - 9) + KEY))
    assert KEY[:8] not in reply.text


def test_a_content_filter_is_a_reply_without_text(server: ModelServer) -> None:
    reply = ask(server, Answer(None, finish_reason="content_filter", usage=(7, 0)))
    assert (reply.text, reply.finish, reply.error, reply.prompt_tokens) == ("", Finish.ERROR, "content filter", 7)


def test_a_prompt_that_is_too_long_is_a_reply_without_text(server: ModelServer) -> None:
    reply = ask(server, error(400, "This model's maximum context length is 100 tokens. Please reduce the length."))
    assert (reply.text, reply.finish) == ("", Finish.ERROR)
    assert "maximum context length" in reply.error


def test_a_reply_that_was_cut_says_so(server: ModelServer) -> None:
    assert ask(server, Answer("<box>CC", finish_reason="length")).finish is Finish.LENGTH


def test_an_empty_answer_is_a_reply(server: ModelServer) -> None:
    reply = ask(server, Answer(None))
    assert (reply.text, reply.finish) == ("", Finish.STOP)


PARTS = {
    "one": [{"type": "text", "text": "hello"}],
    "several": [{"type": "text", "text": "hel"}, {"type": "output_text", "text": "lo"}],
    "without types": [{"text": "hel"}, "l", {"type": None, "text": "o"}],
    "with odd types": [{"type": ["text"], "text": "hm"}, {"type": {}}, {"type": "text", "text": "hello"}],
    "with reasoning": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "reasoning", "text": "hm", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "text", "text": "hello"},
        {"type": "text", "text": None},
        {"type": "image_url", "image_url": {"url": "data:,"}},
        None,
    ],
}


@pytest.mark.parametrize("name", ["openai/toy", "mistral/toy"])
@pytest.mark.parametrize("kind", PARTS)
def test_the_text_of_a_reply_may_come_in_parts(server: ModelServer, kind: str, name: str) -> None:
    assert ask(server, Answer(PARTS[kind]), name=name).text == "hello"


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"content": None, "refusal": "I will not."}, "a refusal"),
        ({"content": " ", "reasoning_content": "Hm."}, "only reasoning"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}, "only reasoning"),
        ({"content": "", "tool_calls": [{"id": "1", "type": "function", "function": TOOL}]}, "only a tool call"),
        ({"content": None, "function_call": TOOL}, "only a tool call"),
        ({"content": "hello", "reasoning_content": "Hm.", "refusal": None}, ""),
    ],
)
def test_an_answer_without_text_says_what_it_has_instead(
    server: ModelServer, message: dict[str, object], error: str
) -> None:
    reply = ask(server, Answer(body=with_message(message)))
    assert (reply.error, reply.finish) == (error, Finish.STOP)


@pytest.mark.parametrize("name", ["openai/toy", "mistral/toy"])
@pytest.mark.parametrize(
    "message",
    [
        {"content": "hello", "reasoning_content": "Hm."},
        {"content": "<think>Hm.</think>hello"},
        {"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "hello"}]},
        {"content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "hello"}]},
    ],
)
def test_reasoning_is_told_apart_from_the_text(server: ModelServer, message: dict[str, object], name: str) -> None:
    reply = ask(server, Answer(body=with_message(message)), name=name)
    assert (reply.text, reply.reasoning, reply.error) == ("hello", "Hm.", "")


def test_reasoning_is_without_the_key(server: ModelServer) -> None:
    reply = ask(server, Answer(body=with_message({"content": "hello", "reasoning": f"It is {KEY}."})))
    assert reply.reasoning == "It is ***."


@pytest.mark.parametrize("content", ["<think>Hm.</think>", "<think>Hm.</think>\n"])
def test_reasoning_without_an_answer_is_no_text(server: ModelServer, content: str) -> None:
    reply = ask(server, Answer(content))
    assert (reply.text.strip(), reply.reasoning, reply.error) == ("", "Hm.", "only reasoning")


def test_a_flood_is_cut(server: ModelServer) -> None:
    reply = ask(server, Answer("C" * (2 * MAX_CHARACTERS)))
    assert (len(reply.text), reply.finish) == (MAX_CHARACTERS, Finish.LENGTH)


@pytest.mark.parametrize("text", ["β-lactam 药 🧪", "a\u0000b", "broken \ud800 surrogate", "\u202eright to left"])
def test_unicode_arrives_and_can_be_written(server: ModelServer, text: str) -> None:
    reply = ask(server, Answer(text))
    assert reply.text == text.replace("\ud800", "\\ud800")
    assert reply.text.encode()


def test_tokens_that_nobody_counted_are_unknown(server: ModelServer) -> None:
    reply = ask(server, Answer(usage=None))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (None, None, None)


def with_message(message: dict[str, object]) -> bytes:
    body = json.loads(reply_body())
    body["choices"][0]["message"] = {"role": "assistant", **message}
    return json.dumps(body).encode()


def with_usage(usage: str) -> Answer:
    return Answer(body=reply_body()[:-1] + b', "usage": ' + usage.encode() + b"}")


@pytest.mark.parametrize("name", ["openai/gpt-4o", "deepseek/deepseek-chat"])
@pytest.mark.parametrize("count", ["-5", "10000001", "9" * 4000], ids=lambda count: count[:8])
def test_impossible_counts_of_tokens_are_unknown(server: ModelServer, name: str, count: str) -> None:
    for prompt, completion, known in ((count, 3, [None, 3]), (7, count, [7, None])):
        usage = f'{{"prompt_tokens": {prompt}, "completion_tokens": {completion}, "total_tokens": {count}}}'
        reply = ask(server, with_usage(usage), name=name)
        assert (reply.text, [reply.prompt_tokens, reply.completion_tokens]) == ("hello", known)
        assert reply.cost_usd is None


@pytest.mark.parametrize("count", ["1.5", "NaN", "1e400", "1e30", '"many"', "[1]"])
def test_what_is_no_count_of_tokens_fails_and_may_be_asked_again(server: ModelServer, count: str) -> None:
    with pytest.raises(TransientError):
        ask(server, with_usage(f'{{"prompt_tokens": {count}, "completion_tokens": 3, "total_tokens": 3}}'))


@pytest.mark.parametrize("usage", [(7, 0), (0, 3)])
def test_no_tokens_are_unknown_where_there_is_text(server: ModelServer, usage: tuple[int, int]) -> None:
    reply = ask(server, Answer("hello", usage=usage), name="openai/gpt-4o")
    assert [reply.prompt_tokens, reply.completion_tokens] == [number or None for number in usage]
    assert reply.cost_usd is None


@pytest.mark.parametrize("usage", ["{}", "null"])
def test_a_usage_that_says_nothing_is_unknown(server: ModelServer, usage: str) -> None:
    reply = ask(server, with_usage(usage), name="openai/gpt-4o")
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("hello", None, None)


def test_the_cost_is_tokens_times_price(server: ModelServer) -> None:
    client = client_of("openai/gpt-4o", server.url, KEY, 30.0)
    price = client.price("toy")
    assert price is not None
    body = json.dumps(json.loads(reply_body(usage=(1000, 100))) | {"model": "gpt-4"}).encode()  # it may say anything
    reply = ask(server, Answer(body=body), name="openai/gpt-4o")
    assert reply.cost_usd == pytest.approx(1000 * price.prompt + 100 * price.completion)


@pytest.mark.parametrize("name", ["openai/toy", "mistral/toy"])
def test_cached_tokens_are_counted_and_have_a_price_of_their_own(server: ModelServer, name: str) -> None:
    usage = """{"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
        "prompt_tokens_details": {"cached_tokens": 600}}"""
    reply = ask(server, with_usage(usage), name=name, prices={"toy": Price(1e-6, 2e-6, 1e-7)})
    assert (reply.prompt_tokens, reply.cached_tokens) == (1000, 600)
    assert reply.cost_usd == pytest.approx(400e-6 + 60e-6 + 200e-6)
    dear = ask(server, with_usage(usage), name=name, prices={"toy": Price(1e-6, 2e-6)})
    assert dear.cost_usd == pytest.approx(1200e-6)


def test_an_unknown_price_is_no_price(server: ModelServer) -> None:
    client = client_of("openai/toy", server.url, KEY, 30.0)
    assert client.price("toy") is None
    assert ask(server, Answer()).cost_usd is None


def test_a_local_model_is_free(server: ModelServer) -> None:
    assert ask(server, Answer(), prices={"toy": Price(0.0, 0.0)}).cost_usd == 0
