"""The endpoints of providers that answer many queries as one batch, at half the price and within a day.

OpenAI's has files of requests and of replies, and several providers have copied it; Anthropic's takes and returns the
requests themselves.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

from evodiverse.llm.chat import Connections, authorize, build_body, read_refusal
from evodiverse.llm.client import read_answer, sent_parameters, shorten
from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.llm.keys import redact
from evodiverse.llm.library import Price
from evodiverse.llm.transfer import MAX_BODY_BYTES, Transfer
from evodiverse.vocabulary import LENGTH_PARAMETERS, Query, Reply

if TYPE_CHECKING:
    from evodiverse.llm.shelf import Batch

Line: TypeAlias = Reply | TransientError | RefusedError
"""What became of one query of a batch."""
_T = TypeVar("_T")
ID: Final = re.compile(r"[\w.:/@=+-]{1,300}", re.ASCII)
"""What names of batches and files look like."""
_CHAT: Final = "/v1/chat/completions"
# The longest content that is read, whatever the number of replies.
_MOST_BYTES: Final = 1 << 30
# The clock of the provider may be slow by this much.
_SKEW_SECONDS: Final = 300.0
# A batch is created at most this long after the moment that was written down before it was sent.
_CREATED_WITHIN_SECONDS: Final = 3600.0
# The name of a batch and the number of a query in it, which has at most seven digits.
_PLACE: Final = re.compile(r"(.*)-(\d{1,7})", re.ASCII)
# The parts of a prompt that Anthropic counts: those that are new, those from its cache, and those put into its cache.
_PROMPT_TOKENS: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_FINISH: Final = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}
# The kinds of errors that Anthropic reports of a query that it will never answer; others may pass.
_REFUSED: Final = {"invalid_request_error": 400, "request_too_large": 413}


class State(NamedTuple):
    """How far a batch is.

    Attributes:
        is_over: Whether no more replies come.
        is_cancelled: Whether it was cancelled.
        n_done: The number of queries that have a reply.
        files: The paths of the files with the replies.
        error: Why the provider accepted none of the queries; empty if it did.
    """

    is_over: bool
    is_cancelled: bool = False
    n_done: int = 0
    files: Sequence[str] = ()
    error: str = ""


@dataclass
class Endpoint(ABC):
    """The batches of one model at a provider.

    All methods raise `TransientError` for a failure that may pass, and `RefusedError` for others.

    Attributes:
        api: The name of this kind of endpoint.
        address: The address of the API.
        key: The API key; empty for a server that needs none.
        key_variable: The environment variable that has the key.
        timeout_s: The longest that a response may take, in seconds.
        name: The provider's name of the model.
        price: The price of the model in a batch, or None if it is unknown.
        length_parameter: The name in requests of the largest number of tokens of a reply.
    """

    api: ClassVar[str]
    _path: ClassVar[str]  # of the list of batches
    _cursor: ClassVar[str]  # the parameter that pages through the list
    address: str
    key: str
    key_variable: str
    timeout_s: float
    name: str = ""
    price: Price | None = None
    length_parameter: str = LENGTH_PARAMETERS[0]

    def __post_init__(self) -> None:
        """Prepare the connections."""
        self._connections = Connections(self.timeout_s)

    @abstractmethod
    async def upload(self, name: str, queries: Sequence[Query]) -> str:
        """Prepare a batch, which costs nothing, and return what `start` and `find` recognise it by."""

    @abstractmethod
    async def start(self, name: str, upload: str, queries: Sequence[Query]) -> str:
        """Start a batch, and return the provider's name for it."""

    @abstractmethod
    async def find(self, sent: "Batch") -> dict[str, bool]:
        """Return the provider's names of the batches that may be one whose start was not confirmed, mostly one or none.

        The value is whether it certainly is that batch.

        Raises:
            RefusedError: The provider does not list its batches.
        """

    @abstractmethod
    async def look(self, job: str) -> State:
        """Return how far a batch is."""

    async def cancel(self, job: str) -> None:
        """Cancel a batch. The replies that it has already are paid for, and can be read once it is over."""
        await self._call("POST", f"{self._job_path(job)}/cancel")

    async def read(self, state: State, n: int) -> AsyncIterator[tuple[str, int, Line]]:
        """Yield the name of the batch, the number of a query in it, and what became of the query.

        Args:
            state: What `look` has returned of a batch that is over.
            n: The number of the queries.
        """
        for path in state.files:
            async for transfer, line in self._fetch_lines(path, n):
                match line:
                    case {"custom_id": str(text)} if place := _PLACE.fullmatch(text):
                        try:
                            outcome: Line = self._read_line(line, transfer)
                        except (TransientError, RefusedError) as error:
                            outcome = error
                        yield place[1], int(place[2]), outcome

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def _call(self, method: str, path: str, **content: Any) -> Any:
        """Send a request to the API and return the content of its answer."""
        transfer, body = await self._fetch(method, path, **content)
        return transfer.parse(body)

    async def _fetch(self, method: str, path: str, **options: Any) -> tuple[Transfer, bytes]:
        address = self.address.rstrip("/") + path
        transfer, response, body = await self._connections.send(method, address, self._headers(), **options)
        if response.is_error:
            reply = read_refusal(response.status_code, body, transfer, response.headers.get("retry-after"))
            raise RefusedError(reply.error, response.status_code)
        return transfer, body

    async def _fetch_lines(self, path: str, n: int) -> AsyncIterator[tuple[Transfer, Any]]:
        """Yield the lines of a file of replies; one that is damaged is left out, so that its query counts as lost."""
        transfer, body = await self._fetch("GET", path, most_bytes=min(n * MAX_BODY_BYTES, _MOST_BYTES))
        for line in islice(re.finditer(rb"[^\r\n]+", body), 2 * n + 100):
            with suppress(TransientError):
                yield transfer, transfer.parse(line[0])

    async def _list(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the batches that the provider lists, the newest first."""
        after = ""
        for _ in range(100):
            page = await self._call("GET", f"{self._path}?limit=50{after}")
            batches = [batch for batch in _take(page, "data", list) if isinstance(batch, dict)]
            for batch in batches:
                yield batch
            if not batches or page.get("has_more") is not True:
                return
            last = f"&{self._cursor}={quote(self._take_id(batches[-1]), safe='')}"
            if last == after:  # the provider ignores the parameter
                break
            after = last
        raise RefusedError("the list of batches does not end", 501)  # as from a provider that has no such list

    def _take_id(self, content: Any) -> str:
        """Return the name of a batch or a file in an answer.

        Raises:
            TransientError: There is none, or it has impossible characters or the key.
        """
        name = _take(content, "id", str)
        if not ID.fullmatch(name) or redact(name, self.key) != name:
            raise TransientError("the provider's answer about a batch has an impossible id")
        return name

    def _job_path(self, job: str) -> str:
        return f"{self._path}/{quote(job, safe='')}"

    @abstractmethod
    def _read_line(self, line: Any, transfer: Transfer) -> Reply:
        """Return the reply in a line of replies; raise the error of a query that has none."""

    @abstractmethod
    def _headers(self) -> dict[str, str]:
        """Return the headers of a request, with the key."""

    def _reply(self, content: Any, transfer: Transfer) -> Reply:
        """Return the reply that an answer in OpenAI's format contains; how long it took is not known here."""
        answer, n_written = read_answer(content)
        return answer.to_reply(transfer.secrets, 0.0, answer.cost(self.price, n_written))


class OpenAiEndpoint(Endpoint):
    """The endpoint of OpenAI, and of those that have copied it."""

    api = "openai"
    _path = "/batches"
    _cursor = "after"

    async def upload(self, name: str, queries: Sequence[Query]) -> str:
        """Upload the requests as a file and return its name."""
        bodies = [build_body(query, "openai", self.name, self.length_parameter) for query in queries]
        lines = [
            {"custom_id": f"{name}-{index}", "method": "POST", "url": _CHAT, "body": body}
            for index, body in enumerate(bodies)
        ]
        content = "".join(json.dumps(line) + "\n" for line in lines).encode()
        file = (f"evodiverse-{name}.jsonl", content, "application/jsonl")
        return self._take_id(await self._call("POST", "/files", data={"purpose": "batch"}, files={"file": file}))

    async def start(self, name: str, upload: str, queries: Sequence[Query]) -> str:  # noqa: ARG002
        """Start a batch of the requests in a file."""
        known = {"evodiverse": name}
        order = {"input_file_id": upload, "endpoint": _CHAT, "completion_window": "24h", "metadata": known}
        return self._take_id(await self._call("POST", self._path, json=order))

    async def find(self, sent: "Batch") -> dict[str, bool]:
        """Return the batch whose requests are in the uploaded file."""
        async for batch in self._list():
            match batch:
                case {"metadata": {"evodiverse": sent.name}} | {"input_file_id": sent.upload}:
                    return {self._take_id(batch): True}
        return {}

    async def look(self, job: str) -> State:
        """Return how far a batch is."""
        batch = await self._call("GET", self._job_path(job))
        status = _take(batch, "status", str).lower()
        names = [batch.get(f"{kind}_file_id") for kind in ("output", "error")]
        match batch:
            case {"errors": {"data": [{"message": str(error)}, *_]}}:
                pass
            case _:
                error = "no reason given"
        return State(
            is_over=status in ("completed", "failed", "expired", "cancelled"),
            is_cancelled=status == "cancelled",
            n_done=_read_counts(batch).get("completed", 0),
            files=[
                f"/files/{quote(name, safe='')}/content"
                for name in names
                if isinstance(name, str) and ID.fullmatch(name)
            ],
            error=shorten(error, self.key) if status == "failed" else "",
        )

    def _read_line(self, line: Any, transfer: Transfer) -> Reply:
        match line:
            case {"response": {"status_code": 200, "body": content}}:
                return self._reply(content, transfer)
            case {"response": {"status_code": int(status), "body": content}}:
                return read_refusal(status, json.dumps(content).encode(), transfer)
            case {"error": {"message": str(message)}}:
                raise TransientError(shorten(message, *transfer.secrets))
        raise TransientError("the batch has no reply to it")

    def _headers(self) -> dict[str, str]:
        return authorize(self.key)


class AnthropicEndpoint(Endpoint):
    """Anthropic's message batches."""

    api = "anthropic"
    _path = "/v1/messages/batches"
    _cursor = "after_id"

    async def upload(self, name: str, queries: Sequence[Query]) -> str:  # noqa: ARG002
        """Do nothing: the requests are sent by `start`."""
        return ""

    async def start(self, name: str, upload: str, queries: Sequence[Query]) -> str:  # noqa: ARG002
        """Start a batch."""
        requests = [
            {"custom_id": f"{name}-{index}", "params": self._params(query)} for index, query in enumerate(queries)
        ]
        return self._take_id(await self._call("POST", self._path, json={"requests": requests}))

    def _params(self, query: Query) -> dict[str, Any]:
        system = "\n\n".join(message.content for message in query.messages if message.role == "system")
        return {
            "model": self.name,
            "messages": [message._asdict() for message in query.messages if message.role != "system"],
            **({"system": system} if system else {}),
            **sent_parameters(query.decoding, "max_tokens"),
        }

    async def find(self, sent: "Batch") -> dict[str, bool]:
        """Return the batches of the right size and time, since the list has nothing else that they are recognised by.

        The replies of a batch that is over bear its name.
        """
        found = {}
        async for batch in self._list():
            n, since = sum(_read_counts(batch).values()), _read_time(batch.get("created_at")) - sent.at
            if n != len(sent.keys) or not -_SKEW_SECONDS < since < _CREATED_WITHIN_SECONDS:
                continue
            job = self._take_id(batch)
            if batch.get("processing_status") != "ended":
                found[job] = False
            elif await self._is_named(job, sent):
                return {job: True}
        return found

    async def _is_named(self, job: str, sent: "Batch") -> bool:
        async for name, *_ in self.read(State(is_over=True, files=self._results(job)), len(sent.keys)):
            return name == sent.name
        return False

    async def look(self, job: str) -> State:
        """Return how far a batch is."""
        batch = await self._call("GET", self._job_path(job))
        is_over = _take(batch, "processing_status", str).lower() == "ended"
        is_cancelled = is_over and batch.get("cancel_initiated_at") is not None
        return State(is_over, is_cancelled, _read_counts(batch).get("succeeded", 0), self._results(job))

    def _results(self, job: str) -> list[str]:
        return [f"{self._job_path(job)}/results"]

    def _read_line(self, line: Any, transfer: Transfer) -> Reply:
        match line:
            case {"result": {"type": "succeeded", "message": dict(message)}}:
                return self._reply(_translate(message), transfer)
            case {"result": {"type": "errored", "error": {"error": {"type": str(kind), "message": str(said)}}}}:
                why = shorten(f"{kind}: {said}", *transfer.secrets)
                raise RefusedError(why, _REFUSED[kind]) if kind in _REFUSED else TransientError(why)
            case {"result": {"type": str(kind)}}:
                raise TransientError(shorten(f"the batch has no reply to it ({kind})", *transfer.secrets))
        raise TransientError("the batch has no reply to it")

    def _headers(self) -> dict[str, str]:
        return {"x-api-key": self.key, "anthropic-version": "2023-06-01"}


ENDPOINTS: Final[Mapping[str, type[Endpoint]]] = {kind.api: kind for kind in (OpenAiEndpoint, AnthropicEndpoint)}
"""The kinds of endpoints by their names."""


def _translate(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of Anthropic's in OpenAI's format."""
    content, usage = message.get("content"), message.get("usage")
    counts: dict[str, Any] = {}
    if isinstance(usage, dict):
        parts = [usage.get(name) or 0 for name in _PROMPT_TOKENS]
        counts = {
            "prompt_tokens": sum(parts) if all(isinstance(part, int) for part in parts) else None,
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": parts[1], "cache_write_tokens": parts[2]},
        }
    parts_of_reply = content if isinstance(content, list) else []
    tools = [part for part in parts_of_reply if isinstance(part, dict) and part.get("type") == "tool_use"]
    finish = _FINISH.get(str(message.get("stop_reason")), "stop")
    choice = {"message": {"content": content, "tool_calls": tools}, "finish_reason": finish}
    return {"choices": [choice], "usage": counts}


def _take(content: Any, name: str, kind: type[_T]) -> _T:
    """Return a part of an answer.

    Raises:
        TransientError: The part is missing or of another type.
    """
    part = content.get(name) if isinstance(content, dict) else None
    if not isinstance(part, kind):
        raise TransientError(f"the provider's answer about a batch has no {name}")
    return part


def _read_counts(batch: dict[str, Any]) -> dict[str, int]:
    """Return how many queries of a batch came to which end, without what is no such number."""
    counts = batch.get("request_counts")
    known = counts.items() if isinstance(counts, dict) else ()
    return {key: int(n) for key, n in known if isinstance(n, int | float) and 0 <= n < inf}


def _read_time(content: Any) -> float:
    """Return a time in seconds since 1970, or infinity if it is unreadable."""
    try:
        return datetime.fromisoformat(str(content)).timestamp()
    except (ValueError, OverflowError):
        return inf
