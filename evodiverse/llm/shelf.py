"""The batches whose replies are not read yet: a file for each, in a folder beside the reply cache."""

import json
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import ServiceError
from evodiverse.kit import files
from evodiverse.llm.cache import ReplyCache
from evodiverse.llm.endpoints import ENDPOINTS, ID

_LOG = logging.getLogger("evodiverse.llm")
_MOST_BYTES: Final = 1 << 26
_KEY: Final = re.compile("[0-9a-f]{64}")


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
        is_guess: Whether ``job`` was found by no more than its size and time, so that it may be someone else's.
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
    is_guess: bool = False

    @classmethod
    def parse(cls, content: dict[str, Any]) -> "Batch":
        """Return the batch that a file describes, which a user may have edited.

        Raises:
            TypeError: A part is missing, unknown or of another type.
            ValueError: A part has an impossible value.
        """
        batch = cls(**content)
        ids = [one for one in (batch.upload or None, batch.job) if one is not None]
        is_possible = batch.api in ENDPOINTS and 0 <= batch.at < 1e11 and all(map(ID.fullmatch, ids))
        if not is_possible or not all(map(_KEY.fullmatch, batch.keys)):
            raise ValueError("it has an impossible api, at, upload or job, or a key that is no SHA-256")
        return batch


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
                found.append(Batch.parse(files.read_json(path, _MOST_BYTES)))
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
        with files.writing_to(self.folder):
            files.write_file(self.path(batch), json.dumps(asdict(batch), indent=1).encode())
            files.sync_folder(self.folder)
        return batch

    def remove(self, batch: Batch) -> None:
        """Remove the file of a batch."""
        with files.writing_to(self.folder):
            self.path(batch).unlink(missing_ok=True)

    def prune(self, cache: ReplyCache) -> list[Batch]:
        """Remove the files of batches whose replies were all stored before a process was killed; return the others."""
        batches = self.read()
        stored = [batch for batch in batches if cache.has_all([bytes.fromhex(key) for key in batch.keys])]
        for batch in stored:
            self.remove(batch)
        return [batch for batch in batches if batch not in stored]

    @asynccontextmanager
    async def locked(self, pause: Callable[[float], Awaitable[object]]) -> AsyncIterator[None]:
        """Wait until no other round, of this or another process, begins a batch.

        Args:
            pause: A function that waits for some seconds, and may raise to end the wait.
        """
        with files.writing_to(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        with os.fdopen(descriptor):
            try:
                while not files.lock(descriptor, waits=False):
                    await pause(0.1)
            except OSError as error:
                _LOG.warning("cannot lock %s (%s); let no other run use it", self.folder, error.strerror)
            yield
