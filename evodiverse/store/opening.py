"""Opening a run: a complete run is left alone, an unfinished one is resumed, and otherwise a new one starts.

A run grows in its place if its folder gets a larger budget: the old run is set aside in a hidden folder of the run
directory while the new one takes over its log. `run.json` moves last in each direction, so that a process that is
killed meanwhile leaves a state from which the old run is restored.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import InputError
from evodiverse.kit.files import writing_to
from evodiverse.runlog.parts import check_parts
from evodiverse.runlog.record import CHECKPOINT, JOBS, LOCK, RECORD
from evodiverse.store import record as records
from evodiverse.store.files import Journal, check_unlocked, locked
from evodiverse.store.record import Identity
from evodiverse.store.run_directory import JOURNAL, RunDirectory, check_deletable, delete_run

_ASIDE: Final = ".shorter"
_DROPPED: Final = ".dropped"


def find_complete(this: Identity) -> str | None:
    """Return the message that says that the run is complete; None if it is not, or is to get a larger budget.

    Raises:
        InputError: The directory holds another run, a run with other data, or something that is not a run; or the run
            is complete, but parts of its log are damaged.
    """
    record, grows = _find_record(this)
    return None if grows else describe_complete(this.path, record)


def check_openable(this: Identity, *, overwrite: bool) -> bool:
    """Refuse what `open_run` would refuse, without writing anything; return whether the run has not begun yet.

    Raises:
        InputError: The directory cannot be used, or another process has locked it.
    """
    check_unlocked(this.path)
    if overwrite:
        check_deletable(this.path)
        return True
    _find_record(this)
    saved = RunDirectory(this.path, {}, is_read_only=True).checkpoint()
    check_parts(this.path, -1 if saved is None else saved["iteration"])
    return saved is None


@contextmanager
def open_run(
    this: Identity,
    columns: Mapping[str, type],
    libraries: Sequence[str],
    save: Callable[[Path], None],
    begin: Callable[[RunDirectory, Path | None], Mapping[str, Any]] = lambda *_: {},
    *,
    overwrite: bool,
) -> Iterator[RunDirectory | str]:
    """Lock the directory of a run while it is running, and write its record at the start and at the end.

    Args:
        this: The identity of the run.
        columns: The columns that the run adds to ``evaluations`` (types by name).
        libraries: The names of the packages whose versions are recorded.
        save: A function that writes the composed configuration into the folder it is given, ``.hydra`` of the run.
        begin: A function that is called with the directory of a new run, unless ``overwrite`` is true. It may fill the
            directory with results that are known already, such as those of the same run with a smaller budget, and
            returns the entries to add to the record. The second argument is the folder of the run with a smaller budget
            whose place the new one takes, if there is one.
        overwrite: Whether to delete the content of the directory and start over.

    Yields:
        The open run directory, or, if there is nothing left to do, the message that the run is complete.

    Raises:
        InputError: The directory holds another run, a run with other data, or something that is not a run; or another
            process has locked it. A new directory is removed if an `InputError` ends the run before anything is
            evaluated.
        ServiceError: The disk is full or no longer available.
    """
    missing = [folder for folder in (this.path, *this.path.parents) if not folder.exists()]
    with locked(this.path), _removed_if_refused(this.path, missing):
        record, grows = (None, False) if overwrite else _find_record(this)
        complete = None if grows else describe_complete(this.path, record)
        if complete is not None:
            yield complete
            return
        if overwrite:
            delete_run(this.path)
        versions = records.package_versions(libraries)
        old = None if grows else record
        with set_aside(this.path) if grows else nullcontext() as shorter:
            new = records.continue_record(this, old, versions) if old else records.new_record(this, versions)
            directory = RunDirectory(this.path, columns)
            with writing_to(this.path):
                save(this.path / ".hydra")
            if old is None and not overwrite:
                new |= begin(directory, shorter)
            if grows:
                directory.write_record(new)
        if grows:
            drop(this.path)
        with records.kept(directory, new):
            yield directory
            new |= directory.ending


@contextmanager
def _removed_if_refused(path: Path, missing: Sequence[Path]) -> Iterator[None]:
    """Remove a new run that is refused before anything is evaluated, so that it is not listed among the runs.

    Args:
        path: The run directory.
        missing: The run directory and the folders around it, innermost first, as far as they did not exist before.
    """
    is_new = not (path / RECORD).exists()
    try:
        yield
    except InputError:
        if is_new and not (
            (path / CHECKPOINT).exists() or any((path / JOBS).glob("*")) or Journal(path / JOURNAL).read()
        ):
            (path / RECORD).unlink(missing_ok=True)
            with suppress(OSError):  # another run has put files there
                for folder in missing:
                    shutil.rmtree(folder) if folder == path else folder.rmdir()
        raise


def _find_record(this: Identity) -> tuple[dict[str, Any] | None, bool]:
    """Return the record of the run in the directory, None if none has started there, and whether its budget grows."""
    record = records.read_record(this.path)
    grows = record is not None and records.is_shorter(this, record)
    if record is not None and not grows:
        records.check_same(this, record)
    return record, grows


def describe_complete(path: Path, record: Mapping[str, Any] | None) -> str | None:
    """Return the message that the run with this record is complete; None if it is not, or if ``record`` is None.

    Raises:
        InputError: The run is complete, but parts of its log are damaged; the message names them.
    """
    if record is None or record["status"] != "complete":
        return None
    check_parts(path)
    change = records.tell_change(record.get("versions", ()), records.own_versions())
    made = "" if change is None else f", and was made with {change[0]}, now it is {change[1]}"
    return f"{path} is complete (stopped by {record.get('stopped_by')}){made}; use overwrite=true to run it again"


@contextmanager
def set_aside(path: Path) -> Iterator[Path]:
    """Move the run in a run directory that this process has locked into a hidden folder, which is yielded.

    The body of the ``with`` statement begins the new run in the run directory. If it raises, the old run is restored.
    """
    aside = path / _ASIDE
    aside.mkdir()
    for entry in sorted(_entries(path), key=lambda entry: entry.name == RECORD):  # the record moves last
        entry.rename(aside / entry.name)
    try:
        yield aside
    except BaseException:
        restore(path)
        raise


def restore(path: Path) -> None:
    """Restore the run that was set aside in a locked run directory, or drop it if the new one has its record."""
    aside = path / _ASIDE
    if (aside / RECORD).exists() and (path / RECORD).exists():
        drop(path)
        return
    if (aside / RECORD).exists():  # the new run is only a copy so far
        for entry in _entries(path):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        (aside / RECORD).rename(path / RECORD)
    for entry in _entries(aside):
        entry.rename(path / entry.name)
    aside.rmdir()


def drop(path: Path) -> None:
    """Delete the run that was set aside, except what the new one lacks, such as docked molecules."""
    aside = path / _ASIDE
    for entry in _entries(aside):
        if not (path / entry.name).exists():
            entry.rename(path / entry.name)
    aside.rename(path / _DROPPED)
    shutil.rmtree(path / _DROPPED)


def finish(path: Path) -> None:
    """Finish or undo what a killed process left of the growth of a run; usually there is nothing to do.

    Raises:
        InputError: Another process has locked the run directory.
    """
    if (path / _ASIDE).exists():
        with locked(path):
            restore(path)
    shutil.rmtree(path / _DROPPED, ignore_errors=True)


def _entries(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.name not in (LOCK, _ASIDE, _DROPPED)]
