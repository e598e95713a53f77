"""The language model of a run: answers from the cache, and asks the provider for the rest, all at once."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

import numpy as np

from evodiverse.errors import InputError, ModelUnavailableError
from evodiverse.llm.cache import Bought, ReplyCache
from evodiverse.llm.client import Client
from evodiverse.llm.failures import LONGEST_RETRY_AFTER, RefusedError, TransientError, backoff
from evodiverse.llm.prices import Price
from evodiverse.vocabulary import Query, Quote, Reply

# What a chat template adds to a message, in tokens, with a system prompt of its own; generous.
TOKENS_A_MESSAGE = 64


class CachedModel:
    """Answers queries, see `evodiverse.ports.LanguageModel`. Use it as a context manager.

    Args:
        cache: What was answered before; every new reply is added the moment it is there.
        client: Asks the provider; None answers from the cache alone.
        concurrency: Queries under way at once.
        retries: Times a query that failed is sent again.
    """

    def __init__(self, cache: ReplyCache, client: Client | None, concurrency: int, retries: int) -> None:
        self._cache = cache
        self._client = client
        self._concurrency = concurrency
        self._retries = retries
        self._loop = asyncio.Runner()
        self._rng = np.random.default_rng()  # when a query is sent again, nothing that is logged
        self._unkept: list[tuple[Query, Bought]] = []

    def __enter__(self) -> Self:
        """Use the model."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close all connections."""
        if self._client is not None:
            self._loop.run(self._client.close())
        self._loop.close()

    def quote(self, queries: Sequence[Query]) -> list[Quote]:
        """Return what each query costs at most; one that was answered before, at the price of that time.

        A token of a prompt is a byte at least, so its bytes bound its tokens.
        """
        quotes = []
        for query, bought in zip(queries, self._cache.find(queries), strict=True):
            prompt = sum(len(message.content.encode()) + TOKENS_A_MESSAGE for message in query.messages)
            completion = query.decoding.max_tokens
            price = bought.price if bought is not None else self._price(query.model)
            usd = None if price is None else price.prompt * prompt + price.completion * completion
            quotes.append(Quote(prompt + completion, usd))
        return quotes

    def complete(self, queries: Sequence[Query], finished: Callable[[int], object] = lambda _: None) -> list[Reply]:
        """Return one reply per query, in order.

        Args:
            queries: What to ask.
            finished: Is told how many more replies are there and kept. Where this raises, or a query fails for good, no
                other is sent, those under way are kept, and the first error goes on.

        Raises:
            InputError: There is no client, and the cache has no reply; names the query.
            ModelUnavailableError: The provider does not answer, or not any more.
            ServiceError: The cache cannot be used.
        """
        found = self._cache.find(queries)
        missing = [query for query, bought in zip(queries, found, strict=True) if bought is None]
        finished(len(queries) - len(missing))
        fresh = iter(self._ask_all(missing, finished) if missing else ())
        return [next(fresh) if bought is None else bought.reply for bought in found]

    def _price(self, model: str) -> Price | None:
        return None if self._client is None else self._client.price(model)

    def _ask_all(self, queries: Sequence[Query], finished: Callable[[int], object]) -> list[Reply]:
        if self._client is None:
            raise InputError(f"{self._cache.path} has no reply to {_place(queries[0])}; replay what was recorded there")
        return self._loop.run(self._obtain_all(self._client, queries, finished))

    async def _obtain_all(
        self, client: Client, queries: Sequence[Query], finished: Callable[[int], object]
    ) -> list[Reply]:
        gate, keeping, stop = asyncio.Semaphore(self._concurrency), asyncio.Lock(), asyncio.Event()
        failures: list[BaseException] = []

        async def obtain(query: Query) -> Reply | None:
            try:
                reply = await self._ask(client, query, gate, keeping, stop)
                if reply is not None:
                    finished(1)
            except BaseException as error:  # noqa: BLE001 (goes on below)
                failures.append(error)
                stop.set()
                return None
            return reply

        replies = await asyncio.gather(*map(obtain, queries))
        if failures:
            raise failures[0]
        return [reply for reply in replies if reply is not None]

    async def _ask(
        self, client: Client, query: Query, gate: asyncio.Semaphore, keeping: asyncio.Lock, stop: asyncio.Event
    ) -> Reply | None:
        """Return the reply to one query, None if all was stopped before it was there."""
        async with gate:  # also while it waits to ask again: a provider that fails gets fewer queries
            failures = 0
            while not stop.is_set():
                try:
                    reply = replace(await client.ask(query), retries=failures)
                except TransientError as error:
                    failures += 1
                    wait = self._wait(query, failures, error)
                except RefusedError as error:
                    raise ModelUnavailableError(f"{query.model} refused: {error}", status=error.status) from error
                else:
                    await self._keep(query, reply, keeping)
                    return reply
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), wait)
        return None

    def _wait(self, query: Query, failures: int, error: TransientError) -> float:
        """Return how long to wait before a query is sent again.

        Raises:
            ModelUnavailableError: It has failed too often, or the wait would be too long.
        """
        if (error.retry_after or 0) > LONGEST_RETRY_AFTER:
            raise ModelUnavailableError(f"{query.model} asks to wait {error.retry_after:,.0f} s: {error}") from error
        if failures > self._retries:
            raise ModelUnavailableError(
                f"{query.model} failed {failures} times in a row, the last time with: {error}"
            ) from error
        return backoff(failures, error.retry_after, self._rng)

    async def _keep(self, query: Query, reply: Reply, keeping: asyncio.Lock) -> None:
        """Put a reply into the cache, with all others that came while it was busy."""
        self._unkept.append((query, Bought(reply, self._price(query.model))))
        async with keeping:
            if self._unkept:
                batch, self._unkept = self._unkept, []
                await asyncio.to_thread(self._cache.keep, batch)


def _place(query: Query) -> str:
    """Return what a query was for."""
    stream = query.stream
    return (
        f"iteration {stream.iteration}, pool {stream.pool}, slot {stream.slot}, attempt {stream.attempt} "
        f"(seed {stream.seed}, {query.model})"
    )
