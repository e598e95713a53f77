"""``run.json``: what a run is, and how it stands."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evodiverse.errors import InputError, ServiceError
from evodiverse.store.files import read_json
from evodiverse.store.run_directory import RECORD, RunDirectory, check_not_foreign

_LOG = logging.getLogger("evodiverse.store")
_NEEDED = ("status", "digest", "settings", "sources", "versions")


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the content of a run directory's ``run.json``, None if there is no run yet.

    Raises:
        InputError: The folder holds something else than a run, or its ``run.json`` is damaged.
    """
    try:
        record = read_json(path / RECORD)
        if record is None:
            check_not_foreign(path)
            if (path / "checkpoint" / "state.json").exists():
                raise InputError(f"{path} has lost its {RECORD}; use overwrite=true to start afresh")
    except NotADirectoryError as error:
        raise InputError(f"outputs: {error.filename} is no folder; choose another one with outputs=…") from error
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}); choose another folder with outputs=…") from error
    absent = [] if record is None else [key for key in _NEEDED if key not in record]
    if absent:
        raise InputError(f"{path / RECORD} is damaged (no {', '.join(absent)}); use overwrite=true to start afresh")
    return record


def check_same_run(path: Path, record: Mapping[str, Any], digest: str, settings: Mapping[str, Any]) -> None:
    """Refuse to continue a run that was started with other settings.

    Raises:
        InputError: The digests differ; names the keys.
    """
    if record["digest"] == digest:
        return
    old = record["settings"]
    differing = [key for key in sorted({*old, *settings}) if old.get(key) != settings.get(key)]
    then = ", ".join(f"{key}={old.get(key, 'absent')}" for key in differing)
    now = ", ".join(f"{key}={settings.get(key, 'absent')}" for key in differing)
    raise InputError(f"{path} was started with {then}, now it is {now}; use outputs=… or overwrite=true")


def new_record(
    digest: str,
    settings: Mapping[str, Any],
    sources: Mapping[str, str],
    versions: Mapping[str, str],
    commit: str | None,
) -> dict[str, Any]:
    """Return the record of a run that begins now."""
    return {
        "status": "running",
        "stopped_by": None,
        "error": None,
        "digest": digest,
        "settings": dict(settings),
        "sources": dict(sources),
        "versions": [dict(versions)],
        "git_commit": commit,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "wall_seconds": 0.0,
        "totals": {},
    }


def continue_record(
    path: Path, record: Mapping[str, Any], sources: Mapping[str, str], versions: Mapping[str, str]
) -> dict[str, Any]:
    """Return the record of a run that is resumed, with this session's versions added where they are new.

    Raises:
        InputError: The data files that the run began with were changed.
    """
    changed = [role for role, sha256 in record["sources"].items() if sources.get(role) != sha256]
    if changed:
        raise InputError(f"{path} began with another {' and another '.join(changed)}; use outputs=… or overwrite=true")
    known = record["versions"]
    if dict(versions) not in known:
        differing = [name for name in versions if known[-1].get(name) != versions[name]]
        then = ", ".join(f"{name} {known[-1].get(name)}" for name in differing)
        now = ", ".join(f"{name} {versions[name]}" for name in differing)
        _LOG.warning("%s was started with %s and goes on with %s; the log may differ", path, then, now)
        known = [*known, dict(versions)]
    return {**record, "versions": known, "status": "running", "stopped_by": None, "error": None}


@contextmanager
def kept(directory: RunDirectory, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Keep ``run.json`` true while a run goes on: running, and how it ended when it did.

    The body sets ``stopped_by``. What it raises is recorded and goes on.
    """
    directory.write_record(record)
    try:
        yield record
    except KeyboardInterrupt:
        record["status"] = "interrupted"
        raise
    except BaseException as error:
        record |= {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        raise
    else:
        record["status"] = "complete"
    finally:
        saved = directory.checkpoint() or {}
        totals = {"iterations": "iteration", "oracle_calls": "oracle_calls", "best_score": "best_score"}
        record["totals"] = {name: saved.get(key) for name, key in totals.items()}
        record["wall_seconds"] = saved.get("wall_seconds", 0.0)
        try:
            directory.write_record(record)
        except OSError as error:
            if record["status"] == "complete":
                raise ServiceError(f"cannot write {directory.path / RECORD} ({error.strerror})") from error
            _LOG.warning("cannot write %s (%s)", directory.path / RECORD, error.strerror)
