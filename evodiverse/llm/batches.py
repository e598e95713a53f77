"""Sending the queries of a round as one batch for each model, which providers answer at half the price.

What is sent is written down before (`evodiverse.llm.shelf`). So a run that was killed finds its batches again, and so
does another run that makes the same queries.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from evodiverse.errors import ModelUnavailableError
from evodiverse.llm.asking import Asking, Follow, Gate, Report, refused
from evodiverse.llm.cache import Bought, ReplyCache, query_key
from evodiverse.llm.client import Client
from evodiverse.llm.endpoints import Endpoint, Line, State
from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.llm.library import Price
from evodiverse.llm.shelf import Batch, Shelf
from evodiverse.text import count_of
from evodiverse.vocabulary import Query, Reply

_LOG = logging.getLogger("evodiverse.llm")
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
# How long a provider may tell nothing of a batch before the run ends.
_OUTAGE_SECONDS = 3 * 3600.0
_UNKNOWN: Final = 404
# The HTTP statuses of an endpoint that does not exist.
_ABSENT: Final = frozenset({404, 405, 501})


@dataclass(frozen=True)
class Batching:
    """How the queries of a run are sent in batches.

    Attributes:
        shelf: The batches whose replies are not read yet.
        endpoints: The endpoint of each model, by its name in queries.
        falls_back: Whether a query to which a batch brought no reply is sent by itself, at the full price; if not, it
            is sent in another batch.
        sends: Whether new batches are sent; if not, only those that were sent before are waited for.
        seen: The files of the batches that this process has waited for.
    """

    shelf: Shelf
    endpoints: Mapping[str, Endpoint]
    falls_back: bool
    sends: bool = True
    seen: set[Path] = field(default_factory=set)

    def find_price(self, model: str, single: Price | None) -> Price | None:
        """Return the highest price at which a reply may be bought, given that of a query that is sent by itself."""
        return single if self.falls_back or not self.sends else self.endpoints[model].price

    async def close(self) -> None:
        """Close all connections, and tell the user of batches that are still under way."""
        if n := sum(path.exists() for path in self.seen):
            _LOG.info(
                "%s under way; a run with the same requests uses the replies; evodiverse-batches --cancel ends them",
                count_of(n, "batch is", "batches are"),
            )
        for endpoint in self.endpoints.values():
            await endpoint.close()


class BatchAsking(Asking):
    """One round of queries, which `run` sends as one batch for each model. No other query follows a reply.

    Args:
        client: The client of the provider, for queries to which a batch brought no reply.
        cache: The cache that stores every reply.
        gate: What bounds the number of queries that are sent by themselves.
        retries: How many times a failed request or query is sent again, at most.
        batching: The endpoints, and the batches that are known.
    """

    def __init__(self, client: Client, cache: ReplyCache, gate: Gate, retries: int, batching: Batching) -> None:
        super().__init__(client, cache, gate, retries)
        self._batching = batching
        self._shelf = batching.shelf
        self._bought: dict[str, asyncio.Task[dict[Query, Reply]]] = {}
        self._why = ""

    async def run(self, queries: Sequence[Query], report: Report, follow: Follow | None) -> list[Reply]:
        """Send the queries and return one reply per query, in order; see `Asking.run`.

        ``follow`` is called only for queries that are sent by themselves, and not at all if batches are sent.
        """
        for model in self._batching.endpoints:
            if some := [query for query in queries if query.model == model]:
                self._bought[model] = asyncio.create_task(self._buy(model, some, report))
        try:
            return await super().run(queries, report, None if self._batching.sends else follow)
        finally:
            for buying in self._bought.values():
                buying.cancel()  # no effect on those that are done
            await asyncio.gather(*self._bought.values(), return_exceptions=True)

    async def _obtain(self, query: Query, report: Report, follow: Follow | None) -> Reply:
        buying = self._bought.get(query.model)
        bought = {} if buying is None else await asyncio.shield(buying)
        return bought[query] if query in bought else await super()._obtain(query, report, follow)

    async def _buy(self, model: str, queries: Sequence[Query], report: Report) -> dict[Query, Reply]:
        """Return the replies of batches to queries to one model.

        If some are missing, they are to be sent by themselves.

        Raises:
            ModelUnavailableError: The provider does not answer, refuses a batch, or leaves queries without a reply too
                often; or a batch was cancelled.
            ServiceError: A file cannot be used.
        """
        wanted = {query_key(query).hex(): query for query in queries}
        replies: dict[str, Reply] = {}
        for n_failures in range(self._retries + 1):
            missing = {key: query for key, query in wanted.items() if key not in replies}
            stored, placed = await self._place(self._batching.endpoints[model], missing)
            replies |= stored
            self._call(report, len(stored))
            for batch in placed:
                replies |= await self._collect(batch, wanted.keys(), n_failures, report)
            n_lost = len(wanted.keys() - replies.keys())
            if not n_lost or not self._batching.sends:
                break
            how = "one by one, at the full price" if self._batching.falls_back else "in another batch"
            lost = count_of(n_lost, "query", "queries")
            _LOG.warning("%s: %s without a reply%s; asking again %s", model, lost, self._why, how)
            if self._batching.falls_back:
                break
        else:
            raise ModelUnavailableError(
                f"{model} left {count_of(n_lost, 'query', 'queries')} without a reply in "
                f"{count_of(self._retries + 1, 'batch', 'batches')}; resume later, or set llm.batch_fallback=single"
            )
        return {wanted[key]: reply for key, reply in replies.items() if key in wanted}

    async def _place(self, endpoint: Endpoint, queries: Mapping[str, Query]) -> tuple[dict[str, Reply], list[Batch]]:
        """Return the replies that another run has stored meanwhile, and the batches that have the other queries.

        They are batches that were sent before, and a new one for the rest. All queries are to one model, and come by
        their keys.
        """
        async with self._shelf.locked(self._pause):
            shelved = self._shelf.read()  # before the cache, since another run stores replies and then removes the file
            found = zip(queries, self._cache.find(list(queries.values())), strict=True)
            stored = {key: bought.reply for key, bought in found if bought is not None}
            rest = {key: query for key, query in queries.items() if key not in stored}
            batches: list[Batch] = []
            for batch in shelved:
                is_ours = batch.address == endpoint.address and not rest.keys().isdisjoint(batch.keys)
                batches += await self._confirm(batch) if is_ours else []
            known = {key for batch in batches for key in batch.keys}
            rest = {key: query for key, query in rest.items() if key not in known}
            return stored, [*batches, await self._send(endpoint, rest)] if rest and self._batching.sends else batches

    async def _confirm(self, batch: Batch) -> list[Batch]:
        """Return a batch of an earlier process with the provider's name for it; nothing if it was never started."""
        if batch.job is None:
            found = None if batch.upload is None else await self._try(batch.model, lambda _: self._find(batch))
            if found is None:
                self._shelf.remove(batch)
                return []
            batch = self._shelf.write(found)
        _LOG.info("%s: waiting for the batch %s, which was sent before", batch.model, batch.job)
        self._batching.seen.add(self._shelf.path(batch))
        return [batch]

    async def _find(self, batch: Batch) -> Batch | None:
        """Return a batch whose start was not confirmed with the provider's name for it, or None if it was not started.

        Raises:
            ModelUnavailableError: Only the user can find out.
        """
        known = {other.job for other in self._shelf.read()}
        try:
            found = await self._batching.endpoints[batch.model].find(batch)
        except RefusedError as error:
            if error.status not in _ABSENT:
                raise
            why = f"{batch.address} does not list its batches"
        else:
            jobs = {job: is_sure for job, is_sure in found.items() if job not in known}
            if not jobs:
                return None
            if len(jobs) == 1:
                ((job, is_sure),) = jobs.items()
                return replace(batch, job=job, is_guess=not is_sure)
            why = f"{len(jobs)} batches may be that one"
        raise ModelUnavailableError(
            f"a batch of {count_of(len(batch.keys), 'query', 'queries')} may have been sent although its start was not "
            f"confirmed, and {why}; look for it there (evodiverse-{batch.name}), then set job in "
            f"{self._shelf.path(batch)} to its id, or delete that file to send the queries again"
        )

    async def _send(self, endpoint: Endpoint, queries: Mapping[str, Query]) -> Batch:
        """Send queries to one model, given by their keys, as a new batch, and return it."""
        content = list(queries.values())
        model = content[0].model
        place = (endpoint.address, endpoint.api, endpoint.key_variable)
        batch = Batch(secrets.token_hex(8), *place, model, list(queries), time.time())
        self._batching.seen.add(self._shelf.path(self._shelf.write(batch)))

        async def upload(_: int) -> Batch:
            with self._forgotten_if_refused(batch):
                return replace(batch, upload=await endpoint.upload(batch.name, content))

        async def start(failures: int) -> Batch:
            # An attempt that failed may have started it nevertheless.
            if failures and (found := await self._find(batch)) is not None:
                return found
            with self._forgotten_if_refused(batch):
                return replace(batch, job=await endpoint.start(batch.name, batch.upload or "", content))

        for step in (upload, start):
            batch = self._shelf.write(await self._try(model, step))
        _LOG.info("%s: sent %s as the batch %s", model, count_of(len(content), "query", "queries"), batch.job)
        return batch

    @contextmanager
    def _forgotten_if_refused(self, batch: Batch) -> Iterator[None]:
        """Remove the file of a batch that the provider refuses, so that nothing is under way."""
        try:
            yield
        except RefusedError as error:
            self._shelf.remove(batch)
            raise RefusedError(f"{error} (llm.batch=false sends each request by itself)", error.status) from error

    async def _collect(self, batch: Batch, wanted: Set[str], n_failures: int, report: Report) -> dict[str, Reply]:
        """Wait until a batch is over, store all its replies, and return them by key.

        Raises:
            ModelUnavailableError: The provider does not answer, does not know the batch, or has refused it, or it was
                cancelled.
        """
        n_wanted, n_shown = len(wanted & {*batch.keys}), 0
        pause, answered = _FIRST_PAUSE_SECONDS, time.monotonic()
        while True:
            try:
                state = await self._batching.endpoints[batch.model].look(batch.job or "")
            except RefusedError as error:
                raise self._refused(batch, error) from error
            except TransientError as error:
                if time.monotonic() - answered > _OUTAGE_SECONDS:
                    raise ModelUnavailableError(
                        f"{batch.address} has not told the state of the batch {batch.job} for "
                        f"{_OUTAGE_SECONDS / 3600:g} hours: {error}"
                    ) from error
                self._complain(batch.model, error, pause)
            else:
                answered = time.monotonic()
                n = min(state.n_done, n_wanted)
                self._call(report, max(n - n_shown, 0))
                n_shown = max(n, n_shown)
                if state.is_over:
                    break
            await self._pause(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE_SECONDS)
        lines: dict[str, Line] = {}
        try:
            await self._try(batch.model, lambda _: self._read(batch, state, lines))
        except ModelUnavailableError:
            if not lines:
                raise
        if batch.is_guess and not lines:
            _LOG.info("%s: the batch %s is not the one that was sent", batch.model, batch.job)
            self._shelf.write(replace(batch, job=None, is_guess=False))
            return {}
        kept = self._store(batch, lines, n_failures)
        if state.error:
            raise ModelUnavailableError(
                f"{batch.address} refused the batch {batch.job}: {state.error}; correct that, or set llm.batch=false"
            )
        if state.is_cancelled:
            raise ModelUnavailableError(
                f"the batch {batch.job} was cancelled, and {count_of(len(kept), 'reply', 'replies')} of it stored; run "
                "the same command again to resume"
            )
        self._call(report, max(len(wanted & kept.keys()) - n_shown, 0))
        return kept

    def _refused(self, batch: Batch, error: RefusedError) -> ModelUnavailableError:
        if error.status != _UNKNOWN:
            return refused(batch.model, error)
        return ModelUnavailableError(
            f"{batch.address} does not know the batch {batch.job} ({error}); use the key of the project that sent it, "
            f"or delete {self._shelf.path(batch)} to send its queries again"
        )

    async def _read(self, batch: Batch, state: State, lines: dict[str, Line]) -> None:
        """Add what became of the queries of a batch that is over to ``lines``, by key.

        Raises:
            TransientError: Some of the replies that the provider has counted are missing.
            ModelUnavailableError: The provider no longer has them.
        """
        n_foreign, n = 0, len(batch.keys)
        try:
            async for name, index, line in self._batching.endpoints[batch.model].read(state, n):
                if name == batch.name and index < n:
                    lines.setdefault(batch.keys[index], line)
                else:
                    n_foreign += 1
        except RefusedError as error:
            raise self._refused(batch, error) from error
        if len(lines) + n_foreign < state.n_done or (n_foreign and not batch.is_guess):
            raise TransientError(
                f"{len(lines)} of {count_of(state.n_done, 'reply', 'replies')} of the batch {batch.job} can be read; "
                f"delete {self._shelf.path(batch)} to send its queries again"
            )

    def _store(self, batch: Batch, lines: Mapping[str, Line], n_failures: int) -> dict[str, Reply]:
        """Store the replies of a batch, remove its file, and return the replies by key.

        Raises:
            ModelUnavailableError: The account or the model was refused.
        """
        # A repeated run checks its caps with this price again, and must find the same.
        price = self._batching.find_price(batch.model, self._client.price(batch.model))
        found: dict[str, Reply] = {}
        refusal = None
        for key, line in lines.items():
            if isinstance(line, Reply):
                found[key] = replace(line, retries=n_failures, seconds=max(time.time() - batch.at, 0.0))
            elif isinstance(line, RefusedError):
                try:
                    found[key] = self._spend(batch.model, n_failures, line)
                except ModelUnavailableError as error:
                    refusal = error
            else:
                self._why = f" ({line})"
        new = [(bytes.fromhex(key), batch.model, Bought(reply, price)) for key, reply in found.items()]
        kept = self._cache.keep_by_key(new)
        self._shelf.remove(batch)
        if refusal is not None:
            raise refusal
        return dict(zip(found, (bought.reply for bought in kept), strict=True))
