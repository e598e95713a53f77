"""Sending the queries of a round as one batch for each model, which providers answer at half the price.

What was sent is written down before it is sent, in a folder beside the reply cache. So a run that was killed finds its
batches again, and so does another run that makes the same queries.
"""

import asyncio
import json
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from evodiverse.errors import ModelUnavailableError, ServiceError, reason
from evodiverse.kit import files
from evodiverse.llm.asking import Asking, Follow, Gate, refused
from evodiverse.llm.cache import Bought, ReplyCache, query_key
from evodiverse.llm.client import Client
from evodiverse.llm.endpoints import Endpoint, Line, Sent, State
from evodiverse.llm.failures import RefusedError, TransientError
from evodiverse.text import count_of
from evodiverse.vocabulary import Query, Reply

_LOG = logging.getLogger("evodiverse.llm")
_T = TypeVar("_T")
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_LOCK_SECONDS = 0.1
_MOST_BYTES: Final = 1 << 26
# The HTTP statuses of an endpoint that does not exist.
_ABSENT: Final = frozenset({404, 405, 501})
_LOCK: Final = ".lock"


@dataclass(frozen=True)
class Batch:
    """A batch whose replies are not read yet; a file of its own holds it.

    Attributes:
        name: The name of the batch, and of its file.
        address: The address of the provider's API.
        api: The kind of endpoint: ``openai`` or ``anthropic``.
        key_variable: The environment variable with the API key.
        model: The model that answers, by its name in queries.
        keys: The cache keys of its queries, in order, in hexadecimal digits.
        at: When it was sent, in seconds since 1970.
        upload: What `Endpoint.upload` returned, or None if nothing was uploaded yet.
        job: The provider's name of the batch, or None as long as its start is not confirmed.
    """

    name: str
    address: str
    api: str
    key_variable: str
    model: str
    keys: Sequence[str]
    at: float
    upload: str | None = None
    job: str | None = None


