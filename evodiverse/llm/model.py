"""The language model of a run, which answers from the reply cache if it can and asks the provider otherwise."""

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from heapq import heappop, heappush
from threading import Thread
from typing import Self, TypeAlias

import numpy as np

from evodiverse.errors import InputError, ModelUnavailableError
from evodiverse.llm.cache import Bought, ReplyCache
from evodiverse.llm.client import Client, sent_parameters
from evodiverse.llm.clients import KINDS
from evodiverse.llm.failures import LONGEST_RETRY_AFTER, REMEDIES, RefusedError, TransientError, backoff
from evodiverse.llm.settings import Llm
from evodiverse.vocabulary import CostBound, Decoding, Finish, Message, Query, Reply, Stream

_LOG = logging.getLogger("evodiverse.llm")
# The HTTP status of refusals that are about one prompt, not about the account or the model. The query then gets an
# empty reply, which uses up its attempt.
SPENT_STATUS = frozenset({400, 413, 422})
# How often ``report`` is called with 0, so that it can stop the batch while no reply arrives.
_HEARTBEAT_SECONDS = 0.2
# How often the function that waits for a batch calls another.
_POLL_SECONDS = 0.02
# How long replies to queries in progress are still accepted after the batch was stopped.
GRACE_SECONDS = 30.0
# The shortest time between two warnings about failed queries.
_COMPLAINT_SECONDS = 15.0
# How long a reply waits for others that arrive at the same time, so that one write stores them all.
_TOGETHER_SECONDS = 0.005
# A generous bound on the tokens that a chat template adds to a message, including its own system prompt.
TOKENS_A_MESSAGE = 64
_PROBE_RETRIES = 2
# Sent once with each set of parameters, to check that the key is right and that the model accepts the parameters.
_PROBE = (Message("user", "Reply with the single word: ready"),)
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
    """One batch of queries, which `run` sends.

    Args:
        client: The client of the provider.
        cache: The cache that stores every reply.
        gate: What bounds the number of queries in progress, of all batches.
        retries: How many times a failed query is sent again, at most.
        is_probe: Whether every refusal ends the batch. If not, a query that is refused because of its prompt gets an
            empty reply, and the others are still sent.

    Attributes:
        failures: The errors that ended the batch, empty if none did.
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

    async def run(
        self, queries: Sequence[Query], report: Callable[[int], object], follow: Follow | None
    ) -> list[Reply]:
        """Send the queries and return one reply per query, in order; `CachedModel.begin` explains the functions.

        After an error, replies are missing, and ``failures`` has the error. It is for the caller to raise: an event
        loop in which a `KeyboardInterrupt` is raised ends.
        """
        tasks = [asyncio.ensure_future(self._obtain(query, report, follow)) for query in queries]
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
        self.stop()

    def stop(self) -> None:
        """Send no more queries; call it in the thread of the event loop."""
        self._stop.set()

    async def _obtain(self, query: Query, report: Callable[[int], object], follow: Follow | None) -> Reply | None:
        first = None
        try:
            # The gate is also held while waiting to retry, so that a failing provider gets fewer queries.
            async with self._gate.passed(query.stream.iteration):
                asked: Query | None = query
                while asked is not None and (reply := await self._ask(asked)) is not None:
                    if first is None:
                        first = reply
                        self._call(report, 1)
                    asked = None if follow is None else follow(asked, reply)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 (raised after all have ended)
            self._fail(error)
        return first

    async def _ask(self, query: Query) -> Reply | None:
        """Return the reply to one query, or None if the batch was stopped before the reply arrived."""
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


class CachedModel:
    """An `evodiverse.ports.LanguageModel` that pays for each reply only once. Use it as a context manager.

    Its event loop has a thread of its own, because the caller's thread may already run one, as that of a notebook does.

    Args:
        cache: The cache of earlier replies. Every new reply is added as soon as it arrives.
        client: The client of the provider; None to answer only from the cache.
        concurrency: The largest number of queries in progress at the same time.
        retries: How many times a failed query is sent again, at most.
    """

    def __init__(self, cache: ReplyCache, client: Client | None, concurrency: int, retries: int) -> None:
        self._cache = cache
        self._client = client
        self._gate = Gate(concurrency)
        self._sent: dict[Future[list[Reply]], Asking] = {}
        self._retries = retries
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        self._thread = Thread(target=self._serve, name="language model", daemon=True)

    def __enter__(self) -> Self:
        """Start the event loop."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close all connections. Replies on their way are still stored, unless a signal has interrupted a wait."""
        try:
            for sent, asking in self._sent.items():
                self._loop.call_soon_threadsafe(sent.cancel if kind is KeyboardInterrupt else asking.stop)
            futures.wait(self._sent)
            if self._client is not None:
                asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _serve(self) -> None:
        with self._runner:  # which at last cancels what still runs
            self._loop.run_forever()

    def _wait(self, sent: Future[list[Reply]], show: Callable[[], object]) -> list[Reply]:
        """Wait for a batch in the event loop, and return its replies; if a signal interrupts the wait, it is canceled.

        If ``show`` raises, the batch goes on until the context ends, which stores the replies on their way.
        """
        while not self._is_done(sent):
            show()
        self._sent.pop(sent, None)
        return sent.result()

    @staticmethod
    def _is_done(sent: Future[list[Reply]]) -> bool:
        try:
            return bool(futures.wait([sent], timeout=_POLL_SECONDS).done)
        except KeyboardInterrupt:
            sent.cancel()
            raise

    def bound_costs(self, queries: Sequence[Query]) -> list[CostBound]:
        """Return the most that each query can cost, in order.

        Before a run sends the queries, it compares these bounds with its caps on tokens and cost.

        If the cache has the reply to a query, the bound uses the price at which that reply was bought. Each token of a
        prompt has at least one byte, so the number of bytes bounds the number of tokens.
        """
        bounds = []
        for query, bought in zip(queries, self._cache.find(queries), strict=True):
            prompt = sum(len(message.content.encode()) + TOKENS_A_MESSAGE for message in query.messages)
            completion = query.decoding.max_tokens
            asked = None if self._client is None else self._client.price(query.model)
            price = asked if bought is None else bought.price
            usd = None if price is None else price.prompt * prompt + price.completion * completion
            bounds.append(CostBound(prompt + completion, usd))
        return bounds

    def complete(
        self, queries: Sequence[Query], report: Callable[[int], object] = lambda _: None, *, is_probe: bool = False
    ) -> list[Reply]:
        """Send queries, wait for the replies, and return them; see `begin`."""
        return self.begin(queries, report, is_probe=is_probe)(lambda: None)

    def begin(
        self,
        queries: Sequence[Query],
        report: Callable[[int], object],
        follow: Follow | None = None,
        *,
        is_probe: bool = False,
    ) -> Callable[[Callable[[], object]], list[Reply]]:
        """Send queries, and return a function that waits for the replies and returns one per query, in order.

        The function takes another one, which it calls periodically while it waits. It raises the errors of the
        provider, those of ``report`` and ``follow``, and that of a replay without a reply.

        If ``report`` or ``follow`` raises an error, or a query fails for good, no more queries are sent. Replies to
        queries in progress are stored if they arrive within `GRACE_SECONDS`. Then the first error is raised.

        Args:
            queries: The queries to answer.
            report: A function that shows the progress. It is called with the number of replies since its last call: at
                first with the number of those from the cache, later with 1 for each that arrives. It is also called
                periodically with 0, so that it can stop the queries by raising an error even while no reply arrives.
            follow: A function that is called with each query that was sent and its reply, once the reply is stored. It
                returns a query to send at once, whose reply is stored and passed to it in turn, or None. It is called
                in the thread of the event loop.
            is_probe: Whether this is a check that the models answer. Then a failed query is sent again at most twice,
                and every refusal ends the batch.

        Raises:
            InputError: There is no client, and the cache lacks a reply. The message names the query.
            ModelUnavailableError: The provider does not answer, or refuses a query for a reason other than its prompt.
            ServiceError: The cache cannot be used.
        """
        found = self._cache.find(queries)
        missing = [query for query, bought in zip(queries, found, strict=True) if bought is None]
        report(len(queries) - len(missing))
        if not missing or self._client is None:

            def recall(_: Callable[[], object]) -> list[Reply]:
                if missing:
                    raise InputError(
                        f"{self._cache.path} has no reply to {_place(missing[0])}; replay only runs recorded there, "
                        "with the same llm.pools and llm.extra"
                    )
                return [bought.reply for bought in found if bought is not None]

            return recall
        retries = min(self._retries, _PROBE_RETRIES) if is_probe else self._retries
        asking = Asking(self._client, self._cache, self._gate, retries, is_probe=is_probe)
        sent = asyncio.run_coroutine_threadsafe(asking.run(missing, report, follow), self._loop)
        self._sent[sent] = asking

        def receive(show: Callable[[], object]) -> list[Reply]:
            replies = self._wait(sent, show)
            if asking.failures:
                raise asking.failures[0]
            fresh = iter(replies)
            return [next(fresh) if bought is None else bought.reply for bought in found]

        return receive


