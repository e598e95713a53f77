"""The reply cache: one SQLite file that stores the replies of language models and that all runs share."""

import hashlib
import json
import logging
import math
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from evodiverse.errors import InputError, ServiceError
from evodiverse.kit.files import lock
from evodiverse.llm.prices import Price
from evodiverse.text import count_of
from evodiverse.vocabulary import Finish, Query, Reply

_LOG = logging.getLogger("evodiverse.llm")
_BUSY_SECONDS = 60.0
_KEYS_A_SELECT = 500
# Recent keys are remembered, since each query is looked up twice (for its bound and for its reply) and stored once.
_KEYS_AT_HAND = 256
_TABLE = "CREATE TABLE replies (key BLOB PRIMARY KEY, model TEXT NOT NULL, reply BLOB NOT NULL)"
Result = TypeVar("Result")


class Bought(NamedTuple):
    """A reply and the price at which it was bought; the price is None if it was unknown."""

    reply: Reply
    price: Price | None


@lru_cache(maxsize=_KEYS_AT_HAND)
def query_key(query: Query) -> bytes:
    """Return the cache key of a query: the SHA-256 of its model, messages, sampling settings and random stream."""
    parts = [query.model, query.messages, asdict(query.decoding), query.stream]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


class ReplyCache:
    """A store of replies by query. Any number of processes may use the same file at once.

    If SQLite finds the file damaged, the file is set aside with a warning, and a new one is begun. A single damaged row
    counts as missing. Use the cache as a context manager.

    Args:
        path: The path of the file, which is created if it does not exist.

    Attributes:
        seconds: The duration of the last `keep` in seconds; infinity before the first.

    Raises:
        InputError: The file cannot be opened, or is the database of something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seconds = math.inf
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _open(path)
        except (OSError, sqlite3.OperationalError) as error:
            raise InputError(
                f"cannot open the reply cache {path} ({error}); choose another file with llm.cache=…"
            ) from error

    def __enter__(self) -> "ReplyCache":
        """Return this cache."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._path

    def find(self, queries: Sequence[Query]) -> list[Bought | None]:
        """Return the stored reply to each query, in order; None for a query without a stored reply.

        Raises:
            ServiceError: The file can no longer be read.
        """
        keys = [query_key(query) for query in queries]
        rows: dict[bytes, Bought | None] = {}
        for at in range(0, len(keys), _KEYS_A_SELECT):
            some = keys[at : at + _KEYS_A_SELECT]
            rows |= self._reporting(partial(self._select, some))
        n_damaged = sum(key in rows and rows[key] is None for key in keys)
        if n_damaged:
            damaged = count_of(n_damaged, "damaged row")
            _LOG.warning("%s has %s; what is lost is requested again", self._path, damaged)
        return [rows.get(key) for key in keys]

    def keep(self, bought: Sequence[tuple[Query, Bought]]) -> list[Bought]:
        """Add replies so that they survive a killed process or a power cut, and return the stored reply to each query.

        Only the first reply to a query is stored. If another run has already stored a reply to the same query, that
        reply is returned. Both runs then use the same reply, so repeating either of them gives the same log.

        Raises:
            ServiceError: The disk is full or no longer available.
        """
        rows = [(query_key(query), query.model, _encode(entry)) for query, entry in bought]
        began = time.perf_counter()
        first = self._reporting(partial(self._insert, rows))
        self.seconds = time.perf_counter() - began
        return [entry if kept is None else kept for (_, entry), kept in zip(bought, first, strict=True)]

    def _insert(self, rows: Sequence[tuple[bytes, str, bytes]]) -> list[Bought | None]:
        """Insert each row unless the table already has an intact row with the same key.

        Return, for each row, the reply that was already stored, or None if the row was inserted.
        """
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            there = self._select([key for key, _, _ in rows])
            first = [there.get(key) for key, _, _ in rows]
            new = [row for row, bought in zip(rows, first, strict=True) if bought is None]
            self._connection.executemany("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", new)
        return first

    def _select(self, keys: Sequence[bytes]) -> dict[bytes, Bought | None]:
        """Return the stored replies by key: no entry if there is no row, and None if the row is damaged."""
        marks = ",".join("?" * len(keys))
        rows = self._connection.execute(f"SELECT key, reply FROM replies WHERE key IN ({marks})", keys)  # noqa: S608
        return {key: _decode(content) for key, content in rows}

    def _reporting(self, work: Callable[[], Result]) -> Result:
        try:
            try:
                return self._repairing(work)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_READONLY_DBMOVED":
                    raise
                return self._reopened(work)  # another process has set the file aside
        except (OSError, sqlite3.OperationalError) as error:
            raise ServiceError(
                f"cannot use the reply cache {self._path} ({error}); fix that, then run the same command again "
                "to resume"
            ) from error

    def _repairing(self, work: Callable[[], Result]) -> Result:
        """Return the result of ``work``. If the file is damaged, set it aside and try again with a new one."""
        try:
            return work()
        except sqlite3.OperationalError:  # caused by the disk or another process, not by a damaged file
            raise
        except sqlite3.DatabaseError:
            return self._reopened(work)

    def _reopened(self, work: Callable[[], Result]) -> Result:
        self._connection.close()
        self._connection = _open(self._path)
        return work()


