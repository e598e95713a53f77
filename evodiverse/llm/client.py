"""Sending one query to one provider: what all clients have in common, and the client that asks through litellm."""

import asyncio
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from evodiverse.llm.failures import RefusedError, TransientError, parse_retry_after
from evodiverse.llm.keys import redact, redact_reply
from evodiverse.llm.library import Price, find_price, load_litellm
from evodiverse.llm.transfer import reduce_reply, watched
from evodiverse.text import one_line, printable, split_reasoning
from evodiverse.vocabulary import LENGTH_PARAMETERS, Decoding, Finish, Query, Reply

# The HTTP statuses from 400 to 499 that report a failure that may pass, so that the query is sent again. All other
# statuses in this range are refusals.
TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
# Longer than any real reply. A longer reply is cut off, and its finish is `Finish.LENGTH`.
MAX_CHARACTERS = 1_000_000
# How a reply ends, by its ``finish_reason``; all others end it as usual.
FINISH: Mapping[object, Finish] = {"length": Finish.LENGTH, "content_filter": Finish.ERROR}
# More tokens than any model reads or writes in one query.
MAX_TOKENS = 10_000_000


class Client(Protocol):
    """A connection to a provider of language models, through which queries are sent."""

    async def ask(self, query: Query) -> Reply:
        """Send one query and return the reply.

        Raises:
            TransientError: The query failed but may succeed when it is sent again.
            RefusedError: The query will never be answered.
        """

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is unknown."""

    async def close(self) -> None:
        """Close all connections."""


class Clients(dict[str, Client]):
    """The client of each model, by its name in queries. They act as one client."""

    async def ask(self, query: Query) -> Reply:
        """Send one query through the client of its model."""
        return await self[query.model].ask(query)

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is unknown."""
        return self[model].price(model)

    async def close(self) -> None:
        """Close all connections."""
        for client in self.values():
            await client.close()


@dataclass(frozen=True)
class Answer:
    """What a provider's answer says, whatever its format.

    Attributes:
        text: The text of the reply.
        finish: Why the text ends.
        instead: What the answer has if it has no text, such as ``only reasoning``; else empty.
        prompt_tokens: The tokens of the prompt, or None if they are unknown.
        completion_tokens: The tokens of the reply, or None if they are unknown.
        reasoning: The reasoning that the answer has in a place of its own; empty if it has none.
        cached_tokens: The tokens of the prompt that were in the provider's cache, or None if they are unknown.
    """

    text: str
    finish: Finish
    instead: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning: str = ""
    cached_tokens: int | None = None

    def cost(self, price: Price | None, n_written: int) -> float | None:
        """Return the cost in USD, or None if it is unknown.

        Args:
            price: The price of the model, or None if it is unknown.
            n_written: The tokens of the prompt that the provider put into its cache.
        """
        if price is None or self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return price.cost(self.prompt_tokens, self.completion_tokens, self.cached_tokens or 0, n_written)

    def to_reply(self, secrets: Iterable[str], seconds: float, cost_usd: float | None) -> Reply:
        """Return the reply, with its reasoning apart, without secrets, and with both cut at `MAX_CHARACTERS`."""
        parts = (part.encode("utf-8", "backslashreplace").decode() for part in (self.text, self.reasoning))
        whole, reasoning = (redact_reply(part, *secrets) for part in parts)
        finish = Finish.LENGTH if len(whole) > MAX_CHARACTERS else self.finish
        thought, text = split_reasoning(whole[:MAX_CHARACTERS])
        instead = "only reasoning" if thought and not text.strip() else self.instead
        return Reply(
            text=text,
            finish=finish,
            error="content filter" if finish is Finish.ERROR else instead,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost_usd=cost_usd,
            seconds=seconds,
            cached_tokens=self.cached_tokens,
            reasoning="\n\n".join(filter(None, (reasoning, thought)))[:MAX_CHARACTERS],
        )


@dataclass
class Account:
    """What a client needs to ask the models of a provider.

    Attributes:
        names: The name of each model in litellm, by its name in queries (`Query.model`).
        api_base: The address of the API, or None for the usual one of each provider.
        api_key: The key, or None to read it from the provider's own environment variable.
        timeout_s: The longest that a reply may take, in seconds.
        prices: Prices by the models' names in queries. They replace those of litellm.
        length_parameter: The name in requests of the largest number of tokens of a reply.
    """

    names: Mapping[str, str]
    api_base: str | None
    api_key: str | None
    timeout_s: float
    prices: Mapping[str, Price] = field(default_factory=dict)
    length_parameter: str = LENGTH_PARAMETERS[0]


