"""A stand-in for a language model: an HTTP server in a process of its own, whose replies cost no computing time."""

import asyncio
import json
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection


def completion(content: str, prompt_tokens: int, completion_tokens: int) -> bytes:
    """Return the body of a response: a chat completion with this content and these counts of tokens."""
    message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 0, "model": "toy", "choices": [message], "usage": usage}
    ).encode()


@contextmanager
def served(reply: Callable[[], bytes], seconds: Callable[[], float] = lambda: 0.0) -> Iterator[str]:
    """Run a server that answers each request after ``seconds()``, yield its address, and stop the server at the end.

    The server calls ``reply`` for each request, and sends the returned bytes as the body of the response.
    """
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(theirs, reply, seconds), daemon=True)
    server.start()
    yield f"http://127.0.0.1:{ours.recv()}/v1"
    server.terminate()


def _serve(port: Connection, reply: Callable[[], bytes], seconds: Callable[[], float]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
                await asyncio.sleep(seconds())
                body = reply()
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=5000)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())
