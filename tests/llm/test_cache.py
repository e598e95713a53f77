"""The reply cache on real files, some of them really damaged."""

import json
import math
import sqlite3
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from evodiverse.errors import InputError, ServiceError
from evodiverse.llm.cache import Bought, ReplyCache, query_key
from evodiverse.llm.client import MAX_CHARACTERS
from evodiverse.llm.prices import Price
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
    ("harm", "n_saved"),
    [
        (lambda path: path.write_bytes(b"not a database at all" * 100), 0),
        (lambda path: overwrite(path, 0, 100), 0),
        (lambda path: path.write_bytes(path.read_bytes()[:-30_000]), 0),
        (lambda path: overwrite(path, 40_960, 8_192), 50),
    ],
    ids=["garbage", "head", "cut", "pages"],
)
def test_a_damaged_file_is_set_aside_and_rebuilt_from_its_intact_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: Callable[[Path], object], n_saved: int
) -> None:
    path = tmp_path / "cache"
    fill(path, 600)
    harm(path)
    with ReplyCache(path) as cache:
        found = cache.find([query(number) for number in range(600)])
        cache.keep([(query(number), bought(number)) for number in range(600)])
        assert None not in cache.find([query(number) for number in range(600)])
    assert sum(entry is not None for entry in found) >= n_saved
    assert [entry.reply for entry in found if entry] == [
        replace(bought(number).reply, cached=True) for number, entry in enumerate(found) if entry
    ]
    assert (tmp_path / "cache.damaged-1").exists()
    assert "set aside as cache.damaged-1 and rebuilt with the" in caplog.text


def test_a_file_that_is_damaged_while_in_use_is_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "cache"
    fill(path, 600)
    with ReplyCache(path) as cache:
        path.write_bytes(b"garbage" * 10_000)
        assert cache.find([QUERY]) == [None]
        cache.keep([(QUERY, BOUGHT)])
        assert cache.find([QUERY]) != [None]
    assert "set aside as cache.damaged-1" in caplog.text


def test_a_process_continues_when_another_one_has_rebuilt_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    fill(path, 600)
    with ReplyCache(path) as first:
        assert first.find([query(0)]) != [None]
        overwrite(path, 40_960, 8_192)
        with ReplyCache(path):
            assert (tmp_path / "cache.damaged-1").exists()
        first.keep([(QUERY, BOUGHT)])
    with ReplyCache(path) as other:
        assert other.find([QUERY]) != [None]


def test_the_first_reply_to_a_query_stays(tmp_path: Path) -> None:
    later = Bought(Reply("later", Finish.STOP), None)
    with ReplyCache(tmp_path / "cache") as cache:
        assert cache.keep([(QUERY, BOUGHT)]) == [BOUGHT]
        (kept,) = cache.keep([(QUERY, later)])
        assert kept.reply == replace(BOUGHT.reply, cached=True)
        assert cache.find([QUERY]) == [kept]


def test_a_damaged_row_is_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "cache"
    fill(path, 3)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE replies SET reply = substr(reply, 1, 20) WHERE key = ?", [query_key(query(1))])
    connection.commit()
    connection.close()
    with ReplyCache(path) as cache:
        found = cache.find([query(number) for number in range(3)])
    assert [entry is not None for entry in found] == [True, False, True]
    assert "has 1 damaged row; what is lost is requested again" in caplog.text


