"""The reply cache: one SQLite file that stores the replies of language models and that all runs share."""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from evodiverse.errors import InputError, ServiceError
from evodiverse.llm.library import Price
from evodiverse.vocabulary import Finish, Query, Reply

_TABLE = "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, model TEXT NOT NULL, reply BLOB NOT NULL)"


class Bought(NamedTuple):
    """A reply and the price at which it was bought; the price is None if it was unknown."""

    reply: Reply
    price: Price | None


@lru_cache(maxsize=256)  # since each query is looked up twice (for its bound and for its reply) and stored once
def query_key(query: Query) -> bytes:
    """Return the cache key of a query: the SHA-256 of its model, messages, sampling settings and random stream."""
    parts = [query.model, query.messages, asdict(query.decoding), query.stream]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


class ReplyCache:
    """A store of replies by query. Any number of processes and threads may use the same file at once.

    Use the cache as a context manager.

    Args:
        path: The path of the file, which is created if it does not exist.

    Raises:
        InputError: The file cannot be opened, is damaged, or is the database of something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _open(path)
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"cannot open the reply cache {path} ({error}); move it away if it is damaged (sqlite3 .recover prints "
                "what is left), or choose another file with llm.cache=…"
            ) from error

    def __enter__(self) -> "ReplyCache":
        """Return this cache."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._connection.close()

    def find(self, queries: Sequence[Query]) -> list[Bought | None]:
        """Return the stored reply to each query, in order; None for a query without a stored reply.

        Raises:
            ServiceError: The file can no longer be read, or a reply in it is damaged.
        """
        keys = [query_key(query) for query in queries]
        with self._reporting():
            rows = self._select(keys)
        return [rows.get(key) for key in keys]

    def has_all(self, keys: Sequence[bytes]) -> bool:
        """Return whether there is a stored reply for each key of a query."""
        with self._reporting():
            return all(
                self._connection.execute("SELECT 1 FROM replies WHERE key = ?", [key]).fetchone() for key in keys
            )

    def keep(self, bought: Sequence[tuple[Query, Bought]]) -> list[Bought]:
        """Add replies so that they survive a killed process or a power cut, and return the stored reply to each query.

        Only the first reply to a query is stored. If another run has already stored a reply to the same query, that
        reply is returned. Both runs then use the same reply, so repeating either of them gives the same log.

        Raises:
            ServiceError: The disk is full or no longer available.
        """
        return self.keep_by_key([(query_key(query), query.model, entry) for query, entry in bought])

    def keep_by_key(self, bought: Sequence[tuple[bytes, str, Bought]]) -> list[Bought]:
        """Do what `keep` does, given the key and the model of each query instead of the query."""
        with self._reporting(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            there = self._select([key for key, *_ in bought])
            new = [(key, model, _encode(entry)) for key, model, entry in bought]
            self._connection.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?, ?)", new)
        return [there.get(key, entry) for key, _, entry in bought]

    def _select(self, keys: Sequence[bytes]) -> dict[bytes, Bought]:
        """Return the stored replies by key; no entry if there is no row."""
        select = "SELECT reply FROM replies WHERE key = ?"
        rows = {key: self._connection.execute(select, [key]).fetchone() for key in keys}
        return {key: _decode(row[0]) for key, row in rows.items() if row is not None}

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except (OSError, sqlite3.Error, zlib.error, ValueError, TypeError, KeyError) as error:
            raise ServiceError(
                f"cannot use the reply cache {self.path} ({error}); fix that, then run the same command again to resume"
            ) from error


def _open(path: Path) -> sqlite3.Connection:
    """Open a file, create the table if the file is empty, and check that it is intact and holds nothing else.

    Raises:
        InputError: The file is the database of something else.
    """
    connection = sqlite3.connect(path, timeout=60.0, check_same_thread=False)
    tables = {name for (name,) in connection.execute("SELECT tbl_name FROM sqlite_master")}
    if not tables:
        connection.execute(_TABLE)
    elif tables != {"replies"}:
        raise InputError(f"{path} is the database of something else; choose another file with llm.cache=…")
    (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)
    # SQLite then overwrites its rollback journal at each commit, since deleting it would take three times as long.
    connection.execute("PRAGMA journal_mode=PERSIST")
    return connection


def _encode(bought: Bought) -> bytes:
    """Return a reply and its price as JSON compressed with zlib, which adds a checksum that reveals damage."""
    content = {"reply": asdict(replace(bought.reply, cached=True)), "price": bought.price}
    return zlib.compress(json.dumps(content).encode())


def _decode(content: bytes) -> Bought:
    values = json.loads(zlib.decompress(content))
    reply = Reply(**values["reply"] | {"finish": Finish(values["reply"]["finish"])})
    return Bought(reply, None if values["price"] is None else Price(*values["price"]))
