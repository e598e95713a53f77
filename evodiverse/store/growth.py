"""Growing a run in its place: its folder gets a larger budget, and what was measured there is kept.

The old run is set aside in a hidden folder of the run directory while the new one takes over its log. `run.json` moves
last in each direction, so that a process that is killed meanwhile leaves a state from which the old run is restored.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evodiverse.runlog.record import LOCK, RECORD
from evodiverse.store.files import locked

_ASIDE: Final = ".shorter"
_DROPPED: Final = ".dropped"


@contextmanager
def set_aside(path: Path) -> Iterator[Path]:
    """Move the run in a run directory that this process has locked into a hidden folder, which is yielded.

    The body of the ``with`` statement begins the new run in the run directory. If it raises, the old run is restored.
    """
    aside = path / _ASIDE
    aside.mkdir()
    _move(path, aside)
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


def _move(path: Path, aside: Path) -> None:
    entries = sorted(_entries(path), key=lambda entry: entry.name == RECORD)
    for entry in entries:
        entry.rename(aside / entry.name)


def _entries(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.name not in (LOCK, _ASIDE, _DROPPED)]
