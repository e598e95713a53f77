"""The language model of a run, which answers from the reply cache if it can and asks the provider otherwise."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import chain
from threading import Thread
from typing import Self

from evodiverse.errors import InputError, ModelUnavailableError
from evodiverse.llm.asking import Asking, Follow, Gate, Report
from evodiverse.llm.batches import BatchAsking, Batching
from evodiverse.llm.cache import ReplyCache
from evodiverse.llm.client import Client, sent_parameters
from evodiverse.llm.clients import KINDS
from evodiverse.llm.failures import REMEDIES
from evodiverse.llm.library import Price
from evodiverse.llm.settings import SINGLE, Llm
from evodiverse.llm.shelf import Shelf
from evodiverse.vocabulary import CostBound, Decoding, Message, Query, Reply, Stream

# How often the function that waits for a round calls another.
_POLL_SECONDS = 0.02
# A generous bound on the tokens that a chat template adds to a message, including its own system prompt.
TOKENS_A_MESSAGE = 64
# Sent once with each set of parameters, to check that the key is right and that the model accepts the parameters.
_PROBE = (Message("user", "Reply with the single word: ready"),)


class CachedModel:
    """An `evodiverse.ports.LanguageModel` that pays for each reply only once. Use it as a context manager.

    Its event loop has a thread of its own, because the caller's thread may already run one, as that of a notebook does.

    Args:
        cache: The cache of earlier replies. Every new reply is added as soon as it arrives.
        client: The client of the provider; None to answer only from the cache.
        concurrency: The largest number of queries in progress at the same time.
        retries: How many times a failed query is sent again, at most.
        batching: How queries are sent in batches; None to send each by itself.
    """

    def __init__(
        self, cache: ReplyCache, client: Client | None, concurrency: int, retries: int, batching: Batching | None = None
    ) -> None:
        self._cache = cache
        self._batching = batching
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
            for service in (self._client, self._batching):
                if service is not None:
                    asyncio.run_coroutine_threadsafe(service.close(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _serve(self) -> None:
        with self._runner:  # which at last cancels what still runs
            self._loop.run_forever()

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
            price = self._find_price(query.model) if bought is None else bought.price
            bounds.append(CostBound(prompt + completion, price and price.cost(prompt, completion)))
        return bounds

    def _find_price(self, model: str) -> Price | None:
        """Return the highest price at which a reply of a model may be bought, or None if it is unknown."""
        price = None if self._client is None else self._client.price(model)
        return price if self._batching is None else self._batching.find_price(model, price)

    def complete(
        self, queries: Sequence[Query], report: Report = lambda _: None, *, is_probe: bool = False
    ) -> list[Reply]:
        """Send queries, wait for the replies, and return them; see `begin`."""
        return self.begin(queries, report, is_probe=is_probe)(lambda: None)

    def begin(
        self, queries: Sequence[Query], report: Report, follow: Follow | None = None, *, is_probe: bool = False
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
                and every refusal ends the round.

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
                    stream = missing[0].stream
                    raise InputError(
                        f"{self._cache.path} has no reply to iteration {stream.iteration}, pool {stream.pool}, slot "
                        f"{stream.slot}, attempt {stream.attempt} (seed {stream.seed}, {missing[0].model}); replay "
                        "only runs recorded there, with the same llm.pools and llm.extra"
                    )
                return [bought.reply for bought in found if bought is not None]

            return recall
        retries = min(self._retries, 2) if is_probe else self._retries
        if self._batching is None or is_probe:
            asking = Asking(self._client, self._cache, self._gate, retries, is_probe=is_probe)
        else:
            asking = BatchAsking(self._client, self._cache, self._gate, retries, self._batching)
        sent = asyncio.run_coroutine_threadsafe(asking.run(missing, report, follow), self._loop)
        self._sent[sent] = asking

        def receive(show: Callable[[], object]) -> list[Reply]:
            while True:
                try:
                    if futures.wait([sent], timeout=_POLL_SECONDS).done:
                        break
                except KeyboardInterrupt:
                    sent.cancel()
                    raise
                show()  # if it raises, the round goes on until the context ends, which stores the replies on their way
            del self._sent[sent]
            fresh = iter(sent.result())
            if asking.failures:
                raise asking.failures[0]
            return [next(fresh) if bought is None else bought.reply for bought in found]

        return receive


@contextmanager
def opened(settings: Llm) -> Iterator[CachedModel]:
    """Open the reply cache and the models, check that each model answers, and yield them as one `CachedModel`.

    A model is not asked again if the cache has its reply to an earlier check.

    Raises:
        InputError: The cache cannot be opened, or the provider refuses the key, the name of a model or a parameter.
        ModelUnavailableError: A model does not answer.
    """
    with ReplyCache(settings.find_cache()) as cache, KINDS[settings.client].open(settings) as client:
        batching = _make_batching(settings, cache)
        with CachedModel(cache, client, settings.concurrency, settings.retries, batching) as model:
            if client is not None:
                _probe(model, settings)
            yield model


def _make_batching(settings: Llm, cache: ReplyCache) -> Batching | None:
    """Return how queries are sent in batches; None if they are not, and none that was sent before is to be read."""
    kind = KINDS[settings.client]
    if not kind.asks or not kind.has_batches:
        return None
    shelf = Shelf(cache.path)
    if not shelf.prune(cache) and not settings.batch:
        return None
    return Batching(shelf, kind.endpoints(settings), settings.batch_fallback == SINGLE, settings.batch)


def _probe(model: CachedModel, settings: Llm) -> None:
    """Ask each model for one word with each set of sampling parameters, unless the reply is already in the cache.

    Raises:
        InputError: A model refuses, for instance because of the key or a parameter.
        ModelUnavailableError: A model does not answer.
    """
    for name in settings.models:
        samplers = {key: one.decoding for key, used in settings.samplers.items() for one in used if one.model == name}
        queries = {Query(name, _PROBE, decoding, Stream(0, 0)): None for decoding in samplers.values()}
        try:
            model.complete([*queries], is_probe=True)
        except ModelUnavailableError as error:
            if error.status is None:
                raise
            remedy = "" if error.status in REMEDIES else f"; {_find_remedy(str(error), samplers, settings)}"
            raise InputError(f"{error}{remedy}") from error


def _find_remedy(refusal: str, samplers: Mapping[str, Decoding], settings: Llm) -> str:
    """Return what to do about a refusal: what removes the parameter that it names, if it names one.

    A temperature counts only if no other parameter is named, since models that take only one of two should keep it.
    """
    sent = {name: sent_parameters(decoding, settings.length_parameter) for name, decoding in samplers.items()}
    for key in sorted(chain.from_iterable(sent.values()), key="temperature".__eq__):
        if re.search(rf"(?<!\w){re.escape(key)}(?!\w)", refusal):
            shorter = ", or lower llm.pools.*.max_tokens" if key == settings.length_parameter else ""
            return settings.remedy(key, [name for name in sent if key in sent[name]]) + shorter
    return "check llm.model, llm.pools and llm.extra"
