"""The reply cache on real files, some of them really damaged."""

import json
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from evodiverse.errors import InputError, ServiceError
from evodiverse.llm.cache import Bought, ReplyCache, query_key
from evodiverse.llm.client import MAX_CHARACTERS
from evodiverse.llm.library import Price
from evodiverse.vocabulary import Decoding, Finish, Message, Query, Reply, Stream
from tests.runs import FROM_ROOT

QUERY = Query(
    "toy/model:1", (Message("user", "say β"),), Decoding(1.3, 0.9, 40, 7, {"think": {"a": 1}}), Stream(1, 4, 2)
)
BOUGHT = Bought(Reply("β 药", Finish.STOP, "", 10, 3, 0.25, 1.5, 2), Price(1e-6, 2e-6))


def query(number: int) -> Query:
    return replace(QUERY, stream=Stream(0, 4, 1, 0, number))


def bought(number: int) -> Bought:
    return Bought(Reply(f"reply {number} {'x' * (number % 90)}", Finish.STOP), None)


def fill(path: Path, n: int) -> None:
    with ReplyCache(path) as cache:
        cache.keep([(query(number), bought(number)) for number in range(n)])


def test_a_reply_comes_back_as_it_was_bought_and_says_that_it_was_cached(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "new" / "replies.sqlite") as cache:
        assert cache.find([QUERY]) == [None]
        cache.keep([(QUERY, BOUGHT)])
    with ReplyCache(tmp_path / "new" / "replies.sqlite") as cache:
        assert cache.find([QUERY]) == [Bought(replace(BOUGHT.reply, cached=True), BOUGHT.price)]


@pytest.mark.parametrize(
    "other",
    [
        replace(QUERY, model="toy/model:2"),
        replace(QUERY, messages=(Message("user", "say it"),)),
        replace(QUERY, messages=(Message("system", "say β"),)),
        replace(QUERY, messages=(Message("user", "say "), Message("user", "β"))),
        *(
            replace(QUERY, decoding=replace(QUERY.decoding, **change))
            for change in (
                {"temperature": 1.2},
                {"temperature": None},
                {"top_p": None},
                {"max_tokens": 41},
                {"seed": None},
                {"extra": {"think": {"a": 2}}},
            )
        ),
        *(replace(QUERY, stream=QUERY.stream._replace(**{name: 9})) for name in Stream._fields),
    ],
    ids=repr,
)
def test_a_query_that_differs_in_anything_is_another(tmp_path: Path, other: Query) -> None:
    assert query_key(other) != query_key(QUERY)
    assert query_key(replace(QUERY)) == query_key(QUERY)


def test_answers_come_in_the_order_of_the_queries(tmp_path: Path) -> None:
    fill(tmp_path / "cache", 1200)
    with ReplyCache(tmp_path / "cache") as cache:
        numbers = [1199, 3, 5000, 3, *range(700)]
        found = cache.find([query(number) for number in numbers])
    texts = [entry.reply.text.split()[1] if entry else None for entry in found]
    assert texts == [None if number == 5000 else str(number) for number in numbers]


WRITER = """
import sys
from pathlib import Path
from evodiverse.llm.cache import ReplyCache
from tests.llm.test_cache import bought, query

first = int(sys.argv[2])
with ReplyCache(Path(sys.argv[1])) as cache:
    for number in range(first, first + 50):
        cache.keep([(query(number), bought(number))])
"""


@pytest.mark.slow
def test_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, str(50 * n)], env=FROM_ROOT) for n in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    with ReplyCache(path) as cache:
        assert None not in cache.find([query(number) for number in range(100)])


