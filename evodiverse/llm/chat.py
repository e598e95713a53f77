"""Sending one query to one provider that speaks OpenAI's chat-completions protocol, through httpx.

The format is `build_body`, `client.read_answer` and `read_refusal`.
"""

import asyncio
import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

import httpx

from evodiverse.errors import describe
from evodiverse.llm.client import Account, failure, read_answer, sent_parameters, shorten
from evodiverse.llm.failures import TransientError
from evodiverse.llm.library import Price, read_price
from evodiverse.llm.providers import COUNTS_REASONING, PROVIDERS, chat_address, find_provider
from evodiverse.llm.transfer import MAX_BODY_BYTES, Transfer, exchange
from evodiverse.vocabulary import LENGTH_PARAMETERS, Finish, Query, Reply

# What providers say of a prompt that is too long, or that a filter blocks.
_UNANSWERABLE: Final = re.compile(
    r"context_length_exceeded|maximum (context|input) length is|model's maximum context limit|model's context length"
    r"|exceeds? (context limit|the (configured limit|available context size|maximum number of tokens))"
    r"|content_policy_violation|content_filter|ResponsibleAIPolicyViolation|violating our usage policy"
    r"|as a result of (the|our) safety system",
    re.IGNORECASE,
)
_KEEP_ALIVE_SECONDS: Final = 60.0


def build_body(query: Query, provider: str, model: str, length_parameter: str) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        query: The query.
        provider: The provider, a key of `PROVIDERS`.
        model: The provider's name of the model.
        length_parameter: The name under which the largest number of tokens of the reply is sent, if the model takes it.
    """
    messages = [message._asdict() for message in query.messages]
    length = LENGTH_PARAMETERS[1] if provider == "openai" and COUNTS_REASONING.search(model) else length_parameter
    return {"model": model, "messages": messages, **sent_parameters(query.decoding, length)}


class Connections:
    """Connections to any number of hosts, which are kept for later requests.

    Args:
        timeout_s: The longest that a response may take, in seconds.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._certificates = httpx.create_ssl_context()  # once for all connections, since it takes long
        # A client for each request in progress: a pool of connections takes time in proportion to their number.
        self._idle: list[httpx.AsyncClient] = []

    async def send(
        self, method: str, address: str, headers: dict[str, str], most_bytes: int = MAX_BODY_BYTES, **content: Any
    ) -> tuple[Transfer, httpx.Response, bytes]:
        """Send a request, and return what was recorded of it, the response, whatever its status, and its body.

        Args:
            method: The method, such as ``POST``.
            address: The address.
            headers: The headers, with the key.
            most_bytes: The longest body that is accepted.
            content: The content of the request, as `httpx.AsyncClient.build_request` takes it.

        Raises:
            TransientError: No response has come in time, or it breaks the rules of `transfer`.
            RefusedError: The response is a redirect.
        """
        client = self._idle.pop() if self._idle else self._connect()
        request = client.build_request(method, address, headers=headers, **content)
        place, transfer = request.url.netloc.decode(), Transfer()
        try:
            async with asyncio.timeout(self._timeout_s):
                return transfer, *await exchange(client.send, request, transfer, most_bytes)
        except TimeoutError as error:
            raise TransientError(f"no reply from {place} within {self._timeout_s:g} s") from error
        except httpx.HTTPError as error:
            message = shorten(f"the query to {place} failed ({describe(error)})", *transfer.secrets)
            raise transfer.failure or TransientError(message) from error
        finally:
            self._idle.append(client)

    async def close(self) -> None:
        """Close all connections."""
        while self._idle:
            await self._idle.pop().aclose()

    def _connect(self) -> httpx.AsyncClient:
        limits = httpx.Limits(keepalive_expiry=_KEEP_ALIVE_SECONDS)
        return httpx.AsyncClient(verify=self._certificates, timeout=None, limits=limits)  # noqa: S113 (see `send`)


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
        began = time.perf_counter()
        name, model = cast("tuple[str, str]", find_provider(self.names[query.model]))
        body = json.dumps(build_body(query, name, model, self.length_parameter)).encode()
        headers = {"content-type": "application/json", **authorize(self.api_key or PROVIDERS[name].find_key())}
        address = chat_address(name, self.api_base)
        transfer, response, content = await self._connections.send("POST", address, headers, content=body)
        if response.is_error:
            return read_refusal(response.status_code, content, transfer, response.headers.get("retry-after"))
        parsed = transfer.parse(content)
        match parsed:
            case {"error": {"code": int(status)}} if not parsed.get("choices"):  # of a gateway, in spite of status 200
                return read_refusal(status, json.dumps(parsed).encode(), transfer)
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


def read_refusal(status: int, content: bytes, transfer: Transfer, retry_after: str | None = None) -> Reply:
    """Return an empty reply if the query was refused for its content or its length; raise for any other failure.

    Raises:
        TransientError: The query may succeed when it is sent again.
        RefusedError: The query will never be answered.
    """
    said = body = content.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        match json.loads(body):
            case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
                said = text
    message = shorten(f"status {status}: {said}", *transfer.secrets)
    refusal = failure(status, message, retry_after)
    if isinstance(refusal, TransientError) or not _UNANSWERABLE.search(body):
        raise refusal
    return Reply("", Finish.ERROR, message)
