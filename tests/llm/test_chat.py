"""The client of OpenAI's protocol: names, addresses, keys, bodies and costs, as litellm has them."""

import asyncio
import json
import os
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evodiverse.llm.chat import ChatClient, read_answer
from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.llm.library import find_price, load_litellm, read_price
from evodiverse.llm.providers import PROVIDERS, chat_address, find_provider
from evodiverse.vocabulary import Finish
from tests.llm.servers import Answer, ModelServer, error, reply_body, serving
from tests.llm.test_client import QUERY, ask, ask_once


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ("_API_KEY", "_API_BASE", "_BASE_URL")
    monkeypatch.setattr(os, "environ", {name: value for name, value in os.environ.items() if not name.endswith(ours)})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/gpt-5", ("openai", "gpt-5")),
        ("gpt-5", ("openai", "gpt-5")),
        ("openai/served/model:1", ("openai", "served/model:1")),
        ("deepseek/deepseek-chat", ("deepseek", "deepseek-chat")),
        ("openrouter/deepseek/deepseek-v3.2", ("openrouter", "deepseek/deepseek-v3.2")),
        ("hosted_vllm/Qwen/Qwen3", ("hosted_vllm", "Qwen/Qwen3")),
        ("ollama/llama3", ("ollama", "llama3")),
        ("anthropic/claude-sonnet-4-5", None),
        ("claude-sonnet-4-5", None),
        ("deepseek-chat", None),
        ("openai/gpt-5-pro", None),  # answers "responses" alone
        ("openai/responses/gpt-5", None),
        ("nobody/model", None),
    ],
)
def test_a_name_has_the_provider_that_litellm_gives_it(name: str, expected: tuple[str, str] | None) -> None:
    assert find_provider(name) == expected
    if expected is not None:
        model, provider, *_ = load_litellm().get_llm_provider(name)
        assert (provider, model) == expected


@pytest.mark.parametrize(
    ("name", "extra", "is_direct"),
    [
        ("openai/gpt-5", "reasoning_effort", True),
        ("deepseek/deepseek-flash", "thinking", True),
        ("deepseek/deepseek-flash", "reasoning_effort", False),
        ("openai/gpt-4o", "extra_body", False),
        ("ollama_chat/llama3", "num_ctx", False),
    ],
)
def test_a_parameter_that_litellm_translates_is_left_to_it(name: str, extra: str, is_direct: bool) -> None:
    assert (find_provider(name, [extra]) is not None) == is_direct


@pytest.mark.parametrize("variable", [name for one in PROVIDERS.values() for name in one.addresses])
def test_the_address_may_come_from_the_environment(variable: str) -> None:
    provider = next(name for name, one in PROVIDERS.items() if variable in one.addresses)
    with serving(ModelServer()) as server:
        os.environ |= {variable: server.url, PROVIDERS[provider].keys[0]: "sk-of-provider"}
        assert ask_once(ChatClient({"toy": f"{provider}/toy"}, None, None, 30.0)).text == "hello"
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["authorization"] == "Bearer sk-of-provider"


@pytest.mark.parametrize(
    ("provider", "api_base", "expected"),
    [
        ("openai", None, "https://api.openai.com/v1/chat/completions"),
        ("deepseek", None, "https://api.deepseek.com/beta/chat/completions"),
        ("openrouter", None, "https://openrouter.ai/api/v1/chat/completions"),
        ("ollama", None, "http://localhost:11434/v1/chat/completions"),
        ("ollama_chat", "http://host:1/", "http://host:1/v1/chat/completions"),
        ("ollama", "http://host:1/v1", "http://host:1/v1/chat/completions"),
        ("hosted_vllm", "http://host/v1/chat/completions", "http://host/v1/chat/completions"),
    ],
)
def test_a_request_goes_to_the_usual_address_or_the_given_one(
    provider: str, api_base: str | None, expected: str
) -> None:
    assert chat_address(provider, api_base) == expected


