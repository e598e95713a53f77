"""``run.json``, the record of a run: its identity, its status, and the versions of the software that it used."""

import hashlib
import logging
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from evodiverse import __version__
from evodiverse.errors import Asked, InputError, ServiceError, damaged, describe
from evodiverse.runlog.record import CHECKPOINT, RECORD, SCHEMA, check_record
from evodiverse.store.files import read_json
from evodiverse.store.run_directory import RunDirectory, check_not_foreign

_LOG = logging.getLogger("evodiverse.store")
BUDGET: Final = "budget.oracle_calls"
"""The key of the setting that may grow in a run that has ended."""

# The folders of the package whose code cannot change a log.
_IDLE: Final = ("commands", "data", "docking", "results")
_NEEDED = (("status",), ("digest",), ("settings",), ("sources",), ("versions",))


class Source(NamedTuple):
    """A file or another source that a run's results depend on.

    Attributes:
        sha256: The SHA-256 of the content; None if the source no longer exists.
        path: The path of a file of the user; None for any other source.
    """

    sha256: str | None
    path: Path | None

    @property
    def is_code(self) -> bool:
        """Whether the source is a Python file of the user."""
        return self.path is not None and self.path.suffix == ".py"


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything that identifies a run.

    Attributes:
        path: The run directory.
        digest: The digest of ``settings``.
        settings: The settings that can change the log, by dotted key.
        overrides: The settings that differ from the defaults of the chosen task, method and llm, by dotted key.
        sources: The data and code that the results depend on besides the settings, by role (such as ``prompts``).
        evaluator: The value of ``evaluator.name``, which is one of the settings only if scores are asked of a person.
    """

    path: Path
    digest: str
    settings: Mapping[str, Any]
    overrides: Mapping[str, Any]
    sources: Mapping[str, Source]
    evaluator: str


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the content of ``run.json`` in a run directory; None if no run has started there.

    Raises:
        InputError: The folder holds something that is not a run, or its ``run.json`` is damaged.
    """
    record = read_json(path / RECORD)
    if record is None:
        check_not_foreign(path)
        if (path / CHECKPOINT).exists():
            raise InputError(f"{path} has lost its {RECORD}; use overwrite=true to start over")
        return None
    check_record(path / RECORD, record, _NEEDED)
    return record


def is_shorter(this: Identity, record: Mapping[str, Any]) -> bool:
    """Return whether the settings in a record are those of ``this`` but for a smaller budget of oracle calls.

    A key that is missing counts as null.
    """
    settings, budget = record["settings"], record["settings"].get(BUDGET)
    keys = (settings.keys() | this.settings.keys()) - {BUDGET}
    is_same = all(settings.get(key) == this.settings.get(key) for key in keys)
    return is_same and budget is not None and budget < this.settings[BUDGET]


def check_same(this: Identity, record: Mapping[str, Any]) -> None:
    """Refuse to continue a run that was started with other settings, or whose data or code have changed since.

    Two differences of settings do not count: a key that is null on one side (now or in the record) and missing on the
    other; and a key below ``task.defaults``, which takes effect only through the keys that refer to it. Sources that
    are new do not count. A failed run may continue if files of the user's own code were edited, since that may be the
    only remedy.

    Args:
        this: The run as it would be now.
        record: The content of the ``run.json`` in its directory.

    Raises:
        InputError: Settings, data or code differ; the message names the keys, or the roles and files.
    """
    old, new = record["settings"], this.settings
    keys = [key for key in sorted({*old, *new}) if not key.startswith("task.defaults.")]
    differing = [key for key in keys if old.get(key) != new.get(key)] if record["digest"] != this.digest else []
    if differing:
        then = ", ".join(f"{key}={old.get(key, 'missing')}" for key in differing)
        known = {"evaluator.name": this.evaluator, **new}
        now = ", ".join(f"{key}={known.get(key, 'missing')}" for key in differing)
        raise InputError(
            f"{this.path} was started with {then}, now it is {now}; use name=…, outputs=… or overwrite=true"
        )
    if record["digest"] != this.digest and old == new:
        raise damaged(this.path / RECORD, "its digest does not match its settings")
    changed = _find_changed(record, this.sources)
    if record["status"] == "failed":
        changed = {role: source for role, source in changed.items() if not source.is_code}
    if changed:
        raise InputError(
            f"{this.path} was started with other data ({_name(changed)}); use name=…, outputs=… or overwrite=true"
        )


def _find_changed(record: Mapping[str, Any], sources: Mapping[str, Source]) -> dict[str, Source]:
    """Return the sources in the record that have changed or are gone, in their present state, by role."""
    now = {role: sources.get(role, Source(None, None)) for role in record["sources"]}
    return {role: now[role] for role, sha256 in record["sources"].items() if now[role].sha256 != sha256}


