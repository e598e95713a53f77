"""Sending the queries of a round, each by itself, and storing every reply."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from heapq import heappop, heappush
from typing import TypeAlias, TypeVar

import numpy as np

from evodiverse.errors import ModelUnavailableError
from evodiverse.llm.cache import Bought, ReplyCache
from evodiverse.llm.client import Client
from evodiverse.llm.failures import LONGEST_RETRY_AFTER, REMEDIES, RefusedError, TransientError, backoff
from evodiverse.vocabulary import Finish, Query, Reply

_LOG = logging.getLogger("evodiverse.llm")
# The HTTP status of refusals that are about one prompt, not about the account or the model. The query then gets an
# empty reply, which uses up its attempt.
SPENT_STATUS = frozenset({400, 413, 422})
# How often ``report`` is called with 0, so that it can stop the round while no reply arrives.
_HEARTBEAT_SECONDS = 0.2
# How long replies to queries in progress are still accepted after the round was stopped.
GRACE_SECONDS = 30.0
# The shortest time between two warnings about failed queries.
_COMPLAINT_SECONDS = 15.0
# How long a reply waits for others that arrive at the same time, so that one write stores them all.
_TOGETHER_SECONDS = 0.005
_T = TypeVar("_T")
Report: TypeAlias = Callable[[int], object]
Follow: TypeAlias = Callable[[Query, Reply], Query | None]


class Gate:
    """Bounds the number of queries in progress; of those that wait, one of the earliest iteration comes first.

    Args:
        n: The largest number of queries in progress at the same time.
    """

    def __init__(self, n: int) -> None:
        self._n_free = n
        self._n_seen = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def passed(self, iteration: int) -> AsyncIterator[None]:
        """Wait until a query of an iteration may begin, and let the next one begin when the context ends."""
        self._n_seen += 1
        turn = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (iteration, self._n_seen, turn))
        self._admit()
        try:
            await turn
            yield
        finally:
            if not turn.cancelled():
                self._n_free += 1
                self._admit()

    def _admit(self) -> None:
        while self._n_free and self._waiting:
            *_, turn = heappop(self._waiting)
            if not turn.cancelled():
                turn.set_result(None)
                self._n_free -= 1


class Asking:
    """One round of queries, which `run` sends.

    Args:
        client: The client of the provider.
        cache: The cache that stores every reply.
        gate: What bounds the number of queries in progress, of all rounds.
        retries: How many times a failed query is sent again, at most.
        is_probe: Whether every refusal ends the round. If not, a query that is refused because of its prompt gets an
            empty reply, and the others are still sent.

    Attributes:
        failures: The errors that ended the round, empty if none did.
    """

    def __init__(self, client: Client, cache: ReplyCache, gate: Gate, retries: int, *, is_probe: bool = False) -> None:
        self._client = client
        self._cache = cache
        self._retries = retries
        self._is_probe = is_probe
        self._gate = gate
        self._keeping = asyncio.Lock()
        self._stop = asyncio.Event()
        self._unkept: list[tuple[Query, Bought, asyncio.Future[Reply]]] = []
        self.failures: list[BaseException] = []
        self._rng = np.random.default_rng()  # unseeded: it decides the time of retries and nothing that is logged
        self._complained = -_COMPLAINT_SECONDS

    async def run(self, queries: Sequence[Query], report: Report, follow: Follow | None) -> list[Reply]:
        """Send the queries and return one reply per query, in order; `CachedModel.begin` explains the functions.

        After an error, replies are missing, and ``failures`` has the error. It is for the caller to raise: an event
        loop in which a `KeyboardInterrupt` is raised ends.
        """
        tasks = [asyncio.ensure_future(self._note_failure(self._obtain(query, report, follow))) for query in queries]
        ended = asyncio.gather(*tasks, return_exceptions=True)
        try:
            while not ended.done() and not self._stop.is_set():
                await asyncio.wait([ended], timeout=_HEARTBEAT_SECONDS)
                self._call(report, 0)
            await asyncio.wait([ended], timeout=GRACE_SECONDS)
        finally:
            for task in tasks:
                task.cancel()  # no effect on finished tasks
        await ended
        replies = (task.result() for task in tasks if not task.cancelled())
        return [reply for reply in replies if reply is not None]

    def _call(self, report: Report, n: int) -> None:
        try:
            report(n)
        except BaseException as error:  # noqa: BLE001 (raised after all have ended)
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.failures.append(error)
        self.stop()

    def stop(self) -> None:
        """Send no more queries; call it in the thread of the event loop."""
        self._stop.set()

    async def _note_failure(self, obtaining: Awaitable[Reply]) -> Reply | None:
        """Return a reply, or None if there is an error, which stops the round."""
        try:
            return await obtaining
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 (raised after all have ended)
            self._fail(error)
            return None

    async def _obtain(self, query: Query, report: Report, follow: Follow | None) -> Reply:
        # The gate is also held while waiting to retry, so that a failing provider gets fewer queries.
        async with self._gate.passed(query.stream.iteration):
            first = reply = await self._ask(query)
            self._call(report, 1)
            while follow is not None and (after := follow(query, reply)) is not None:
                query, reply = after, await self._ask(after)
        return first

    async def _ask(self, query: Query) -> Reply:
        async def ask(failures: int) -> Reply:
            try:
                reply = replace(await self._client.ask(query), retries=failures)
            except RefusedError as error:
                reply = self._spend(query.model, failures, error)
            return await self._keep(query, reply)

        return await self._try(query.model, ask)

    def _spend(self, model: str, failures: int, error: RefusedError) -> Reply:
        """Return an empty reply to a query that is refused because of its prompt.

        Raises:
            ModelUnavailableError: The refusal is not about the prompt, so other queries would be refused too.
        """
        if self._is_probe or error.status not in SPENT_STATUS:
            raise refused(model, error) from error
        return Reply("", Finish.ERROR, str(error), retries=failures)

    async def _try(self, model: str, send: Callable[[int], Awaitable[_T]]) -> _T:
        """Call ``send`` with the number of failures so far until it succeeds.

        Raises:
            ModelUnavailableError: It was refused, has failed too often, or the wait would be too long.
            CancelledError: The round was stopped.
        """
        failures = 0
        while True:
            if self._stop.is_set():
                raise asyncio.CancelledError
            try:
                return await send(failures)
            except RefusedError as error:
                raise refused(model, error) from error
            except TransientError as error:
                failures += 1
                if (error.retry_after or 0) > LONGEST_RETRY_AFTER:
                    why = f"{model} asks us to wait {error.retry_after:,.0f} s: {error}"
                    raise ModelUnavailableError(why) from error
                if failures > self._retries:
                    why = f"{model} failed {failures} times in a row, the last time with: {error}"
                    raise ModelUnavailableError(why) from error
                wait = backoff(failures, error.retry_after, self._rng)
                self._complain(model, error, wait, f" ({failures} of {self._retries})")
            await self._pause(wait)

    async def _pause(self, seconds: float) -> None:
        """Wait for some seconds.

        Raises:
            CancelledError: The round was stopped.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)
            raise asyncio.CancelledError

    def _complain(self, model: str, error: TransientError, wait: float, count: str = "") -> None:
        """Tell the user of a failure, unless the last warning was a moment ago."""
        if time.monotonic() - self._complained > _COMPLAINT_SECONDS:
            self._complained = time.monotonic()
            _LOG.warning("%s: %s; retrying in %.1f s%s", model, error, wait, count)

    async def _keep(self, query: Query, reply: Reply) -> Reply:
        """Store a reply in the cache and return the cached reply. Replies that arrive together share one write."""
        stored: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._unkept.append((query, Bought(reply, self._client.price(query.model)), stored))
        async with self._keeping:
            if not stored.done():
                await asyncio.sleep(_TOGETHER_SECONDS)
                together, self._unkept = self._unkept, []
                kept = self._cache.keep([(asked, bought) for asked, bought, _ in together])
                for (_, _, waiting), bought in zip(together, kept, strict=True):
                    waiting.set_result(bought.reply)
        return stored.result()


def refused(model: str, error: RefusedError) -> ModelUnavailableError:
    """Return the error about a refusal that other queries to the model would meet too."""
    remedy = f"; {REMEDIES[error.status]}" if error.status in REMEDIES else ""
    return ModelUnavailableError(f"{model} refused: {error}{remedy}", status=error.status)
