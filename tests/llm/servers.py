"""A language model's server on this machine: OpenAI's protocol over real HTTP, with scripted answers and failures."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


@dataclass
class Answer:
    """The server's response to one request.

    ``content`` is the model's text, or a list of its parts; ``body``, if given, is sent in place of a well-formed
    reply. The connection is cut after ``cut`` bytes of the body, where that is given; a negative one cuts it before the
    status line. The answer is sent after ``delay`` seconds, and not before ``is_due``.
    """

    content: str | list[Any] | None = "hello"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: int | None = None
    delay: float = 0.0
    is_due: Callable[[], bool] = lambda: True
    finish_reason: str = "stop"
    usage: tuple[int, int] | None = (100, 20)

    def to_bytes(self) -> bytes:
        """Return the body of the response."""
        return reply_body(self.content, self.finish_reason, self.usage) if self.body is None else self.body


def error(status: int, message: str = "scripted failure", **headers: str) -> Answer:
    """Return an error in the format of OpenAI's API."""
    body = json.dumps({"error": {"message": message, "type": "scripted", "code": None}}).encode()
    return Answer(status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


class ModelServer:
    """A server that answers chat completions as ``script`` says.

    Args:
        script: From a request's JSON and its number, counted from 0, to what the server does.
    """

    def __init__(self, script: Callable[[Body, int], Answer] = lambda body, number: Answer()) -> None:
        self.script = script
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.n_connections = 0
        self.n_answered = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def prompts(self) -> list[str]:
        """The last message of each request, in the order received."""
        return [body["messages"][-1]["content"] for body in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._serve_one(reader, writer):
                pass
        writer.close()

    def respond(self, method: str, path: str, headers: dict[str, str], content: bytes) -> Answer:
        """Return the answer to a request."""
        body = json.loads(content)
        answer = self.script(body, len(self.requests))
        self.requests.append(body)
        return answer

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        self.headers.append(headers)
        self.paths.append(head[0].split()[1])
        answer = self.respond(head[0].split()[0], self.paths[-1], headers, content)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(answer.delay)
            while not answer.is_due():
                await asyncio.sleep(0.01)
        finally:
            self.in_flight -= 1
        content = answer.to_bytes()
        if answer.cut is not None and answer.cut < 0:
            return False
        sent = {"Content-Type": "application/json", "Content-Length": str(len(content)), **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{name}: {value}" for name, value in sent.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode() + content[: answer.cut])
        await writer.drain()
        self.n_answered += answer.status == 200
        return answer.cut is None


class FloodServer(ModelServer):
    """A server that answers with ``head``, and then with ``chunk`` until the client hangs up or 200 MB are sent.

    ``n_sent`` counts the bytes that left the server, those that only reached a buffer of the system included.
    """

    def __init__(self, head: bytes, chunk: bytes) -> None:
        super().__init__()
        self.n_sent = 0
        self._head = head
        self._chunk = chunk

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self._head)
        while self.n_sent < 200_000_000:
            writer.write(self._chunk)
            await writer.drain()
            self.n_sent += len(self._chunk)
        return False


def reply_body(
    content: str | list[Any] | None = "hello", finish_reason: str = "stop", usage: tuple[int, int] | None = None
) -> bytes:
    """Return a reply in the format of OpenAI's API."""
    reply: Body = {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": finish_reason,
            }
        ],
    }
    if usage is not None:
        prompt, completion = usage
        reply["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
    return json.dumps(reply).encode()


@contextmanager
def serving(server: ModelServer) -> Iterator[ModelServer]:
    """Run a server in a thread of its own."""
    loop = asyncio.new_event_loop()
    listening = loop.run_until_complete(asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=4096))
    server.port = listening.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        listening.close()
        loop.run_until_complete(_cancel_all())
        loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
