"""Sending one query to one provider that speaks OpenAI's chat-completions protocol, through httpx.

The format is `build_body`, `read_answer` and `read_refusal`.
"""

import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from evodiverse.llm.client import (
    FINISH,
    Account,
    Answer,
    count_tokens,
    describe_rest,
    failure,
    sent_parameters,
    shorten,
)
from evodiverse.llm.connections import Connections
from evodiverse.llm.failures import TransientError
from evodiverse.llm.families import takes_completion_tokens
from evodiverse.llm.library import Price, read_price
from evodiverse.llm.providers import PROVIDERS, chat_address, find_provider
from evodiverse.llm.transfer import Transfer, reduce_reply
from evodiverse.vocabulary import LENGTH_PARAMETERS, Finish, Query, Reply

# What providers say of a prompt that is too long, or that a filter blocks.
_UNANSWERABLE: Final = re.compile(
    r"context_length_exceeded|maximum (context|input) length is|model's maximum context limit|model's context length"
    r"|exceeds? (context limit|the (configured limit|available context size|maximum number of tokens))"
    r"|content_policy_violation|content_filter|ResponsibleAIPolicyViolation|violating our usage policy"
    r"|as a result of (the|our) safety system",
    re.IGNORECASE,
)


def build_body(query: Query, provider: str, model: str, length_parameter: str) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        query: The query.
        provider: The provider, a key of `PROVIDERS`.
        model: The provider's name of the model.
        length_parameter: The name under which the largest number of tokens of the reply is sent, if the model takes it.
    """
    messages = [message._asdict() for message in query.messages]
    length = LENGTH_PARAMETERS[1] if provider == "openai" and takes_completion_tokens(model) else length_parameter
    return {"model": model, "messages": messages, **sent_parameters(query.decoding, length)}


def read_answer(content: Any) -> tuple[Answer, int]:
    """Return what a reply says, and how many tokens of the prompt the provider put into its cache.

    Raises:
        TransientError: The content is no reply.
    """
    reply = reduce_reply(content)
    match reply:
        case {"choices": [{"message": dict(message)} as choice]}:
            text, usage = message.get("content") or "", reply.get("usage") or {}
        case _:
            raise TransientError("the provider's answer contains no message, expected a reply")
    details = (usage.get("prompt_tokens_details") or {}) if isinstance(usage, dict) else None
    if not isinstance(text, str) or not isinstance(details, dict):
        raise TransientError("the provider's answer has a text or a usage in another format, expected a reply")
    counts = {
        "prompt": usage.get("prompt_tokens"),
        "completion": usage.get("completion_tokens"),
        "cached": usage.get("prompt_cache_hit_tokens", details.get("cached_tokens")),  # the first is DeepSeek's
        "written": details.get("cache_write_tokens"),
    }
    if not all(count is None or isinstance(count, int) for count in counts.values()):
        raise TransientError("the provider's answer has a number of tokens that is no whole number, expected a reply")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    calls = message.get("tool_calls") or message.get("function_call")
    instead = describe_rest(calls=calls, refusal=message.get("refusal"), reasoning=reasoning)
    answer = Answer(
        text=text,
        finish=FINISH.get(choice.get("finish_reason"), Finish.STOP),
        instead="" if text.strip() else instead,
        prompt_tokens=count_tokens(counts["prompt"], least=1),
        completion_tokens=count_tokens(counts["completion"], least=bool(text)),
        reasoning=reasoning if isinstance(reasoning, str) else "",
        cached_tokens=count_tokens(counts["cached"], least=0),
    )
    return answer, count_tokens(counts["written"], least=0) or 0


@dataclass
class ChatClient(Account):
    """A client that speaks OpenAI's chat-completions protocol. `find_provider` has all of its models."""

    def __post_init__(self) -> None:
        """Prepare the connections."""
        self._connections = Connections(self.timeout_s)

    async def ask(self, query: Query) -> Reply:
        """Send one query and return the reply.

        If a content filter blocks the query, or the query is too long for the model, a reply is returned whose
        ``finish`` is `Finish.ERROR`.
        """
        transfer, began = Transfer(), time.perf_counter()
        found = find_provider(self.names[query.model])
        if found is None:
            raise ValueError(f"{self.names[query.model]} is not a model that speaks OpenAI's protocol")
        name, model = found
        body = json.dumps(build_body(query, name, model, self.length_parameter)).encode()
        headers = {"content-type": "application/json", **authorize(self.api_key or PROVIDERS[name].find_key())}
        address = chat_address(name, self.api_base)
        response, content = await self._connections.send(transfer, "POST", address, headers, content=body)
        if response.is_error:
            text, retry_after = content.decode("utf-8", "replace"), response.headers.get("retry-after")
            return read_refusal(response.status_code, text, retry_after, transfer)
        parsed = transfer.parse(content)
        match parsed:
            case {"error": {"code": int(status)}} if not parsed.get("choices"):  # of a gateway, in spite of status 200
                return read_refusal(status, json.dumps(parsed), None, transfer)
        answer, n_written = read_answer(parsed)
        price = self.prices.get(query.model) or read_price(self.names[query.model], datetime.now(UTC))
        return answer.to_reply(transfer.secrets, time.perf_counter() - began, answer.cost(price, n_written))

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None if neither ``prices`` nor litellm's price map has it."""
        return self.prices.get(model) or read_price(self.names[model])

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()


def authorize(key: str | None) -> dict[str, str]:
    """Return the header with an API key; none without a key."""
    return {"authorization": f"Bearer {key}"} if key else {}


def read_refusal(status: int, body: str, retry_after: str | None, transfer: Transfer) -> Reply:
    """Return an empty reply if the query was refused for its content or its length; raise for any other failure.

    Raises:
        TransientError: The query may succeed when it is sent again.
        RefusedError: The query will never be answered.
    """
    said = body
    with suppress(ValueError, RecursionError):
        match json.loads(body):
            case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
                said = text
    message = shorten(f"status {status}: {said}", *transfer.secrets)
    refusal = failure(status, message, retry_after)
    if isinstance(refusal, TransientError) or not _UNANSWERABLE.search(body):
        raise refusal
    return Reply("", Finish.ERROR, message)
