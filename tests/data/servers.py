"""A local package index and proxy for pip."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WHEEL = "toy_forest-1.0-py3-none-any.whl"


class Index(ThreadingHTTPServer):
    """A package index (PEP 503) with one wheel, whose connection to it breaks when told to.

    Args:
        wheel: Its bytes.
    """

    daemon_threads = True

    def __init__(self, wheel: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _IndexHandler)
        self.wheel = wheel
        self.break_after: list[int] = []  # the bytes that each of the next downloads gets before its connection breaks
        self.stall_after: int | None = None  # the bytes after which a download gets no more, though it stays connected
        self.knows_ranges = True
        self.starts: list[int] = []  # for each download, the byte it began with
        self.n_requests = 0
        self.has_stalled = threading.Event()
        self.goes_on = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/simple"


class _IndexHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Index

    def do_GET(self) -> None:
        self.server.n_requests += 1
        if self.path.endswith(WHEEL):
            self._send_wheel()
        else:
            self._send_head(200, page := f'<a href="/{WHEEL}">{WHEEL}</a>'.encode(), "text/html")
            self.wfile.write(page)

    def _send_wheel(self) -> None:
        index = self.server
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and index.knows_ranges else 0
        index.starts.append(start)
        rest = index.wheel[start:]
        self._send_head(206 if start else 200, rest, "application/zip")
        if index.break_after:
            rest = rest[: index.break_after.pop(0)]
            self.close_connection = True
        if index.stall_after is not None:
            self.wfile.write(rest[: index.stall_after])
            index.has_stalled.set()
            index.goes_on.wait()
            self.close_connection = True
            return
        self.wfile.write(rest)

    def _send_head(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"one"')
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        """Say nothing."""


class _RefusingHandler(BaseHTTPRequestHandler):
    def do_CONNECT(self) -> None:
        self.send_error(407)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        """Say nothing."""


def refusing_proxy() -> ThreadingHTTPServer:
    """A proxy that wants a password."""
    return ThreadingHTTPServer(("127.0.0.1", 0), _RefusingHandler)


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[None]:
    """Let a server answer in the background."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