@dataclass
class LiteLlmClient(Account):
    """A client that sends queries through litellm."""

    def __post_init__(self) -> None:
        """Import litellm."""
        self._litellm: Any = load_litellm()

    async def ask(self, query: Query) -> Reply:
        """Send one query and return the reply.

        If a content filter blocks the query, or the query is too long for the model, a reply is returned whose
        ``finish`` is `Finish.ERROR`.
        """
        began = time.perf_counter()
        try:
            with watched() as transfer:
                async with asyncio.timeout(self.timeout_s):
                    response = await self._litellm.acompletion(
                        model=self.names[query.model],
                        messages=[message._asdict() for message in query.messages],
                        api_base=self.api_base,
                        api_key=self.api_key,
                        timeout=self.timeout_s,
                        max_retries=0,
                        **sent_parameters(query.decoding, self.length_parameter),
                    )
        except TimeoutError as error:
            raise TransientError(f"no reply within {self.timeout_s:g} s") from error
        except Exception as error:  # litellm raises many kinds, depending on the provider's answer
            if transfer.failure is not None:  # litellm would report no more than "connection error"
                raise transfer.failure from error
            message = shorten(f"{type(error).__name__}: {error}", self.api_key, *transfer.secrets)
            if isinstance(error, self._litellm.ContentPolicyViolationError | self._litellm.ContextWindowExceededError):
                return Reply("", Finish.ERROR, message)
            headers = getattr(error, "litellm_response_headers", None) or {}
            raise failure(getattr(error, "status_code", None), message, headers.get("retry-after")) from error
        return self._read(response, query.model, time.perf_counter() - began, transfer.secrets)

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None if neither ``prices`` nor litellm's price map has it."""
        return self.prices.get(model) or find_price(self.names[model])

    async def close(self) -> None:
        """Close all connections."""
        await self._litellm.close_litellm_async_clients()

    def _read(self, response: Any, model: str, seconds: float, secrets: Iterable[str]) -> Reply:
        content = response.model_dump(warnings=False)
        for choice in content["choices"]:
            message = choice["message"]
            message["refusal"] = (message.get("provider_specific_fields") or {}).get("refusal")
        answer, _ = read_answer(content)
        return answer.to_reply(secrets, seconds, self._cost(model, answer, getattr(response, "usage", None)))

    def _cost(self, model: str, answer: Answer, usage: Any) -> float | None:
        """Return the cost of a reply in USD, or None if it is unknown.

        The price is that of the requested model, whatever name the server reports.
        """
        if answer.cost(price := self.price(model), 0) is None or model in self.prices:
            return answer.cost(price, 0)
        costs = self._litellm.cost_per_token(
            model=self.names[model],
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            usage_object=usage,  # it may report cached tokens, which are cheaper
        )
        return cost if 0 <= (cost := float(sum(costs))) < math.inf else None


def read_answer(content: Any) -> tuple[Answer, int]:
    """Return what a reply says, and how many tokens of the prompt the provider put into its cache.

    Raises:
        TransientError: The content is no reply.
    """
    match reply := reduce_reply(content):
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
    rest = {"only a tool call": calls, "a refusal": message.get("refusal"), "only reasoning": reasoning}
    answer = Answer(
        text=text,
        finish=FINISH.get(choice.get("finish_reason"), Finish.STOP),
        instead="" if text.strip() else next((name for name, part in rest.items() if part), ""),
        prompt_tokens=count_tokens(counts["prompt"], least=1),
        completion_tokens=count_tokens(counts["completion"], least=bool(text)),
        reasoning=reasoning if isinstance(reasoning, str) else "",
        cached_tokens=count_tokens(counts["cached"], least=0),
    )
    return answer, count_tokens(counts["written"], least=0) or 0


def count_tokens(number: object, least: int) -> int | None:
    """Return a number of tokens that a provider reports, or None if it is unknown or impossible.

    Some servers, and litellm, report 0 if they did not count. ``least`` is 1 where 0 therefore counts as unknown.
    """
    return number if isinstance(number, int) and least <= number <= MAX_TOKENS else None


def shorten(message: str, *secrets: str | None) -> str:
    """Return a provider's message on one line, without secrets and not too long."""
    whole = redact(message, *secrets)  # before it is cut
    return printable(one_line(whole.partition("Traceback (most recent call last)")[0], 500))


def failure(status: int | None, message: str, retry_after: str | None) -> TransientError | RefusedError:
    """Return the error of a failed query, given the HTTP status, a message, and the ``Retry-After`` header."""
    if status is None or status in TRANSIENT_STATUS or not 400 <= status < 500:
        return TransientError(message, parse_retry_after(retry_after))
    return RefusedError(message, status)


def sent_parameters(decoding: Decoding, length_parameter: str) -> dict[str, Any]:
    """Return the sampling parameters that a request contains, by name: all that are not None.

    ``length_parameter`` is the name under which ``max_tokens`` is sent.
    """
    named = {
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        length_parameter: decoding.max_tokens,
        "seed": decoding.seed,
    }
    return {key: value for key, value in {**named, **decoding.extra}.items() if value is not None}
