"""Rules for the HTTP traffic with a provider: nothing is sent to another host, and the size of the response is bounded.

`exchange` sends a request by these rules. litellm and the libraries it uses create HTTP clients in many places and
reuse them, but every request passes through `httpx.AsyncClient.send`. `watch_httpx` replaces that method with one that
enforces the rules, but only for requests sent inside the context manager `watched`.
"""

import functools
import json
import re
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any, cast

import httpx

from evodiverse.errors import describe
from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.llm.keys import redact
from evodiverse.text import printable

# Four bytes for each character of the longest reply that is kept, which is far longer than any real one. aiohttp
# bounds the headers: 8 kB per line, 128 lines.
MAX_BODY_BYTES = 4_000_000
# A longer body of an error is cut off here. It is not rejected, since a rejection would lose the HTTP status.
MAX_ERROR_BYTES = 20_000
# The most bytes of JSON that a reply may have outside of its texts. litellm takes seconds to process a hundred thousand
# empty lists.
MAX_STRUCTURE_BYTES = 100_000
_SHOWN_CHARACTERS = 200
# The longest text that is kept in a field that the model does not write, such as the name of the model.
_LONGEST = 1_000
# The types of those parts of a message that are reasoning.
_THOUGHTS = ("thinking", "reasoning")
_SECRET_NAME = re.compile(r"auth|key|token|secret", re.IGNORECASE)


class Transfer:
    """The requests and responses of one query, which the methods below process.

    Attributes:
        secrets: The credentials that were sent, which are redacted from all answers.
        failure: The error with which an answer was rejected, or None if no answer was rejected.
    """

    def __init__(self) -> None:
        self.secrets: set[str] = set()
        self.failure: TransientError | RefusedError | None = None

    def refuse_redirect(self, response: httpx.Response) -> None:
        """Reject a redirect, even one to the same host.

        Raises:
            RefusedError: The answer is a redirect. The message names its target, without credentials and parameters.
        """
        if response.next_request is not None:
            place = response.next_request.url.copy_with(userinfo=b"", query=None, fragment=None)
            self.failure = RefusedError(
                f"{response.request.url.host} redirects to {self._shown(str(place))}, and redirects are not followed",
                response.status_code,
            )
            raise self.failure

    def note_lost(self, address: httpx.URL, error: httpx.TransportError) -> None:
        """Set ``failure`` to the innermost cause of an error of the network; httpx, OpenAI and litellm wrap it."""
        cause: BaseException = error
        while inner := cause.__cause__ or cause.__context__:
            cause = inner
        host = f"{address.scheme}://{address.netloc.decode()}"
        if isinstance(error, httpx.ProxyError):
            proxy = error.__cause__ or error.__context__
            host += f" by the proxy {getattr(proxy, 'host', '')}:{getattr(proxy, 'port', '')}"
        self._failed(f"the connection to {host} failed ({self._shown(describe(cause))})")

    async def read(self, response: httpx.Response, most_bytes: int = MAX_BODY_BYTES) -> bytes:
        """Return the decompressed body of an answer.

        If the answer reports an error, its body is cut off after the first piece that goes beyond `MAX_ERROR_BYTES`.

        Raises:
            TransientError: The body has an encoding other than gzip, or cannot be decompressed. Or the answer reports
                no error, and its body is longer than ``most_bytes`` before or after decompression. Such an answer may
                come from a proxy that fails for a while, so the query is worth sending again.
        """
        encoding = response.headers.pop("content-encoding", "").strip().lower()
        response.headers.pop("content-length", None)
        if encoding not in {"", "identity", "gzip"}:
            raise self._failed(f"the answer is encoded as {self._shown(encoding)}, expected gzip or no encoding")
        unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding == "gzip" else None
        left = MAX_ERROR_BYTES if response.is_error else most_bytes
        pieces = []
        async for chunk in cast("httpx.AsyncByteStream", response.stream):
            try:
                pieces.append(chunk if unpacker is None else unpacker.decompress(chunk, left + 1))
            except zlib.error as error:
                raise self._failed("the answer is declared as gzip but cannot be decompressed") from error
            left -= max(len(chunk), len(pieces[-1]))
            if left < 0 and not response.is_error:
                raise self._failed(f"the answer is longer than {most_bytes:,} bytes, expected a reply")
            if left < 0:
                break
        return b"".join(pieces)

    def reduce(self, body: bytes) -> bytes:
        """Return the body of an answer without the parts of a reply that are not read.

        Raises:
            TransientError: `parse` does not accept the body.
        """
        return json.dumps(reduce_reply(self.parse(body))).encode()

    def parse(self, body: bytes) -> Any:
        """Return the content of an answer.

        Raises:
            TransientError: The answer is not JSON in UTF-8. Or it has more JSON syntax than a reply can have, which
                would keep litellm busy for a minute: more than `MAX_STRUCTURE_BYTES` bytes outside of its strings.
        """
        try:
            text = body.decode("utf-8-sig")
            without_escapes = text.replace(r"\\", "").replace(r"\"", "")
            if sum(map(len, without_escapes.split('"')[::2])) <= MAX_STRUCTURE_BYTES:
                return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._failed("the answer is not JSON in UTF-8, expected a reply") from error
        raise self._failed(
            f"the answer has more than {MAX_STRUCTURE_BYTES:,} bytes besides its texts, expected a reply"
        )

    def _failed(self, message: str) -> TransientError:
        self.failure = TransientError(message)
        return self.failure

    def _shown(self, text: str) -> str:
        return printable(redact(text, *self.secrets)[:_SHOWN_CHARACTERS])


