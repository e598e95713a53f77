"""The opening of a run: one that is complete is left alone, one that was begun goes on, any other begins."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evodiverse.store.lock import locked
from evodiverse.store.provenance import git_commit, package_versions
from evodiverse.store.record import (
    Source,
    check_same_data,
    check_same_run,
    continue_record,
    kept,
    new_record,
    read_record,
)
from evodiverse.store.run_directory import RunDirectory, delete_run, writing_to


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a run the run it is.

    Attributes:
        path: The run directory.
        digest: Of the settings.
        settings: The flat settings that can change the log.
        overrides: Those in which it differs from its task, method and llm alone.
        sources: What its results depend on beside them, by role.
    """

    path: Path
    digest: str
    settings: Mapping[str, Any]
    overrides: Mapping[str, Any]
    sources: Mapping[str, Source]


@dataclass(slots=True)
class OpenRun:
    """A run that is open: its directory, and, once it has ended, what stopped it and what else its record says."""

    directory: RunDirectory
    stopped_by: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def find_complete(this: Identity) -> str | None:
    """Return a line that says that the run is complete, None if it is not.

    Raises:
        InputError: The directory holds another run, or one with other data, or something else.
    """
    return describe_complete(this.path, _find_record(this))


@contextmanager
def open_run(
    this: Identity,
    columns: Mapping[str, type],
    libraries: Sequence[str],
    save: Callable[[Path], None],
    begin: Callable[[RunDirectory], Mapping[str, Any]] = lambda _: {},
    *,
    overwrite: bool,
) -> Iterator[OpenRun | str]:
    """Hold a run's directory while the run goes on, and keep its record true.

    Args:
        this: The run.
        columns: What the run adds to those of ``evaluations``.
        libraries: The packages whose versions are recorded.
        save: Writes what was composed into the folder it is given.
        begin: Is given the directory of a run that has done nothing, to fill it with what is known already, and returns
            what the record is to say of that.
        overwrite: Delete what stands there, and begin again.

    Yields:
        The open run, or a line that says that it is complete.

    Raises:
        InputError: The directory holds another run, or one with other data, or something else; or another process holds
            it.
        ServiceError: The disk is full or gone.
    """
    with locked(this.path):
        record = None if overwrite else _find_record(this)
        complete = describe_complete(this.path, record)
        if complete is not None:
            yield complete
            return
        if overwrite:
            delete_run(this.path)
        versions = package_versions(libraries)
        is_new = record is None
        if record is None:
            record = new_record(this.digest, this.settings, this.overrides, this.sources, versions, git_commit())
        else:
            record = continue_record(this.path, record, this.sources, versions)
        directory = RunDirectory(this.path, columns)
        with writing_to(this.path):
            save(this.path / ".hydra")
        if is_new and not overwrite:
            record |= begin(directory)
        with kept(directory, record):
            run = OpenRun(directory)
            yield run
            record |= {"stopped_by": run.stopped_by, **run.facts}


def _find_record(this: Identity) -> dict[str, Any] | None:
    """Return the record of the run that stands there, None if there is none to go on from."""
    record = read_record(this.path)
    if record is not None:
        check_same_run(this.path, record, this.digest, this.settings)
        check_same_data(this.path, record, this.sources)
    return record


def describe_complete(path: Path, record: Mapping[str, Any] | None) -> str | None:
    """Return a line that says that the run of a record is complete, None if it is not or there is none."""
    if record is None or record["status"] != "complete":
        return None
    return f"{path} is complete (stopped by {record.get('stopped_by')}); overwrite=true runs it afresh"