def execute(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def row(**changes: object) -> bytes:
    """The content of a row whose reply, or price, is changed."""
    price = changes.pop("price", [1e-6, 2e-6])
    return json.dumps({"reply": {**asdict(BOUGHT.reply), "cached": True, **changes}, "price": price}).encode()


IMPOSSIBLE = {
    "no JSON": b"{",
    "depth": b"[" * 100_000 + b"]" * 100_000,
    "depth in the text": row().replace(b'"\\u03b2 \\u836f"', b"[" * 100_000 + b"]" * 100_000),
    "list": b"[]",
    "null": b"null",
    "no reply": b'{"reply": [], "price": null}',
    "digits": row().replace(b"0.25", b"1" * 5000),
    "bomb": b" " * 200_000_000,
    "bomb of lists": b"[" + b"[]," * 30_000_000,
    **{
        f"{name} {value!r}"[:40]: row(**{name: value})
        for name, values in {
            "text": (None, 5, ["a"], {}, "\ud800", "x" * (MAX_CHARACTERS + 1)),
            "finish": (None, 5, ["stop"], "other"),
            "error": (None, 5, "\x1b[31m", "\u202e", "x" * 2000),
            "prompt_tokens": (-1, 1.5, True, "7", math.nan, 10**30),
            "completion_tokens": (-1, 1.5, True, "7", math.inf, [3]),
            "cost_usd": (-0.1, math.nan, math.inf, "1", True, 1e300),
            "seconds": (-1, None, math.nan, math.inf, "1"),
            "retries": (-1, None, 0.5, True, 10**30),
            "cached": (False, None, 1),
            "unknown": (1,),
            "price": (
                [1],
                [1, 2, 3],
                [-1, 0],
                [math.nan, 0],
                ["1", "2"],
                "ab",
                5,
                {"a": 1, "b": 2},
                [1e300, 0],
                [True, 0],
            ),
        }.items()
        for value in values
    },
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_impossible_row_counts_as_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    path = tmp_path / "cache"
    fill(path, 3)
    packed = zlib.compress(IMPOSSIBLE[name])
    execute(path, "UPDATE replies SET reply = ? WHERE key = ?", packed, query_key(query(1)))
    with ReplyCache(path) as cache:
        tracemalloc.start()
        found = cache.find([query(number) for number in range(3)])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert [entry is not None for entry in found] == [True, False, True]
        (kept,) = cache.keep([(query(1), bought(1))])
        assert kept == bought(1)
        assert None not in cache.find([query(number) for number in range(3)])
    expected = f"{path} has 1 damaged row; what is lost is requested again"
    assert [record.getMessage() for record in caplog.records] == [expected]
    assert peak < 8 * 12 * MAX_CHARACTERS


@pytest.mark.parametrize("value", ["text", 5, 1.5, b"", b"\x99" * 50, zlib.compress(row())[:-1]], ids=repr)
def test_a_row_that_is_not_compressed_counts_as_missing(tmp_path: Path, value: object) -> None:
    fill(tmp_path / "cache", 2)
    execute(tmp_path / "cache", "UPDATE replies SET reply = ? WHERE key = ?", value, query_key(query(1)))
    with ReplyCache(tmp_path / "cache") as cache:
        assert [entry is not None for entry in cache.find([query(0), query(1)])] == [True, False]


def test_a_row_of_any_length_is_not_loaded(tmp_path: Path) -> None:
    fill(tmp_path / "cache", 2)
    execute(tmp_path / "cache", "UPDATE replies SET reply = zeroblob(300000000) WHERE key = ?", query_key(query(1)))
    with ReplyCache(tmp_path / "cache") as cache:
        tracemalloc.start()
        assert [entry is not None for entry in cache.find([query(0), query(1)])] == [True, False]
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
        tracemalloc.stop()


@pytest.mark.parametrize("model", ["other", b"\xff\xfe", 5, "x" * 1_000_000])
def test_the_model_name_in_a_row_changes_nothing(tmp_path: Path, model: object) -> None:
    fill(tmp_path / "cache", 1)
    execute(tmp_path / "cache", "UPDATE replies SET model = CAST(? AS TEXT)", model)
    with ReplyCache(tmp_path / "cache") as cache:
        assert cache.find([query(0)]) != [None]


def test_the_longest_reply_comes_back(tmp_path: Path) -> None:
    long = Bought(Reply("🧪" * MAX_CHARACTERS, Finish.STOP), None)
    with ReplyCache(tmp_path / "cache") as cache:
        cache.keep([(QUERY, long)])
        assert cache.find([QUERY]) == [Bought(replace(long.reply, cached=True), None)]


ENDLESS = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS key, x AS model, x AS reply FROM n"
)


@pytest.mark.parametrize(
    ("statements", "n_kept"),
    [
        (["CREATE TRIGGER t BEFORE INSERT ON replies BEGIN DELETE FROM replies; END"], 3),
        (["CREATE TABLE other (x)"], 3),
        (["DROP TABLE replies", "CREATE TABLE replies (other TEXT)"], 0),
        (["DROP TABLE replies", f"CREATE VIEW replies AS {ENDLESS} WHERE x < 0"], 0),
        (
            [
                "DROP TABLE replies",
                "CREATE TABLE replies (key, model, reply AS (zeroblob(900000000)))",
                "INSERT INTO replies VALUES (1, 2)",
            ],
            0,
        ),
    ],
    ids=["trigger", "table", "columns", "view", "computed"],
)
def test_a_file_with_foreign_statements_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, statements: list[str], n_kept: int
) -> None:
    path = tmp_path / "cache"
    fill(path, 3)
    for statement in statements:
        execute(path, statement)
    with ReplyCache(path) as cache:
        found = cache.find([query(number) for number in range(3)])
        assert sum(entry is not None for entry in found) == n_kept
        cache.keep([(query(number), bought(number)) for number in range(3)])
        assert None not in cache.find([query(number) for number in range(3)])
    assert "it holds something other than the table of a reply cache" in caplog.text
    assert (tmp_path / "cache.damaged-1").exists()


def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"choose another file with llm\.cache="):
        ReplyCache(tmp_path)


def test_after_a_failure_of_the_disk_a_run_can_be_resumed(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "cache") as cache:
        cache._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(ServiceError, match="fix that, then run the same command again to resume"):
            cache.keep([(QUERY, BOUGHT)])
