"""What goes over HTTP while a provider is asked: nothing to another host than that, and a bounded body back.

litellm makes its HTTP clients in many places and keeps them, and so do the libraries that it uses. Whichever it is,
each request passes `httpx.AsyncClient.send`; the rules are laid around that method, and hold for what is sent within
`watched`, nothing else.
"""

import functools
import json
import re
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import httpx

from evodiverse.kit.text import printable
from evodiverse.llm.counts import drop_impossible_counts
from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.llm.keys import redact

# Four for each character of the longest reply that is kept, and far beyond any real one. Headers are bounded too, by
# aiohttp: 8 kB a line, 128 lines.
MAX_BODY_BYTES = 4_000_000
# Of the body of an error, the rest of which is left unread: nobody is shown so much, and its status must not be lost.
MAX_ERROR_BYTES = 20_000
# Besides the texts of a reply; litellm computes for seconds over a hundred thousand empty lists.
MAX_STRUCTURE_BYTES = 100_000
_SHOWN_CHARACTERS = 200
_SECRET_NAME = re.compile(r"auth|key|token|secret", re.IGNORECASE)
# The names of what a model writes: its answer, its thoughts, and the arguments of a call.
_WRITTEN = re.compile(r"content|text|parts|arguments|refusal|data|signature|.*(reasoning|thinking|thought).*")
_GZIP = 16 + zlib.MAX_WBITS


class Transfer:
    """The requests of one query, and what came back.

    Attributes:
        secrets: The credentials that were sent, which no answer may repeat.
        failure: Why an answer was not let through, None if all were.
    """

    def __init__(self) -> None:
        self.secrets: set[str] = set()
        self.failure: TransientError | RefusedError | None = None

    def prepare(self, request: httpx.Request) -> None:
        """Take note of the credentials in a request, and ask for the one packing that can be bounded."""
        for name, value in [*request.headers.items(), *request.url.params.items()]:
            if _SECRET_NAME.search(name):
                self.secrets |= {value, value.partition(" ")[2]}  # with and without a scheme such as Bearer
        request.headers["accept-encoding"] = "gzip"

    def refuse_redirect(self, response: httpx.Response) -> None:
        """Refuse an answer that sends the query somewhere else, even on the same host.

        Raises:
            RefusedError: It does; the message names the place, without credentials and parameters.
        """
        if response.next_request is not None:
            place = response.next_request.url.copy_with(userinfo=b"", query=None, fragment=None)
            self.failure = RefusedError(
                f"{response.request.url.host} redirects to {self._shown(str(place))}, and no redirect is followed",
                response.status_code,
            )
            raise self.failure

    async def unpack(self, body: httpx.AsyncByteStream, encoding: str, *, is_error: bool) -> AsyncIterator[bytes]:
        """Yield the body of an answer, unpacked, or the first `MAX_ERROR_BYTES` of that of an error.

        Raises:
            TransientError: It is longer than `MAX_BODY_BYTES`, packed or not, or packed in another way than gzip. That
                is no reply, like half a body, and may be one the next time: a proxy that fails answers with all kinds
                of pages.
        """
        if encoding not in {"", "identity", "gzip"}:
            raise self._failed(f"the answer is packed as {self._shown(encoding)}, expected gzip or nothing")
        unpacker = zlib.decompressobj(_GZIP) if encoding == "gzip" else None
        left = MAX_ERROR_BYTES if is_error else MAX_BODY_BYTES
        async for chunk in body:
            try:
                piece = chunk if unpacker is None else unpacker.decompress(chunk, left + 1)
            except zlib.error as error:
                raise self._failed("the answer says that it is packed as gzip, and is not") from error
            left -= max(len(chunk), len(piece))
            if left < 0 and not is_error:
                raise self._failed(f"the answer is longer than {MAX_BODY_BYTES:,} bytes, expected a reply")
            yield piece
            if left < 0:
                break

    def check_structure(self, body: bytes) -> None:
        """Refuse an answer that nests, lists or names more than a reply; litellm would compute on it for a minute.

        Raises:
            TransientError: It has more than `MAX_STRUCTURE_BYTES` outside of its texts, or in one that no model wrote,
                such as its own name.
        """
        without_escapes = body.replace(rb"\\", b"").replace(rb"\"", b"")
        if sum(map(len, without_escapes.split(b'"')[::2])) > MAX_STRUCTURE_BYTES:
            raise self._failed(
                f"the answer has more than {MAX_STRUCTURE_BYTES:,} bytes besides its texts, expected a reply"
            )
        if len(body) <= MAX_STRUCTURE_BYTES:
            return
        try:
            long = [name for name, text in _find_texts("", json.loads(body)) if len(text) > MAX_STRUCTURE_BYTES]
        except (ValueError, RecursionError):  # no JSON, which litellm says by itself
            return
        odd = [name for name in long if not _WRITTEN.fullmatch(name)]
        if odd:
            raise self._failed(
                f"the answer has more than {MAX_STRUCTURE_BYTES:,} characters in {self._shown(odd[0]) or 'one text'}, "
                "expected a reply"
            )

    def _failed(self, message: str) -> TransientError:
        self.failure = TransientError(message)
        return self.failure

    def _shown(self, text: str) -> str:
        return printable(redact(text, *self.secrets)[:_SHOWN_CHARACTERS])


