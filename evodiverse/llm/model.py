"""The language model of a run, which answers from the reply cache if it can and asks the provider otherwise."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any, Self, TypeVar

from evodiverse.errors import InputError, ModelUnavailableError
from evodiverse.llm.asking import Asking
from evodiverse.llm.cache import ReplyCache
from evodiverse.llm.client import Client, sent_parameters
from evodiverse.llm.clients import KINDS
from evodiverse.llm.failures import REMEDIES
from evodiverse.llm.settings import Llm
from evodiverse.vocabulary import CostBound, Decoding, Message, Query, Reply, Stream

# A generous bound on the tokens that a chat template adds to a message, including its own system prompt.
TOKENS_A_MESSAGE = 64
_PROBE_RETRIES = 2
# Sent once with each set of parameters, to check that the key is right and that the model accepts the parameters.
_PROBE = (Message("user", "Reply with the single word: ready"),)
Result = TypeVar("Result")


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
        self._concurrency = concurrency
        self._retries = retries
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        self._thread = Thread(target=self._serve, name="language model", daemon=True)

    def __enter__(self) -> Self:
        """Start the event loop."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        try:
            if self._client is not None:
                self._run(self._client.close())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _serve(self) -> None:
        with self._runner:  # which at last cancels what still runs
            self._loop.run_forever()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do work in the event loop and wait for it. If a signal interrupts the wait, the work is canceled."""
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        finally:
            running.cancel()  # no effect on finished work

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

    def complete(self, queries: Sequence[Query], report: Callable[[int], object] = lambda _: None) -> list[Reply]:
        """Return one reply per query, in order.

        If ``report`` raises an error, or a query fails for good, no more queries are sent. Replies to queries in
        progress are stored if they arrive within `asking.GRACE_SECONDS`. Then the first error is raised.

        Args:
            queries: The queries to answer.
            report: A function that shows the progress. It is called with the number of replies since its last call: at
                first with the number of those from the cache, later with 1 for each that arrives. It is also called
                periodically with 0, so that it can stop the queries by raising an error even while no reply arrives.

        Raises:
            InputError: There is no client, and the cache lacks a reply. The message names the query.
            ModelUnavailableError: The provider does not answer, or refuses a query for a reason other than its prompt.
            ServiceError: The cache cannot be used.
        """
        return self._complete(queries, report, self._retries, is_probe=False)

    def probe(self, queries: Sequence[Query]) -> None:
        """Check that the models answer: send the queries that are not in the cache, with at most two retries.

        Without a client, nothing is sent.

        Raises:
            ModelUnavailableError: A query is not answered, or is refused for any reason.
        """
        if self._client is not None:
            self._complete(queries, lambda _: None, min(self._retries, _PROBE_RETRIES), is_probe=True)

    def _complete(
        self, queries: Sequence[Query], report: Callable[[int], object], retries: int, *, is_probe: bool
    ) -> list[Reply]:
        found = self._cache.find(queries)
        missing = [query for query, bought in zip(queries, found, strict=True) if bought is None]
        report(len(queries) - len(missing))
        if missing and self._client is None:
            raise InputError(
                f"{self._cache.path} has no reply to {_place(missing[0])}; replay only runs recorded there, with the "
                "same llm.pools and llm.extra"
            )
        fresh: Iterator[Reply] = iter(())
        if missing and self._client is not None:
            asking = Asking(self._client, self._cache, self._concurrency, retries, is_probe=is_probe)
            fresh = iter(self._run(asking.run(missing, report)))
            if asking.failures:
                raise asking.failures[0]
        return [next(fresh) if bought is None else bought.reply for bought in found]


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
        samplers = {key: used.decoding for key, used in settings.samplers.items() if used.model == name}
        queries = [Query(name, _PROBE, decoding, Stream(0, 0)) for decoding in samplers.values()]
        try:
            model.probe(list({repr(query): query for query in queries}.values()))
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