def _open(path: Path) -> sqlite3.Connection:
    """Open a file after checking it. A damaged one is set aside first.

    Raises:
        InputError: The file is the database of something else.
    """
    connection = _connect(path)
    try:
        _check(connection, path)
    except sqlite3.OperationalError:  # caused by the disk or another process, not by a damaged file
        raise
    except sqlite3.DatabaseError as error:
        connection.close()
        _set_aside(path, error)
        connection = _connect(path)
        _check(connection, path)
    # SQLite then overwrites its rollback journal at each commit, since deleting it would take three times as long.
    connection.execute("PRAGMA journal_mode=PERSIST")
    return connection


def _set_aside(path: Path, reason: sqlite3.DatabaseError) -> None:
    """Rename a damaged file, unless another process has already done so."""
    with _locked(path.with_name(f"{path.name}.lock")):
        try:
            with closing(_connect(path)) as connection:
                _check(connection, path)
        except sqlite3.DatabaseError:
            aside = _free_name(path)
            path.rename(aside)
            path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
            _LOG.warning(
                "%s is damaged (%s); set aside as %s, and a new one is begun; sqlite3 %s .recover prints what is left",
                path,
                " ".join(str(reason).split()),
                aside.name,
                aside.name,
            )


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Create the table if the file is empty, and check that the file is intact and holds nothing besides the table.

    The content is checked before anything is read: a foreign file's views, triggers and constraints are SQL that would
    be executed.

    Raises:
        DatabaseError: The file is damaged.
        InputError: It holds anything besides that table.
    """
    if not _find_statements(connection):
        connection.execute(_TABLE.replace("TABLE", "TABLE IF NOT EXISTS", 1))  # another process may be faster
    if _find_statements(connection) != {_TABLE}:
        raise InputError(f"{path} is the database of something else; choose another file with llm.cache=…")
    (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)


def _find_statements(connection: sqlite3.Connection) -> set[str]:
    """Return the SQL statements that created the tables, indexes, views and triggers of a file."""
    return {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


def _free_name(path: Path) -> Path:
    n = 1
    while (aside := path.with_name(f"{path.name}.damaged-{n}")).exists():
        n += 1
    return aside


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        with suppress(OSError):  # a network file system without locks
            lock(file.fileno(), waits=True)
        yield


def _encode(bought: Bought) -> bytes:
    """Return a reply and its price as JSON compressed with zlib, which adds a checksum that reveals damage."""
    content = {"reply": asdict(replace(bought.reply, cached=True)), "price": bought.price}
    return zlib.compress(json.dumps(content).encode())


def _decode(content: bytes) -> Bought | None:
    """Return the reply of a row, or None if the row is damaged."""
    try:
        values = json.loads(zlib.decompress(content))
        reply = Reply(**values["reply"] | {"finish": Finish(values["reply"]["finish"])})
        return Bought(reply, None if values["price"] is None else Price(*values["price"]))
    except (zlib.error, ValueError, TypeError, KeyError):
        return None