class Shelf:
    """The folder with the batches whose replies are not read yet, which all runs with the same reply cache share.

    Args:
        cache: The file of the reply cache.
    """

    def __init__(self, cache: Path) -> None:
        self.folder = cache.with_name(f"{cache.name}.batches")

    def path(self, batch: Batch) -> Path:
        """Return the file of a batch."""
        return self.folder / f"{batch.name}.json"

    def read(self) -> list[Batch]:
        """Return all batches, the oldest first.

        Raises:
            ServiceError: A file cannot be read or is damaged.
        """
        found = []
        for path in self.folder.glob("[0-9a-f]*.json"):
            try:
                found.append(Batch(**files.read_json(path, _MOST_BYTES)))
            except FileNotFoundError:  # another run has read its replies meanwhile
                continue
            except (OSError, TypeError, ValueError) as error:
                raise ServiceError(
                    f"{path} is damaged ({error}); it says which batch was paid for, so correct it, or delete it to "
                    "send the queries again"
                ) from error
        return sorted(found, key=lambda batch: (batch.at, batch.name))

    def write(self, batch: Batch) -> Batch:
        """Write the file of a batch so that it survives a power cut, and return the batch."""
        with self._writing():
            files.write_file(self.path(batch), json.dumps(asdict(batch), indent=1).encode())
            files.sync_folder(self.folder)
        return batch

    def remove(self, batch: Batch) -> None:
        """Remove the file of a batch."""
        self.path(batch).unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ServiceError(
                f"cannot write to {self.folder} ({reason(error)}); fix that, then run the same command again to resume"
            ) from error

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Wait until no other round, of this or another process, begins a batch."""
        with self._writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                while not files.lock(descriptor, waits=False):
                    await asyncio.sleep(_LOCK_SECONDS)
            except OSError as error:
                _LOG.warning("cannot lock %s (%s); let no other run use it", self.folder, error.strerror)
            yield
        finally:
            os.close(descriptor)


@dataclass(frozen=True)
class Batching:
    """How the queries of a run are sent in batches.

    Attributes:
        shelf: The batches whose replies are not read yet.
        endpoints: The endpoint of each model, by its name in queries.
        falls_back: Whether a query to which a batch brought no reply is sent by itself, at the full price; if not, it
            is sent in another batch.
    """

    shelf: Shelf
    endpoints: Mapping[str, Endpoint]
    falls_back: bool

    def make_asking(self, client: Client, cache: ReplyCache, gate: Gate, retries: int) -> Asking:
        """Return what sends the queries of one round; the arguments are those of `Asking`."""
        return BatchAsking(client, cache, gate, retries, self)

    async def close(self) -> None:
        """Close all connections."""
        for endpoint in self.endpoints.values():
            await endpoint.close()


class _StoppedError(Exception):
    """The round was stopped, so nothing more is sent."""


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

    async def run(
        self,
        queries: Sequence[Query],
        report: Callable[[int], object],
        follow: Follow | None = None,  # noqa: ARG002
    ) -> list[Reply]:
        """Send the queries and return one reply per query, in order; see `Asking.run`. ``follow`` is not called."""
        by_model: dict[str, list[Query]] = {}
        for query in queries:
            by_model.setdefault(query.model, []).append(query)
        for model, some in by_model.items():
            self._bought[model] = asyncio.create_task(self._buy(model, some, report))
        try:
            return await super().run(queries, report, None)
        finally:
            for buying in self._bought.values():
                buying.cancel()  # no effect on those that are done
            await asyncio.gather(*self._bought.values(), return_exceptions=True)

    async def _obtain(self, query: Query, report: Callable[[int], object], follow: Follow | None) -> Reply | None:
        try:
            bought = await asyncio.shield(self._bought[query.model])
        except _StoppedError:
            return None
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 (raised after all have ended)
            self._fail(error)
            return None
        return bought[query] if query in bought else await super()._obtain(query, report, follow)

    async def _buy(self, model: str, queries: Sequence[Query], report: Callable[[int], object]) -> dict[Query, Reply]:
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
            if not n_lost:
                break
            how = "one by one, at the full price" if self._batching.falls_back else "in another batch"
            _LOG.warning("%s: %s without a reply; asking again %s", model, count_of(n_lost, "query", "queries"), how)
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
        async with self._shelf.locked():
            found = zip(queries, self._cache.find(list(queries.values())), strict=True)
            stored = {key: bought.reply for key, bought in found if bought is not None}
            rest = {key: query for key, query in queries.items() if key not in stored}
            batches: list[Batch] = []
            for batch in self._shelf.read() if rest else ():
                is_ours = batch.address == endpoint.address and not rest.keys().isdisjoint(batch.keys)
                batches += await self._confirm(batch) if is_ours else []
            known = {key for batch in batches for key in batch.keys}
            rest = {key: query for key, query in rest.items() if key not in known}
            return stored, [*batches, await self._send(endpoint, rest)] if rest else batches

    async def _confirm(self, batch: Batch) -> list[Batch]:
        """Return a batch of an earlier process with the provider's name for it; nothing if it was never started."""
        if batch.job is not None:
            _LOG.info("%s: waiting for the batch %s, which was sent before", batch.model, batch.job)
            return [batch]
        job = None if batch.upload is None else await self._try(batch.model, lambda: self._find(batch))
        if job is None:
            self._shelf.remove(batch)
            return []
        _LOG.info("%s: found the batch %s, which was sent before", batch.model, job)
        return [self._shelf.write(replace(batch, job=job))]

    async def _find(self, batch: Batch) -> str | None:
        """Return the provider's name of a batch whose start was not confirmed, or None if it was not started.

        Raises:
            ModelUnavailableError: Only the user can find out.
        """
        sent = Sent(batch.name, len(batch.keys), batch.at, batch.upload or "")
        known = {other.job for other in self._shelf.read()}
        try:
            jobs = [job for job in await self._batching.endpoints[batch.model].find(sent) if job not in known]
        except RefusedError as error:
            if error.status not in _ABSENT:
                raise
            jobs, why = [], f"{batch.address} does not list its batches"
        else:
            why = f"{count_of(len(jobs), 'batch', 'batches')} may be that one"
            if len(jobs) <= 1:
                return jobs[0] if jobs else None
        raise ModelUnavailableError(
            f"a batch of {count_of(len(batch.keys), 'query', 'queries')} may have been sent although its start was not "
            f"confirmed, and {why}; look for it there (evodiverse-{batch.name}), then set job in "
            f"{self._shelf.path(batch)} to its id, or delete that file to send the queries again"
        )

    async def _send(self, endpoint: Endpoint, queries: Mapping[str, Query]) -> Batch:
        content = list(queries.values())
        model = content[0].model
        batch = self._shelf.write(
            Batch(
                secrets.token_hex(8),
                endpoint.address,
                endpoint.api,
                endpoint.key_variable,
                model,
                list(queries),
                time.time(),
            )
        )
        try:
            upload = await self._try(model, lambda: endpoint.upload(batch.name, content))
            batch = self._shelf.write(replace(batch, upload=upload))
            was_tried = False

            async def start() -> str:
                nonlocal was_tried
                # An attempt that failed may have started it nevertheless.
                found = await self._find(batch) if was_tried else None
                was_tried = True
                return found or await endpoint.start(batch.name, upload, content)

            job = await self._try(model, start)
        except ModelUnavailableError as error:
            if error.status is None:
                raise
            self._shelf.remove(batch)  # refused, so nothing is under way
            raise ModelUnavailableError(f"{error}; or set llm.batch=false", error.status) from error
        _LOG.info("%s: sent %s as the batch %s", model, count_of(len(content), "query", "queries"), job)
        return self._shelf.write(replace(batch, job=job))

    async def _collect(
        self, batch: Batch, wanted: Collection[str], n_failures: int, report: Callable[[int], object]
    ) -> dict[str, Reply]:
        """Wait until a batch is over, store all its replies, and return them by key."""
        endpoint, job = self._batching.endpoints[batch.model], batch.job or ""
        n_wanted, n_shown = len({*wanted}.intersection(batch.keys)), 0
        pause = _FIRST_PAUSE_SECONDS
        try:
            while not (state := await self._try(batch.model, lambda: endpoint.look(job))).is_over:
                n = min(state.n_done, n_wanted)
                self._call(report, max(n - n_shown, 0))
                n_shown = max(n, n_shown)
                await self._pause(pause)
                pause = min(1.5 * pause, _LONGEST_PAUSE_SECONDS)
            lines = await self._try(batch.model, lambda: self._read(batch, state))
        except ModelUnavailableError as error:
            if error.status != 404:
                raise
            _LOG.warning("%s: %s no longer has the batch %s", batch.model, batch.address, job)
            self._shelf.remove(batch)
            return {}
        kept, refusal = self._store(batch, lines, n_failures)
        self._shelf.remove(batch)
        if refusal is not None:
            raise refusal
        if state.error:
            raise ModelUnavailableError(
                f"{batch.address} refused the batch {job}: {state.error}; correct that, or set llm.batch=false"
            )
        if state.is_cancelled:
            raise ModelUnavailableError(
                f"the batch {job} was cancelled, and {count_of(len(kept), 'reply', 'replies')} of it stored; run the "
                "same command again to resume"
            )
        self._call(report, max(len({*wanted}.intersection(kept)) - n_shown, 0))
        return kept

    async def _read(self, batch: Batch, state: State) -> dict[str, Line]:
        """Return what became of the queries of a batch that is over, by key."""
        lines: dict[str, Line] = {}
        n = len(batch.keys)
        endpoint = self._batching.endpoints[batch.model]
        async for name, index, line in endpoint.read(batch.job or "", state, n):
            if name == batch.name and index < n:
                lines.setdefault(batch.keys[index], line)
        return lines

    def _store(
        self, batch: Batch, lines: Mapping[str, Line], n_failures: int
    ) -> tuple[dict[str, Reply], ModelUnavailableError | None]:
        """Store the replies of a batch; return them by key, and the error if the account or the model was refused."""
        price = self._batching.endpoints[batch.model].price
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
        kept = self._cache.keep_by_key(
            [(bytes.fromhex(key), batch.model, Bought(reply, price)) for key, reply in found.items()]
        )
        return dict(zip(found, (bought.reply for bought in kept), strict=True)), refusal

    async def _try(self, model: str, make: Callable[[], Awaitable[_T]]) -> _T:
        """Send a request until it succeeds.

        Raises:
            ModelUnavailableError: It was refused, or has failed too often.
            _StoppedError: The round was stopped.
        """
        failures = 0
        while True:
            try:
                return await make()
            except TransientError as error:
                failures += 1
                wait = self._wait(model, failures, error)
            except RefusedError as error:
                raise refused(model, error) from error
            await self._pause(wait)

    async def _pause(self, seconds: float) -> None:
        """Wait for some seconds.

        Raises:
            _StoppedError: The round was stopped.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)
            raise _StoppedError
