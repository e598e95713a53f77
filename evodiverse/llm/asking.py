"""Sending a batch of queries: concurrently, with retries after failures, and each reply stored when it arrives."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

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
# How often ``report`` is called with 0, so that it can stop the batch while no reply arrives.
_HEARTBEAT_SECONDS = 0.2
# How long replies to queries in progress are still accepted after the batch was stopped.
GRACE_SECONDS = 30.0
# The shortest time between two warnings about failed queries.
_COMPLAINT_SECONDS = 15.0
# How long a reply waits for others that arrive at the same time, so that one write stores them all.
_TOGETHER_SECONDS = 0.005


class Asking:
    """One batch of queries, which `run` sends.

    Args:
        client: The client of the provider.
        cache: The cache that stores every reply.
        concurrency: The largest number of queries in progress at the same time.
        retries: How many times a failed query is sent again, at most.
        is_probe: Whether every refusal ends the batch. If not, a query that is refused because of its prompt gets an
            empty reply, and the others are still sent.

    Attributes:
        failures: The errors that ended the batch, empty if none did.
    """

    def __init__(
        self, client: Client, cache: ReplyCache, concurrency: int, retries: int, *, is_probe: bool = False
    ) -> None:
        self._client = client
        self._cache = cache
        self._retries = retries
        self._is_probe = is_probe
        self._gate = asyncio.Semaphore(concurrency)
        self._keeping = asyncio.Lock()
        self._stop = asyncio.Event()
        self._unkept: list[tuple[Query, Bought, asyncio.Future[Reply]]] = []
        self.failures: list[BaseException] = []
        self._rng = np.random.default_rng()  # unseeded: it decides the time of retries and nothing that is logged
        self._complained = -_COMPLAINT_SECONDS

    async def run(self, queries: Sequence[Query], report: Callable[[int], object]) -> list[Reply]:
        """Send the queries and return one reply per query, in order; `CachedModel.complete` explains ``report``.

        After an error, replies are missing, and ``failures`` has the error. It is for the caller to raise: an event
        loop in which a `KeyboardInterrupt` is raised ends.
        """
        tasks = [asyncio.ensure_future(self._obtain(query, report)) for query in queries]
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

    def _call(self, report: Callable[[int], object], n: int) -> None:
        try:
            report(n)
        except BaseException as error:  # noqa: BLE001 (raised after all have ended)
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.failures.append(error)
        self._stop.set()

    async def _obtain(self, query: Query, report: Callable[[int], object]) -> Reply | None:
        try:
            reply = await self._ask(query)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 (raised after all have ended)
            self._fail(error)
            return None
        if reply is not None:
            self._call(report, 1)
        return reply

    async def _ask(self, query: Query) -> Reply | None:
        """Return the reply to one query, or None if the batch was stopped before the reply arrived."""
        async with self._gate:  # also held while waiting to retry, so that a failing provider gets fewer queries
            failures = 0
            while not self._stop.is_set():
                try:
                    reply = replace(await self._client.ask(query), retries=failures)
                except TransientError as error:
                    failures += 1
                    wait = self._wait(query, failures, error)
                except RefusedError as error:
                    return await self._keep(query, self._spend(query, failures, error))
                else:
                    return await self._keep(query, reply)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), wait)
        return None

    def _spend(self, query: Query, failures: int, error: RefusedError) -> Reply:
        """Return an empty reply to a query that is refused because of its prompt.

        Raises:
            ModelUnavailableError: The refusal is not about the prompt, so other queries would be refused too.
        """
        if self._is_probe or error.status not in SPENT_STATUS:
            remedy = f"; {REMEDIES[error.status]}" if error.status in REMEDIES else ""
            raise ModelUnavailableError(f"{query.model} refused: {error}{remedy}", status=error.status) from error
        return Reply("", Finish.ERROR, str(error), retries=failures)

    def _wait(self, query: Query, failures: int, error: TransientError) -> float:
        """Return how many seconds to wait before a query is sent again.

        Raises:
            ModelUnavailableError: The query has failed too often, or the wait would be too long.
        """
        if (error.retry_after or 0) > LONGEST_RETRY_AFTER:
            raise ModelUnavailableError(f"{query.model} asks us to wait {error.retry_after:,.0f} s: {error}") from error
        if failures > self._retries:
            raise ModelUnavailableError(
                f"{query.model} failed {failures} times in a row, the last time with: {error}"
            ) from error
        wait = backoff(failures, error.retry_after, self._rng)
        if time.monotonic() - self._complained > _COMPLAINT_SECONDS:
            self._complained = time.monotonic()
            _LOG.warning("%s: %s; retrying in %.1f s (%d of %d)", query.model, error, wait, failures, self._retries)
        return wait

    async def _keep(self, query: Query, reply: Reply) -> Reply:
        """Store a reply in the cache and return the cached reply. Replies that arrive together share one write."""
        stored: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._unkept.append((query, Bought(reply, self._client.price(query.model)), stored))
        async with self._keeping:
            if not stored.done():
                await asyncio.sleep(_TOGETHER_SECONDS)
                batch, self._unkept = self._unkept, []
                kept = self._cache.keep([(asked, bought) for asked, bought, _ in batch])
                for (_, _, waiting), bought in zip(batch, kept, strict=True):
                    waiting.set_result(bought.reply)
        return stored.result()