def _place(query: Query) -> str:
    """Return text that identifies a query to the user.

    It consists of the iteration, the pool, the slot (the place for one offspring of the pool), the attempt at that
    slot, the seed and the model.
    """
    stream = query.stream
    return (
        f"iteration {stream.iteration}, pool {stream.pool}, slot {stream.slot}, attempt {stream.attempt} "
        f"(seed {stream.seed}, {query.model})"
    )


@contextmanager
def opened(settings: Llm) -> Iterator[CachedModel]:
    """Open the reply cache and the models, check that each model answers, and yield them as one `CachedModel`.

    A model is not asked again if the cache has its reply to an earlier check.

    Raises:
        InputError: The cache cannot be opened, or the provider refuses the key, the name of a model or a parameter.
        ModelUnavailableError: A model does not answer.
    """
    with (
        ReplyCache(settings.find_cache()) as cache,
        KINDS[settings.client].open(settings) as client,
        CachedModel(cache, client, settings.concurrency, settings.retries) as model,
    ):
        if client is not None:
            _probe(model, settings)
        yield model


def _probe(model: CachedModel, settings: Llm) -> None:
    """Ask each model for one word with each set of sampling parameters, unless the reply is already in the cache.

    Raises:
        InputError: A model refuses, for instance because of the key or a parameter.
        ModelUnavailableError: A model does not answer.
    """
    for name in settings.models:
        samplers = {key: one.decoding for key, used in settings.samplers.items() for one in used if one.model == name}
        queries = [Query(name, _PROBE, decoding, Stream(0, 0)) for decoding in samplers.values()]
        try:
            model.complete(list({repr(query): query for query in queries}.values()), is_probe=True)
        except ModelUnavailableError as error:
            if error.status is None:
                raise
            remedy = "" if error.status in REMEDIES else f"; {_find_remedy(str(error), samplers, settings)}"
            raise InputError(f"{error}{remedy}") from error


def _find_remedy(refusal: str, samplers: Mapping[str, Decoding], settings: Llm) -> str:
    """Return what to do about a refusal: what removes the parameter that it names, if it names one.

    A temperature counts only if no other parameter is named, since models that take only one of two should keep it.
    """
    sent: dict[str, list[str]] = defaultdict(list)
    for name, decoding in samplers.items():
        for key in sent_parameters(decoding, settings.length_parameter):
            sent[key].append(name)
    for key in sorted(sent, key="temperature".__eq__):
        if re.search(rf"(?<!\w){re.escape(key)}(?!\w)", refusal):
            shorter = ", or lower llm.pools.*.max_tokens" if key == settings.length_parameter else ""
            return settings.remedy(key, sent[key]) + shorter
    return "check llm.model, llm.pools and llm.extra"