def test_a_server_that_needs_no_key_gets_none() -> None:
    with serving(ModelServer()) as server:
        ask_once(ChatClient({"toy": "openai/toy"}, server.url, None, 30.0))
    assert "authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("openai/gpt-5", "max_completion_tokens"),
        ("openai/o3", "max_completion_tokens"),
        ("openai/gpt-5.1", "max_completion_tokens"),
        ("openai/gpt-5-chat-latest", "max_tokens"),
        ("openai/gpt-oss-20b", "max_tokens"),
        ("openrouter/openai/gpt-5", "max_tokens"),
    ],
)
def test_the_length_has_the_name_that_the_model_takes(name: str, parameter: str) -> None:
    with serving(ModelServer()) as server:
        ask(server, Answer(), replace(QUERY, decoding=replace(QUERY.decoding, temperature=None)), name=name)
    sent = set(server.requests[0])
    assert sent == {"model", "messages", parameter}


def test_one_connection_serves_one_query_after_the_other() -> None:
    async def twice() -> None:
        client = ChatClient({"toy": "openai/toy"}, server.url, None, 30.0)
        await client.ask(QUERY)
        await client.ask(QUERY)
        await asyncio.gather(*[client.ask(QUERY) for _ in range(3)])
        await client.close()

    with serving(ModelServer(lambda body, number: Answer(delay=0.1 * (number > 1)))) as server:
        asyncio.run(twice())
    assert (len(server.requests), server.n_connections, server.most_in_flight) == (5, 3, 3)


def test_the_error_of_a_gateway_counts_in_spite_of_its_status() -> None:
    refused = json.dumps({"error": {"message": "no credit", "code": 402}}).encode()
    busy = json.dumps({"error": {"message": "too many", "code": 429}, "choices": []}).encode()
    with serving(ModelServer()) as server:
        with pytest.raises(RefusedError, match="status 402: no credit"):
            ask(server, Answer(body=refused))
        with pytest.raises(TransientError, match="status 429: too many"):
            ask(server, Answer(body=busy))


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 100 tokens",
        "the request exceeds the available context size",
        "content_policy_violation",
        "Invalid prompt: violating our usage policy",
    ],
)
def test_a_prompt_that_cannot_be_answered_is_a_reply_without_text(message: str) -> None:
    with serving(ModelServer()) as server:
        reply = ask(server, error(400, message))
    assert (reply.text, reply.finish, reply.error) == ("", Finish.ERROR, f"status 400: {message}")


MODELS = ["gpt-4o", "openai/gpt-5", "openai/gpt-4.1-mini", "deepseek/deepseek-chat", "deepseek/deepseek-flash"]
USAGES = [
    {},
    {"prompt_tokens_details": {"cached_tokens": 600}},
    {"prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 400},
    {"prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 300}},
]
TIMES = [f"2026-{day}T{clock}+00:00" for day in ("11-25", "11-28") for clock in ("00:30", "02:00", "05:59", "23:00")]


@pytest.mark.parametrize("usage", USAGES)
@pytest.mark.parametrize("name", MODELS)
def test_the_cost_is_that_of_litellm_at_any_hour(name: str, usage: dict[str, object]) -> None:
    from litellm.litellm_core_utils.llm_cost_calc.utils import generic_cost_per_token
    from litellm.types.utils import Usage

    counts = {"prompt_tokens": 1000, "completion_tokens": 200, **usage}
    answer, n_written = read_answer(json.loads(reply_body()) | {"usage": counts})
    model, provider, *_ = load_litellm().get_llm_provider(name)
    for time in map(datetime.fromisoformat, TIMES):
        price = read_price(name, time)
        assert price is not None
        expected = generic_cost_per_token(model, Usage(total_tokens=1200, **counts), provider, current_time=time)
        assert price.cost(1000, 200, answer.cached_tokens or 0, n_written) == pytest.approx(sum(expected), rel=1e-12)
    assert (answer.prompt_tokens, answer.completion_tokens) == (1000, 200)


def test_a_cheaper_hour_lowers_the_cost_but_not_the_bound() -> None:
    cheap, dear = (read_price("deepseek/deepseek-flash", datetime(2026, 11, 25, hour, tzinfo=UTC)) for hour in (23, 2))
    assert cheap is not None
    assert dear is not None
    assert cheap.prompt < dear.prompt
    assert read_price("deepseek/deepseek-flash") == dear


@pytest.mark.parametrize("name", [*MODELS, "openai/toy", "openrouter/deepseek/deepseek-v3.2", "openai/deepseek-chat"])
def test_the_price_is_that_of_litellm(name: str) -> None:
    ours, theirs = read_price(name), find_price(name)
    assert (ours and ours[:2]) == (theirs and theirs[:2])