def _find_texts(name: str, content: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts in a JSON value, each with the name that it has in its object."""
    match content:
        case str():
            yield name, content
        case dict():
            for inner_name, inner in content.items():
                yield from _find_texts(inner_name, inner)
        case list():
            for inner in content:
                yield from _find_texts(name, inner)


class _UnpackedStream(httpx.AsyncByteStream):
    """A body that is read piece by piece, under the rules of `Transfer.unpack`."""

    def __init__(self, pieces: AsyncIterator[bytes], body: httpx.AsyncByteStream) -> None:
        self._pieces = pieces
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._body.aclose()


_CURRENT: ContextVar[Transfer | None] = ContextVar("transfer", default=None)


@contextmanager
def watched() -> Iterator[Transfer]:
    """Lay the rules around all requests that are sent within; needs `watch_httpx`."""
    transfer = Transfer()
    token = _CURRENT.set(transfer)
    try:
        yield transfer
    finally:
        _CURRENT.reset(token)


def watch_httpx() -> None:
    """Make `httpx.AsyncClient.send` keep the rules within `watched`; to be called once a process."""
    send = httpx.AsyncClient.send

    @functools.wraps(send)
    async def send_watched(
        client: httpx.AsyncClient, request: httpx.Request, *, stream: bool = False, **options: Any
    ) -> httpx.Response:
        transfer = _CURRENT.get()
        if transfer is None:
            return await send(client, request, stream=stream, **options)
        transfer.prepare(request)
        response = await send(client, request, stream=True, **options | {"follow_redirects": False})
        try:
            transfer.refuse_redirect(response)
            await _replace_body(transfer, response, is_read=not stream)
        except BaseException:
            await response.aclose()
            raise
        return response

    httpx.AsyncClient.send = send_watched  # type: ignore[method-assign, assignment]


async def _replace_body(transfer: Transfer, response: httpx.Response, *, is_read: bool) -> None:
    """Give a response the unpacked body, and read it where the caller wants no stream."""
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    response.headers.pop("content-length", None)
    body = cast("httpx.AsyncByteStream", response.stream)
    pieces = transfer.unpack(body, encoding, is_error=response.is_error)
    if not is_read:
        response.stream = _UnpackedStream(pieces, body)
        return
    content = b"".join([piece async for piece in pieces])
    await body.aclose()
    transfer.check_structure(content)
    response.stream = httpx.ByteStream(drop_impossible_counts(content))
    await response.aread()
