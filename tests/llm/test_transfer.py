"""The client withstands hostile servers, over real HTTP and through real litellm."""

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import Iterator

import httpx
import pytest

from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.llm.transfer import MAX_BODY_BYTES, Transfer, watched
from tests.llm.servers import Answer, FloodServer, ModelServer, reply_body, serving
from tests.llm.test_client import KEY, ask

PROVIDERS = ["openai/toy", "deepseek/toy", "anthropic/toy"]
# The amount of data that the system's buffers accept although nobody reads it.
BUFFERS = 24_000_000


def head(*headers: str, status: int = 200) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Scripted", "Content-Type: application/json", *headers, "", ""]).encode()


def endless_gzip() -> tuple[bytes, bytes]:
    """Return the beginning of a gzip body, and a chunk that can follow forever, 1 kB for each MB."""
    packer = zlib.compressobj(9, wbits=31)
    begin = packer.compress(b" ") + packer.flush(zlib.Z_FULL_FLUSH)
    return begin, packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)


GZIP_BEGIN, GZIP_CHUNK = endless_gzip()
SPACES = b" " * 65_536
FLOODS = {
    "plain": FloodServer(head("Content-Length: 900000000"), SPACES),
    "until closed": FloodServer(head("Connection: close"), SPACES),
    "chunked": FloodServer(head("Transfer-Encoding: chunked"), b"10000\r\n" + SPACES + b"\r\n"),
    "gzip": FloodServer(head("Content-Encoding: gzip") + GZIP_BEGIN, GZIP_CHUNK),
    "error": FloodServer(head("Content-Length: 900000000", status=500), SPACES),
    "error in gzip": FloodServer(head("Content-Encoding: gzip", status=500) + GZIP_BEGIN, GZIP_CHUNK),
    "other packing": FloodServer(head("Content-Encoding: br"), SPACES),
    "redirect": FloodServer(head("Location: /v2", status=308), SPACES),
    "headers": FloodServer(b"HTTP/1.1 200 OK\r\n", b"X-Some: " + b"x" * 1000 + b"\r\n"),
    "header": FloodServer(b"HTTP/1.1 200 OK\r\nX-Some: ", b"x" * 65_536),
    "trailers": FloodServer(head("Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n", b"X: " + b"x" * 1000 + b"\r\n"),
}


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Load what each provider's first query loads, so that it does not count as the memory of an answer."""
    for provider in PROVIDERS:
        with serving(ModelServer()) as server, pytest.raises(TransientError):
            ask(server, Answer(body=b"null"), name=provider)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", FLOODS)
def test_an_endless_answer_is_not_read_and_takes_no_memory(kind: str, provider: str) -> None:
    flood = FLOODS[kind]
    flood.n_sent = 0
    with serving(flood):
        tracemalloc.start()
        with pytest.raises((TransientError, RefusedError)):
            ask(flood, Answer(), name=provider)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert flood.n_sent < MAX_BODY_BYTES + BUFFERS
    assert peak < 5 * MAX_BODY_BYTES


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_small_body_that_unpacks_to_a_large_one_takes_no_memory(provider: str) -> None:
    bomb = GZIP_BEGIN + 900 * GZIP_CHUNK  # 1 MB that unpacks to 0.9 GB
    answer = Answer(body=bomb, headers={"Content-Encoding": "gzip"})
    with serving(ModelServer()) as server:
        tracemalloc.start()
        with pytest.raises(TransientError, match="the answer is longer than 4,000,000 bytes, expected a reply"):
            ask(server, answer, name=provider)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 5 * MAX_BODY_BYTES


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving(ModelServer()) as running:
        yield running


def test_a_packed_reply_is_read(server: ModelServer) -> None:
    packed = Answer(body=gzip.compress(reply_body("hello there")), headers={"Content-Encoding": "gzip"})
    assert ask(server, packed).text == "hello there"
    assert server.headers[0]["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("encoding", "problem"), [("br", "encoded as br, expected gzip"), ("gzip", "cannot be decompressed")]
)
def test_an_answer_that_cannot_be_decompressed_is_transient(server: ModelServer, encoding: str, problem: str) -> None:
    with pytest.raises(TransientError, match=problem):
        ask(server, Answer(headers={"Content-Encoding": encoding}))


def test_an_error_keeps_its_status_however_long_it_is(server: ModelServer) -> None:
    long = Answer(status=401, body=b"no such key, " + b"x" * 3_000_000)
    with pytest.raises(RefusedError, match="no such key") as refused:
        ask(server, long)
    assert refused.value.status == 401


@pytest.mark.parametrize("name", ["model", "role"])
def test_a_long_name_is_dropped_since_litellm_takes_a_minute_to_read_it(server: ModelServer, name: str) -> None:
    body = json.loads(reply_body())
    (body if name == "model" else body["choices"][0]["message"])[name] = "m" * 3_000_000
    content = json.dumps(body).encode()
    assert len(Transfer().reduce(content)) < 10_000
    assert ask(server, Answer(body=content)).text


@pytest.mark.parametrize(
    "filling",
    [b"[" + b"[]," * 1_000_000 + b"[]]", b"[" * 1_000_000, b'["",' * 500_000, b"1," * 1_000_000],
    ids=["lists", "depth", "texts", "numbers"],
)
def test_an_answer_with_more_structure_than_a_reply_is_not_parsed(server: ModelServer, filling: bytes) -> None:
    body = reply_body()[:-1] + b', "x": ' + filling + b"}"
    with pytest.raises(TransientError, match="more than 100,000 bytes besides its texts"):
        ask(server, Answer(body=body))


HIDING = reply_body().decode()[:-1] + ', "\u2200": [' + "{}," * 40_000 + "{}]}"  # the letter has the byte of a quote


@pytest.mark.parametrize(
    "body",
    [
        *(HIDING.encode(encoding) for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")),
        reply_body().decode().encode("utf-16-le"),  # without any byte that UTF-8 has not
        reply_body().replace(b"hello", b"\xe9t\xe9"),
    ],
    ids=["utf-16", "utf-16-le", "utf-16-be", "utf-32", "ASCII in utf-16", "latin-1"],
)
def test_an_answer_in_another_encoding_than_utf_8_is_not_parsed(server: ModelServer, body: bytes) -> None:
    headers = {"Content-Type": "application/json; charset=utf-16", "Content-Encoding": "gzip"}
    with pytest.raises(TransientError, match="the answer is not JSON in UTF-8, expected a reply"):
        ask(server, Answer(body=gzip.compress(body), headers=headers))


def test_a_reply_in_utf_8_is_read_whatever_the_headers_say(server: ModelServer) -> None:
    body = b"\xef\xbb\xbf" + reply_body().replace(b"hello", "β".encode())
    assert ask(server, Answer(body=body, headers={"Content-Type": "application/json; charset=utf-7"})).text == "β"


def test_only_the_fields_that_are_read_are_left_of_a_reply() -> None:
    many = [{}] * 1000
    message = {"role": "assistant", "content": "hello", "tool_calls": [{"id": "a"}, {"id": "b"}], "annotations": many}
    choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": {"content": many}}
    reply = {
        "id": "x",
        "service_tier": "on_demand",
        "x": many,
        "usage": {"prompt_tokens": 7},
        "choices": [choice, *many],
    }
    reduced = json.loads(Transfer().reduce(json.dumps(reply).encode()))
    message = {"role": "assistant", "content": "hello", "tool_calls": [{"id": "a"}]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    assert reduced == {"id": "x", "service_tier": "on_demand", "usage": {"prompt_tokens": 7}, "choices": [choice]}


def test_a_reply_may_be_made_of_brackets_and_quotes(server: ModelServer) -> None:
    text = '[{"\\' * 100_000
    assert ask(server, Answer(text)).text == text


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_refused_and_sends_nothing_there(status: int, provider: str) -> None:
    with serving(ModelServer()) as server, serving(ModelServer()) as other:
        place = f"http://somebody:{KEY}@localhost:{other.port}/v1/chat?key={KEY}"
        with pytest.raises(
            RefusedError, match=f"127.0.0.1 redirects to http://localhost:{other.port}/v1/chat,"
        ) as refused:
            ask(server, Answer(status=status, headers={"Location": place}, body=b""), name=provider)
        assert (len(server.requests), other.requests) == (1, [])
    assert refused.value.status == status
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("place", ["/v2/chat", "chat", "//127.0.0.1:1/", "ftp://127.0.0.1/"])
def test_no_redirect_is_followed(server: ModelServer, place: str) -> None:
    with pytest.raises(RefusedError, match="redirects to") as refused:
        ask(server, Answer(status=307, headers={"Location": place}))
    assert len(server.requests) == 1
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("place", ["\u001b[31m", "http://a:b:c/"])
def test_a_redirect_to_an_invalid_address_is_transient(server: ModelServer, place: str) -> None:
    with pytest.raises(TransientError):
        ask(server, Answer(status=307, headers={"Location": place}))


def test_other_clients_of_the_process_are_left_alone(server: ModelServer) -> None:
    ask(server, Answer())
    server.script = lambda body, number: Answer(body=b"x" * 2 * MAX_BODY_BYTES)

    async def fetch() -> int:
        async with httpx.AsyncClient() as client:
            return len((await client.post(server.url, json={})).content)

    assert asyncio.run(fetch()) == 2 * MAX_BODY_BYTES


def test_a_stream_is_bounded_too(server: ModelServer) -> None:
    ask(server, Answer())
    server.script = lambda body, number: Answer(body=b"x" * 2 * MAX_BODY_BYTES)

    async def fetch() -> None:
        with watched():
            async with httpx.AsyncClient() as client, client.stream("POST", server.url, json={}) as response:
                await response.aread()

    with pytest.raises(TransientError, match="longer than 4,000,000 bytes"):
        asyncio.run(fetch())
