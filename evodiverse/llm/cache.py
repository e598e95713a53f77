"""The reply cache: one SQLite file that stores the replies of language models and that all runs share."""

import hashlib
import json
import logging
import math
import re
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
from evodiverse.llm.client import MAX_CHARACTERS
from evodiverse.llm.counts import is_count
from evodiverse.llm.prices import Price
from evodiverse.text import count_of
from evodiverse.vocabulary import Finish, Query, Reply

_LOG = logging.getLogger("evodiverse.llm")
_BUSY_SECONDS = 60.0
_KEYS_A_SELECT = 500
# Recent keys are remembered, since each query is looked up twice (for its bound and for its reply) and stored once.
_KEYS_AT_HAND = 256
_TABLE = "CREATE TABLE replies (key BLOB PRIMARY KEY, model TEXT NOT NULL, reply BLOB NOT NULL)"
# The size of the longest reply if each character takes 12 bytes of JSON, as 🧪 does, plus that of the rest of its row.
_MAX_ROW_BYTES = 12 * MAX_CHARACTERS + 10_000
_MAX_ERROR_CHARACTERS = 1_000
_MAX_USD = 1_000_000.0
_MAX_USD_A_TOKEN = 1.0
_MAX_SECONDS = 1e9
_MAX_RETRIES = 1_000_000
# Lone surrogates, which JSON can express but no UTF-8 file can hold.
_SURROGATE = re.compile("[\ud800-\udfff]")
# The content of a row, NULL if its type or length is impossible; SQLite then does not load it.
_CONTENT = f"CASE WHEN typeof(reply) = 'blob' AND length(reply) <= {_MAX_ROW_BYTES} THEN reply END"
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

    If SQLite cannot read the file, the file is set aside with a warning and rebuilt from its intact rows. A single
    damaged row counts as missing. Use the cache as a context manager.

    Args:
        path: The path of the file, which is created if it does not exist.

    Attributes:
        seconds: The duration of the last `keep` in seconds; infinity before the first.

    Raises:
        InputError: The file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seconds = math.inf
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _connect(path)
            self._repairing(lambda: _check(self._connection))
            _keep_journal(self._connection)
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
        rows = self._connection.execute(f"SELECT key, {_CONTENT} FROM replies WHERE key IN ({marks})", keys)  # noqa: S608
        return {key: _decode(content) for key, content in rows}

    def _reporting(self, work: Callable[[], Result]) -> Result:
        try:
            try:
                return self._repairing(work)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_READONLY_DBMOVED":
                    raise
                self._connection.close()  # another process has set the file aside and rebuilt it
                self._reopen()
                return work()
        except (OSError, sqlite3.OperationalError) as error:
            raise ServiceError(
                f"cannot use the reply cache {self._path} ({error}); fix that, then run the same command again "
                "to resume"
            ) from error

    def _repairing(self, work: Callable[[], Result]) -> Result:
        """Return the result of ``work``. If the file is damaged, rebuild it and try again."""
        try:
            return work()
        except sqlite3.OperationalError:  # caused by the disk or another process, not by a damaged file
            raise
        except sqlite3.DatabaseError as error:
            self._rebuild(error)
            return work()

    def _rebuild(self, reason: sqlite3.DatabaseError) -> None:
        self._connection.close()
        with _locked(self._path.with_name(f"{self._path.name}.lock")):
            if _is_damaged(self._path):  # else another process has already rebuilt it
                aside = _free_name(self._path)
                rebuilt = self._path.with_name(f".{self._path.name}.rebuilt")
                rebuilt.unlink(missing_ok=True)
                n_saved = _copy_sound(self._path, rebuilt)
                self._path.rename(aside)
                self._path.with_name(f"{self._path.name}-journal").unlink(missing_ok=True)
                rebuilt.rename(self._path)
                _LOG.warning(
                    "%s is damaged (%s); set aside as %s and rebuilt with the %s that could be read",
                    self._path,
                    " ".join(str(reason).split()),
                    aside.name,
                    count_of(n_saved, "reply", "replies"),
                )
        self._reopen()

    def _reopen(self) -> None:
        self._connection = _connect(self._path)
        _keep_journal(self._connection)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    return connection


