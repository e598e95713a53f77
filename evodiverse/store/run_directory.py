"""The life cycle of a run directory: begun, committed to, finished, resumed."""

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from evodiverse.errors import InputError, ServiceError
from evodiverse.ports import Row
from evodiverse.store.datasets import DATASETS, schemas, write_part
from evodiverse.store.files import read_json, replace_file, sync_folder, write_json

RECORD = "run.json"
FOLDERS = ("checkpoint", "best")


def check_not_foreign(path: Path) -> None:
    """Refuse a folder that holds something else than a run; one that a run has just begun to fill is fine.

    Raises:
        InputError: There are other files in it.
    """
    own = {*DATASETS, *FOLDERS, RECORD}
    if path.exists() and any(entry.name not in own and not entry.name.startswith(".") for entry in path.iterdir()):
        raise InputError(f"{path} holds no run but other files; choose another folder with outputs=…")


def delete_run(path: Path) -> None:
    """Delete a run directory, and nothing that is not one.

    Raises:
        InputError: The folder holds something else.
    """
    if not (path / RECORD).is_file():
        check_not_foreign(path)
    if path.exists():  # renamed first: a deletion that is cut short leaves nothing that looks like a run
        doomed = path.with_name(f".{path.name}.deleted-{os.getpid()}")
        path.rename(doomed)
        shutil.rmtree(doomed)


class RunDirectory:
    """The log of one run on disk (see `evodiverse.ports.Store`).

    A commit writes one part a dataset under a temporary name, renames them all, and then replaces the checkpoint,
    which makes the commit count. Parts of an iteration that has no checkpoint are removed on resume, and written
    again with the same content.

    Args:
        path: The directory; made if absent.
        columns: The domain's own columns of ``evaluations``.

    Raises:
        InputError: The directory cannot be written.
    """

    def __init__(self, path: Path, columns: Mapping[str, type]) -> None:
        self.path = path
        self._schemas = schemas(columns)
        try:
            for name in [*self._schemas, *FOLDERS]:
                (path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot write to {path} ({error.strerror}); choose another folder with outputs=…"
            ) from error
        checkpoint = self.checkpoint()
        self._remove_parts_after(-1 if checkpoint is None else int(checkpoint["iteration"]))

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Replace ``run.json``."""
        write_json(self.path / RECORD, record)

    def checkpoint(self) -> dict[str, Any] | None:
        """Return the last committed checkpoint, None before the first commit."""
        return read_json(self._checkpoint_file)

    def commit(self, iteration: int, rows: Mapping[str, Sequence[Row]], checkpoint: Mapping[str, object]) -> None:
        """Add the rows of one iteration and its checkpoint; iteration 0 gives every dataset a part, even empty.

        Raises:
            ServiceError: The disk is full or gone.
        """
        try:
            self._commit(iteration, rows, checkpoint)
        except OSError as error:
            raise ServiceError(
                f"cannot write to {self.path} ({error.strerror}); mend that and start the same command to resume"
            ) from error

    def _commit(self, iteration: int, rows: Mapping[str, Sequence[Row]], checkpoint: Mapping[str, object]) -> None:
        written = [name for name in self._schemas if rows.get(name) or iteration == 0]
        parts = {name: self.path / name / f"part-{iteration:06d}.parquet" for name in written}
        for name, part in parts.items():
            replace_file(part, partial(write_part, rows=rows.get(name, ()), schema=self._schemas[name]))
            sync_folder(part.parent)
        write_json(self._checkpoint_file, {**checkpoint, "iteration": iteration})

    def rows(self, dataset: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return all committed rows of a dataset in the order committed.

        Raises:
            InputError: A part cannot be read; names it.
        """
        found: list[dict[str, Any]] = []
        for part in sorted((self.path / dataset).glob("part-*.parquet")):
            try:
                found += pq.ParquetFile(part).read(columns=list(columns)).to_pylist()
            except (OSError, ValueError, KeyError) as error:
                raise InputError(f"{part} is damaged ({error}); use overwrite=true to start afresh") from error
        return found

    @property
    def _checkpoint_file(self) -> Path:
        return self.path / "checkpoint" / "state.json"

    def _remove_parts_after(self, iteration: int) -> None:
        for name in self._schemas:
            for temporary in (self.path / name).glob(".part-*.tmp"):
                temporary.unlink()
            for part in (self.path / name).glob(f"part-{'[0-9]' * 6}.parquet"):
                if int(part.stem.removeprefix("part-")) > iteration:
                    part.unlink()