def overwrite(path: Path, at: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\x99" * length)


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.write_bytes(b"not a database at all" * 100),
        lambda path: overwrite(path, 0, 100),
        lambda path: path.write_bytes(path.read_bytes()[:-30_000]),
        lambda path: overwrite(path, 40_960, 8_192),
    ],
    ids=["garbage", "head", "cut", "pages"],
)
def test_a_damaged_file_is_refused_and_stays(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    path = tmp_path / "cache"
    fill(path, 600)
    harm(path)
    content = path.read_bytes()
    with pytest.raises(InputError, match=r"cannot open the reply cache .*move it away if it is damaged"):
        ReplyCache(path)
    assert path.read_bytes() == content


def test_a_file_that_is_damaged_while_in_use_is_reported(tmp_path: Path) -> None:
    fill(tmp_path / "cache", 600)
    with ReplyCache(tmp_path / "cache") as cache:
        (tmp_path / "cache").write_bytes(b"garbage" * 10_000)
        with pytest.raises(ServiceError, match="fix that, then run the same command again to resume"):
            cache.find([QUERY])


def test_the_first_reply_to_a_query_stays(tmp_path: Path) -> None:
    later = Bought(Reply("later", Finish.STOP), None)
    with ReplyCache(tmp_path / "cache") as cache:
        assert cache.keep([(QUERY, BOUGHT)]) == [BOUGHT]
        (kept,) = cache.keep([(QUERY, later)])
        assert kept.reply == replace(BOUGHT.reply, cached=True)
        assert cache.find([QUERY]) == [kept]


def execute(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.parametrize(
    "content",
    [b"", zlib.compress(b"{}")[:-1], *map(zlib.compress, [b"{", b"[]", b"null", b'{"reply": [], "price": null}'])],
)
def test_a_damaged_row_is_reported(tmp_path: Path, content: bytes) -> None:
    fill(tmp_path / "cache", 2)
    execute(tmp_path / "cache", "UPDATE replies SET reply = ? WHERE key = ?", content, query_key(query(1)))
    with ReplyCache(tmp_path / "cache") as cache:
        assert None not in cache.find([query(0)])
        with pytest.raises(ServiceError, match=f"cannot use the reply cache {tmp_path}/cache"):
            cache.find([query(0), query(1)])


def test_a_reply_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    old = {"text": "β", "finish": "stop", "prompt_tokens": 7, "seconds": 1.5, "retries": 2, "cached": True}
    content = zlib.compress(json.dumps({"reply": old, "price": [1e-6, 2e-6]}).encode())
    with ReplyCache(tmp_path / "cache") as cache:
        cache.keep([(QUERY, BOUGHT)])
        execute(tmp_path / "cache", "UPDATE replies SET reply = ?", content)
        (found,) = cache.find([QUERY])
    expected = Reply("β", Finish.STOP, prompt_tokens=7, seconds=1.5, retries=2, cached=True)
    assert found == Bought(expected, Price(1e-6, 2e-6))


def test_the_longest_reply_comes_back(tmp_path: Path) -> None:
    long = Bought(Reply("🧪" * MAX_CHARACTERS, Finish.STOP), None)
    with ReplyCache(tmp_path / "cache") as cache:
        cache.keep([(QUERY, long)])
        assert cache.find([QUERY]) == [Bought(replace(long.reply, cached=True), None)]


def test_the_database_of_something_else_is_refused_and_stays(tmp_path: Path) -> None:
    execute(tmp_path / "cache", "CREATE TABLE other (x)")
    content = (tmp_path / "cache").read_bytes()
    with pytest.raises(InputError, match=r"is the database of something else; choose another file with llm\.cache="):
        ReplyCache(tmp_path / "cache")
    assert (tmp_path / "cache").read_bytes() == content


def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"choose another file with llm\.cache="):
        ReplyCache(tmp_path)


def test_after_a_failure_of_the_disk_a_run_can_be_resumed(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "cache") as cache:
        cache._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(ServiceError, match="fix that, then run the same command again to resume"):
            cache.keep([(QUERY, BOUGHT)])


def test_whether_all_replies_are_there_is_found_out_without_reading_them(tmp_path: Path) -> None:
    fill(tmp_path / "cache", 3)
    with ReplyCache(tmp_path / "cache") as cache:
        cache._connection.execute("UPDATE replies SET reply = x'00'")
        assert cache.has_all([query_key(query(number)) for number in range(3)])
        assert not cache.has_all([query_key(query(number)) for number in range(4)])