def _keep_journal(connection: sqlite3.Connection) -> None:
    """Make SQLite overwrite its rollback journal at each commit, since deleting it would take three times as long."""
    connection.execute("PRAGMA journal_mode=PERSIST")


def _check(connection: sqlite3.Connection) -> None:
    """Create the table if the file is empty, and check that the file is intact and holds nothing besides the table.

    The content is checked before anything is read: a foreign file's views, triggers and constraints are SQL that would
    be executed.

    Raises:
        DatabaseError: The file is damaged or holds anything besides that table.
    """
    if not _find_statements(connection):
        connection.execute(_TABLE.replace("TABLE", "TABLE IF NOT EXISTS", 1))  # another process may be faster
    if _find_statements(connection) != {_TABLE}:
        raise sqlite3.DatabaseError("it holds something other than the table of a reply cache")
    (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)


def _find_statements(connection: sqlite3.Connection) -> set[str]:
    """Return the SQL statements that created the tables, indexes, views and triggers of a file."""
    return {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


def _is_damaged(path: Path) -> bool:
    try:
        with closing(_connect(path)) as connection:
            _check(connection)
    except sqlite3.DatabaseError:
        return True
    return False


def _copy_sound(damaged: Path, rebuilt: Path) -> int:
    """Copy the readable rows of a damaged file, reading from both of its ends, and return their number.

    Nothing is read from a table with a definition other than ours, since reading could execute SQL that others wrote.
    """
    with closing(_connect(rebuilt)) as target:
        _check(target)
        for order in ("ASC", "DESC"):
            with suppress(sqlite3.DatabaseError), closing(_connect(damaged)) as source, target:
                if _TABLE not in _find_statements(source):
                    break
                rows = source.execute(
                    f"SELECT key, model, {_CONTENT} FROM replies NOT INDEXED ORDER BY rowid {order}"  # noqa: S608
                )
                for row in _readable(rows):
                    if _decode(row[2]) is not None:
                        target.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", row)
        (n_rows,) = target.execute("SELECT count(*) FROM replies").fetchone()
    return int(n_rows)


def _readable(rows: Iterator[tuple[bytes, str, bytes]]) -> Iterator[tuple[bytes, str, bytes]]:
    """Yield the rows of a damaged database, and end without an error at the first row that SQLite cannot read."""
    with suppress(sqlite3.DatabaseError):
        yield from rows


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


def _decode(content: bytes | None) -> Bought | None:
    """Return the reply of a row, or None if this program cannot have written the row.

    The row is untrusted: its decompressed size is limited, and each value must have the right type and a plausible
    size.
    """
    try:
        unpacker = zlib.decompressobj()
        unpacked = unpacker.decompress(content or b"", _MAX_ROW_BYTES)
        if not unpacker.eof:
            return None
        values = json.loads(unpacked)
        reply = Reply(**values["reply"] | {"finish": Finish(values["reply"]["finish"])})
        price = None if values["price"] is None else Price(*values["price"])
        return Bought(reply, price) if _is_possible(reply) and _is_possible_price(price) else None
    except (zlib.error, ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_possible(reply: Reply) -> bool:
    """Return whether the values of a reply have valid types and plausible sizes, and its strings are valid Unicode."""
    return (
        isinstance(reply.text, str)
        and len(reply.text) <= MAX_CHARACTERS
        and isinstance(reply.error, str)
        and len(reply.error) <= _MAX_ERROR_CHARACTERS
        and reply.error.isprintable()
        and not _SURROGATE.search(reply.text)
        and all(count is None or is_count(count) for count in (reply.prompt_tokens, reply.completion_tokens))
        and (reply.cost_usd is None or _is_number(reply.cost_usd, _MAX_USD))
        and _is_number(reply.seconds, _MAX_SECONDS)
        and isinstance(reply.retries, int)
        and _is_number(reply.retries, _MAX_RETRIES)
        and reply.cached is True
    )


def _is_possible_price(price: Price | None) -> bool:
    return price is None or all(_is_number(usd, _MAX_USD_A_TOKEN) for usd in price)


def _is_number(value: object, most: float) -> bool:
    """Return whether this is a number from 0 to ``most``; NaN and booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