def _name(sources: Mapping[str, Source]) -> str:
    return ", ".join(role if source.path is None else f"{role}: {source.path}" for role, source in sources.items())


def new_record(this: Identity, versions: Mapping[str, str]) -> dict[str, Any]:
    """Return the record of a run that starts now; ``versions`` are those of the installed packages, by name."""
    return {
        "schema": SCHEMA,
        "status": "running",
        "stopped_by": None,
        "error": None,
        "digest": this.digest,
        "settings": dict(this.settings),
        "overrides": dict(this.overrides),
        "sources": {role: source.sha256 for role, source in this.sources.items()},
        "versions": [dict(versions)],
        "git_commit": git_commit(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": {},
        "totals": {},
        "llm": {},
    }


def continue_record(this: Identity, record: Mapping[str, Any], versions: Mapping[str, str]) -> dict[str, Any]:
    """Return the record of a resumed run, with the installed package versions added if no earlier entry has them.

    If the user's code has changed, the list ``corrected`` gains an entry: the SHA-256 of the former code, by role.

    Args:
        this: The run as it is now.
        record: The record that the earlier processes of the run left.
        versions: The versions of the packages that are installed now, by name.
    """
    record = dict(record)
    if changed := _find_changed(record, this.sources):
        _LOG.warning("%s continues with changed code (%s); earlier evaluations are kept", this.path, _name(changed))
        record["corrected"] = [*record.get("corrected", []), {role: record["sources"][role] for role in changed}]
        record["sources"] = {role: source.sha256 for role, source in this.sources.items()}
    known = record["versions"]
    is_known = any(versions.items() <= session.items() for session in known)
    if not is_known and (change := tell_change(known[-1:], versions)):
        _LOG.warning("%s was started with %s and continues with %s; the log may differ", this.path, *change)
        record["versions"] = [*known, dict(versions)]
    return record | {"schema": SCHEMA, "status": "running", "stopped_by": None, "error": None}


@contextmanager
def kept(directory: RunDirectory, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Write ``run.json`` when a run starts, and again when it ends, with how it ended.

    The body of the ``with`` statement sets ``stopped_by`` in the record that it receives. An exception that leaves the
    body is recorded and re-raised.
    """
    try:
        directory.write_record(record)  # within `try`: a reader of the status may send a signal right away
        yield record
    except (KeyboardInterrupt, GeneratorExit):  # the latter if a signal comes just before the body begins
        record["status"] = "interrupted"
        raise
    except Asked:
        record["status"] = "asking"
        raise
    except BaseException as error:
        record |= {"status": "failed", "error": describe(error)}
        raise
    else:
        record["status"] = "complete"
    finally:
        saved = directory.checkpoint() or {}
        totals = {"iterations": "iteration", "oracle_calls": "oracle_calls", "best_score": "best_score"}
        record["totals"] = {name: saved.get(key) for name, key in totals.items()}
        record |= {"llm": saved.get("ledger", {}), "seconds": saved.get("seconds", {})}
        try:
            directory.write_record(record)
        except ServiceError as error:
            if record["status"] == "complete":
                raise
            if record.get("error") != describe(error):
                _LOG.warning("%s", error)


def own_versions() -> dict[str, str]:
    """Return the version of EvoDiverse, and as ``code`` a digest of those of its files that can change a log."""
    return {"evodiverse": __version__, "code": _code_digest()}


def package_versions(packages: Sequence[str]) -> dict[str, str]:
    """Return `own_versions`, and the installed versions of Python and these packages, by name."""
    return own_versions() | {"python": platform.python_version()} | {package: version(package) for package in packages}


def tell_change(sessions: Iterable[Mapping[str, str]], versions: Mapping[str, str]) -> tuple[str, str] | None:
    """Return, as two texts, the versions of the first session that differ from ``versions``, and their present values.

    The result is None if no session differs. Further versions of a session do not count.
    """
    for session in sessions:
        if differing := [name for name in versions if session.get(name) != versions[name]]:
            then = ", ".join(f"{name} {session.get(name, 'unknown')}" for name in differing)
            return then, ", ".join(f"{name} {versions[name]}" for name in differing)
    return None


@cache
def _code_digest() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in _IDLE:
            digest.update(f"{place.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def git_commit() -> str | None:
    """Return the commit that EvoDiverse runs from, with ``-dirty`` if files have changed; None if it is unknown."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=40"]
    try:
        described = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):  # git is not installed, or it refuses to read the repository
        return None
    return described.stdout.strip()