def reduce_reply(content: Any) -> Any:
    """Return a reply in OpenAI's format without the lists and objects that are not read; return others unchanged.

    OpenAI's client validates each entry of each list, which takes up to 2 ms per entry. If the content of the message
    is a list of parts, it is replaced by the text of these parts, since litellm accepts only text.
    """
    match content:
        case {"choices": [{"message": dict(message)} as choice, *_]}:
            choices = [_select(choice) | {"message": _reduce_message(message)}]
        case {"choices": list(choices)}:
            choices = [_select(choice) for choice in choices[:1] if isinstance(choice, dict)]
        case _:
            return content
    return _select(content, "usage", "error") | {"choices": choices}


def _reduce_message(message: dict[str, Any]) -> dict[str, Any]:
    reduced = _select(message, "content", "refusal", "reasoning_content", "reasoning", "tool_calls", "function_call")
    if isinstance(parts := message.get("content"), list):
        reduced["content"] = "".join(map(_text_of, parts))
        if thoughts := [part for part in parts if isinstance(part, dict) and part.get("type") in _THOUGHTS]:
            reduced.setdefault("reasoning_content", "".join(map(_thought_of, thoughts)))
    if isinstance(calls := message.get("tool_calls"), list):
        reduced["tool_calls"] = calls[:1]
    return reduced


def _select(entries: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the entries of an object with these names, and the others that are no lists, objects or long texts."""
    return {
        name: value
        for name, value in entries.items()
        if name in names or not (isinstance(value, list | dict) or (isinstance(value, str) and len(value) > _LONGEST))
    }


def _text_of(part: Any) -> str:
    """Return the text of one part of a message; empty for reasoning, pictures and other parts."""
    if isinstance(part, dict) and (part.get("type") or "text") in ("text", "output_text"):  # a type may be a list
        part = part.get("text")
    return part if isinstance(part, str) else ""


def _thought_of(part: dict[str, Any]) -> str:
    """Return the text of a part with reasoning, which is a text or a list of parts."""
    thought = part.get("thinking") or part.get("text")
    return "".join(map(_text_of, thought)) if isinstance(thought, list) else thought if isinstance(thought, str) else ""


async def exchange(
    send: Callable[..., Awaitable[httpx.Response]], request: httpx.Request, transfer: Transfer, most_bytes: int
) -> tuple[httpx.Response, bytes]:
    """Send a request, and return the response and its body, which `Transfer.read` bounds. Redirects are rejected.

    The credentials that the request contains are added to the secrets of ``transfer``.

    Args:
        send: The method of a client that sends a request.
        request: The request.
        transfer: What the rejection of a response is recorded in.
        most_bytes: The longest body that is accepted.
    """
    for name, value in [*request.headers.items(), *request.url.params.items()]:
        if _SECRET_NAME.search(name):
            transfer.secrets |= {value, value.partition(" ")[2]}  # with and without a scheme such as Bearer
    request.headers["accept-encoding"] = "gzip"  # whose decompression can be stopped at a size limit
    try:
        response = await send(request, stream=True, follow_redirects=False)
        async with aclosing(cast("httpx.AsyncByteStream", response.stream)):
            transfer.refuse_redirect(response)
            return response, await transfer.read(response, most_bytes)
    except (httpx.NetworkError, httpx.ProxyError, httpx.ProtocolError, httpx.UnsupportedProtocol) as error:
        transfer.note_lost(request.url, error)
        raise


_CURRENT: ContextVar[Transfer | None] = ContextVar("transfer", default=None)


@contextmanager
def watched() -> Iterator[Transfer]:
    """Check all requests of `httpx.AsyncClient` within this context, and yield the `Transfer` that records them.

    Redirects are rejected. A response must be uncompressed or gzip, and its size is bounded. `watch_httpx` must have
    been called before.
    """
    transfer = Transfer()
    token = _CURRENT.set(transfer)
    try:
        yield transfer
    finally:
        _CURRENT.reset(token)


def watch_httpx() -> None:
    """Replace `httpx.AsyncClient.send` with a method that rejects redirects and bounds the size of responses.

    These rules apply only to requests that are sent inside the context manager `watched`. Call this only once.
    """
    send = httpx.AsyncClient.send

    @functools.wraps(send)
    async def send_watched(
        client: httpx.AsyncClient, request: httpx.Request, *, stream: bool = False, **options: Any
    ) -> httpx.Response:
        transfer = _CURRENT.get()
        if transfer is None:
            return await send(client, request, stream=stream, **options)
        response, body = await exchange(functools.partial(send, client, **options), request, transfer, MAX_BODY_BYTES)
        response.stream = httpx.ByteStream(body if response.is_error else transfer.reduce(body))
        if not stream:
            await response.aread()
        return response

    httpx.AsyncClient.send = send_watched  # type: ignore[method-assign, assignment]
