"""The run directory over its life cycle: start, commits of Parquet parts, end, resume, deletion."""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evodiverse.errors import InputError, damaged, reason
from evodiverse.kit.files import (
    TEMPORARY,
    encode_line,
    refuse_link,
    refuse_odd_files,
    sync_folder,
    write_file,
    writing_to,
)
from evodiverse.ports import Row
from evodiverse.runlog.datasets import CALLS, DATASETS, EVALUATIONS, FORECASTS, OWN_TYPES, read_parts
from evodiverse.runlog.earlier import KEPT
from evodiverse.runlog.parts import PARTS, Part, check_parts, describe_part
from evodiverse.runlog.record import ASKED, BEST, CHECKPOINT, CHOSEN, JOBS, LOCK, PRICES, RECORD, REPORT
from evodiverse.store.files import Journal, read_json, write_json

FOLDERS = ("checkpoint", BEST)
JOURNAL = "checkpoint/journal"
WRITE_SHARE = 0.01
"""The share of a run's time that writing may take."""

MAX_WAIT_SECONDS = 1.0
"""The time after a write from which the next commit is written in any case."""


def check_not_foreign(path: Path) -> None:
    """Refuse a folder that holds anything but hidden files and the files of a run, some of which may be missing.

    Raises:
        InputError: The folder contains other files.
    """
    own = {*DATASETS, *FOLDERS, RECORD, REPORT, JOBS, ASKED, PRICES, KEPT}
    if path.exists() and any(entry.name not in own and not entry.name.startswith(".") for entry in path.iterdir()):
        raise InputError(f"{path} holds other files and no run; choose another folder with outputs=…")


def check_deletable(path: Path) -> None:
    """Refuse to delete a folder that is not a run directory; a missing folder is accepted.

    Raises:
        InputError: The folder holds other files, or is a link.
    """
    refuse_link(path)
    if not (path / RECORD).is_file():
        check_not_foreign(path)


def delete_run(path: Path) -> None:
    """Empty a run directory that this process has locked. Links in it are not followed.

    Raises:
        InputError: The folder is not a run directory, or is itself a link.
    """
    check_deletable(path)
    doomed = path.with_name(f".{path.name}.deleted-{os.getpid()}")
    doomed.mkdir()
    for entry in path.iterdir():  # renamed first, so that an interrupted deletion leaves nothing that looks like a run
        if entry.name != LOCK:
            entry.rename(doomed / entry.name)
    shutil.rmtree(doomed)


class RunDirectory:
    """The log of one run on disk: datasets that consist of parts (Parquet files).

    A commit is written at once if the last write ended at least `MAX_WAIT_SECONDS` ago, or if that write took at most
    `WRITE_SHARE` of the time that has passed since its end. Otherwise the iteration is written later, into one part
    together with the next ones.

    A write adds one part to each dataset that has new rows; each part is a temporary file first, which is then renamed.
    Then the list of parts gets their sizes and digests, by which a resume and every reader of the complete run notice
    damage. At the end, the checkpoint is replaced; only then are the parts valid. Parts that are newer than the
    checkpoint are deleted when the run is resumed, and written again later with the same content. Evaluations that are
    not in a part yet are in ``journal``.

    Args:
        path: The run directory, which is created if it is missing.
        columns: The columns that the run adds to ``evaluations``.
        is_read_only: Whether to leave the directory unchanged, because it belongs to another run.

    Attributes:
        ending: The entries that the caller adds to ``run.json`` when the run has ended, such as ``stopped_by``.

    Raises:
        InputError: The directory is not writable, is damaged, or contains a link, which could lead anywhere.
    """

    def __init__(self, path: Path, columns: Mapping[str, type], *, is_read_only: bool = False) -> None:
        self.path = path
        self.columns = columns
        self.ending: Mapping[str, Any] = {}
        self.journal = Journal(path / JOURNAL)
        self._schemas = schemas(columns)
        refuse_odd_files(path)
        if is_read_only:
            return
        try:
            for name in [*self._schemas, *FOLDERS]:
                (path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot write to {path} ({reason(error)}); choose another folder with outputs=…"
            ) from error
        last = (self.checkpoint() or {"iteration": -1})["iteration"]
        self._unwritten: dict[str, list[Row]] = {}
        self._next: tuple[int, Mapping[str, object]] | None = None
        self._due = 0.0
        with writing_to(path):
            self._remove_parts_after(last)
            parts = check_parts(path, last)
            if parts is None:  # an older version started the run
                parts = [describe_part(part, part.read_bytes()) for name in self._schemas for part in self._parts(name)]
            listed = b"".join(encode_line(part._asdict()) for part in parts)
            self._n_listed_bytes = len(listed)
            write_file(path / PARTS, listed)

    def has_answers(self) -> bool:
        """Return whether anything has been evaluated so far."""
        return (self.path / CHECKPOINT).exists() or bool(self.journal.read())

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Replace ``run.json``.

        Raises:
            ServiceError: The disk is full or no longer available.
        """
        with writing_to(self.path):
            write_json(self.path / RECORD, record)

    def checkpoint(self) -> dict[str, Any] | None:
        """Return the last checkpoint that was written; None before the first.

        Raises:
            InputError: The checkpoint is damaged.
        """
        saved = read_json(self.path / CHECKPOINT)
        if saved is not None and saved.pop("checksum", None) != _checksum(saved):
            raise damaged(self.path / CHECKPOINT, "its checksum is wrong")
        return saved

    def commit(
        self,
        iteration: int,
        rows: Mapping[str, Sequence[Row]],
        checkpoint: Mapping[str, object],
        journalled: Sequence[Row] = (),
    ) -> None:
        """Commit one iteration.

        The commit of iteration 0 writes a part file for every dataset, even for one without rows.

        Args:
            iteration: The number of the iteration.
            rows: The rows of the iteration, by dataset.
            checkpoint: What is needed to resume after this iteration.
            journalled: The records to keep in the journal if this commit is written at once: those that are not part of
                any iteration yet.

        Raises:
            ServiceError: The disk is full or no longer available.
        """
        for name, added in rows.items():
            self._unwritten.setdefault(name, []).extend(added)
        self._next = iteration, checkpoint
        if iteration == 0 or time.monotonic() >= self._due:
            self.write(journalled)

    def write(self, journalled: Sequence[Row] | None = None, seconds: Mapping[str, float] | None = None) -> None:
        """Write the iterations that are committed but not written yet, then drop records from the journal.

        Args:
            journalled: The records of the journal to keep; None keeps all, as some may not be committed yet.
            seconds: The times of the run, which replace those of the last commit in the checkpoint; None keeps those.

        Raises:
            ServiceError: The disk is full or no longer available.
        """
        with writing_to(self.path):
            if self._next is not None:
                began, (iteration, checkpoint) = time.monotonic(), self._next
                written = [name for name in self._schemas if self._unwritten.get(name) or iteration == 0]
                parts = [self._write_part(name, iteration, self._unwritten.get(name, [])) for name in written]
                self._save(iteration, checkpoint, parts)
                self._unwritten, self._next = {}, None
                ended = time.monotonic()
                self._due = ended + min((ended - began) / WRITE_SHARE, MAX_WAIT_SECONDS)
            if seconds is not None and (saved := self.checkpoint()) is not None:
                self._write_checkpoint(saved | {"seconds": dict(seconds)})
            if journalled is not None:
                self.journal.replace(journalled)

    def _write_part(self, name: str, iteration: int, rows: Sequence[Row]) -> Part:
        path = self.path / name / f"part-{iteration:06d}.parquet"
        content = encode_part(rows, self._schemas[name])
        write_file(path, content)
        sync_folder(path.parent)
        return describe_part(path, content)

    def _save(self, iteration: int, checkpoint: Mapping[str, object], parts: Sequence[Part]) -> None:
        """Add new parts to the list, then replace the checkpoint, which makes them valid."""
        descriptor = os.open(self.path / PARTS, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        with open(descriptor, "wb") as file:
            file.seek(self._n_listed_bytes)
            file.truncate()  # what a failed commit left there
            file.write(b"".join(encode_line(part._asdict()) for part in parts))
            file.flush()
            os.fsync(descriptor)
            n_listed_bytes = file.tell()
        self._write_checkpoint({**checkpoint, "iteration": iteration})
        self._n_listed_bytes = n_listed_bytes

    def _write_checkpoint(self, saved: Mapping[str, object]) -> None:
        write_json(self.path / CHECKPOINT, {**saved, "checksum": _checksum(saved)})

    def write_best(self, files: Mapping[str, bytes | None], chosen: str | None = None) -> None:
        """Replace files in ``best/``.

        Args:
            files: The content of each file, by name; None deletes the file.
            chosen: The task's line about the candidate that it chooses, for ``chosen.txt``; None changes nothing.

        Raises:
            InputError: A folder has been replaced by a link.
            ServiceError: The disk is full or no longer available.
        """
        headline: dict[str, bytes] = {} if chosen is None else {CHOSEN: f"{chosen}\n".encode()}
        with writing_to(self.path):
            for name, content in {**files, **headline}.items():
                path = self.path / BEST / name
                refuse_link(path.parent)
                path.parent.mkdir(exist_ok=True)
                if content is None:
                    path.unlink(missing_ok=True)
                else:
                    write_file(path, content)

    def take_over(self, source: "RunDirectory", iteration: int, checkpoint: Mapping[str, object]) -> None:
        """Commit to this empty directory what another run logged up to an iteration.

        Args:
            source: The directory of the other run.
            iteration: The last iteration to take over.
            checkpoint: The content of the other run's checkpoint after that iteration.

        Raises:
            InputError: A part of the other run cannot be read; the message names it.
            ServiceError: The disk is full or no longer available.
        """
        parts = []
        try:
            for name, schema in self._schemas.items():
                for part, rows in zip(source._parts(name), source.batches(name, schema.names), strict=True):
                    kept = [row for row in rows if row["iteration"] <= iteration]
                    if kept or not _iteration_of(part):
                        with writing_to(self.path):
                            parts.append(self._write_part(name, min(_iteration_of(part), iteration), kept))
        except InputError:  # the caller may begin another way
            self._remove_parts_after(-1)
            raise
        with writing_to(self.path):
            self._save(iteration, checkpoint, parts)

    def rows(self, dataset: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return these columns of all written rows of a dataset, in the order in which the rows were committed.

        Raises:
            InputError: One of the dataset's Parquet files cannot be read; the message names it.
        """
        return [row for rows in self.batches(dataset, columns) for row in rows]

    def batches(self, dataset: str, columns: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows that `rows` returns, one list per part.

        Raises:
            InputError: A part cannot be read; the message names it.
        """
        for part in read_parts(dataset, columns, self.columns, self._parts(dataset)):
            yield [dict(zip(columns, row, strict=True)) for row in zip(*part.values(), strict=True)]

    def _parts(self, name: str) -> list[Path]:
        return sorted((self.path / name).glob(f"part-{'[0-9]' * 6}.parquet"))

    def _remove_parts_after(self, iteration: int) -> None:
        for name in self._schemas:
            newer = [part for part in self._parts(name) if _iteration_of(part) > iteration]
            for path in [*(self.path / name).glob(f".part-*{TEMPORARY}"), *newer]:
                path.unlink()


def _iteration_of(part: Path) -> int:
    return int(part.stem.removeprefix("part-"))


def _checksum(saved: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()[:16]


def schemas(columns: Mapping[str, type]) -> dict[str, pa.Schema]:
    """Return the schema of each dataset, by name; ``columns`` come after the fixed columns of ``evaluations``."""
    further = [pa.field(name, OWN_TYPES[kind]) for name, kind in columns.items()]
    return {**DATASETS, "evaluations": pa.schema([*EVALUATIONS, *further])}


def add_columns(domain_columns: Mapping[str, type], *, screens: bool) -> dict[str, type]:
    """Return the columns that a run adds to ``evaluations``: the type of each, by name.

    They are those of the domain and, if the run screens proposals, those of the surrogate's forecasts.

    Raises:
        InputError: A column of the domain has the name of an existing column, regardless of case.
    """
    own: dict[str, type] = dict.fromkeys(FORECASTS, float) if screens else {}
    taken = [name for name in domain_columns if name.lower() in {*EVALUATIONS.names, *own}]
    if taken:
        raise InputError(*(f"the task's own column {name} already exists in the log; rename it" for name in taken))
    return {**domain_columns, **own}


def encode_part(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    """Return one part of a dataset, that is, the content of one Parquet file.

    Small parts dominate the size of a run, so a part contains neither statistics nor a copy of the Arrow schema.
    """
    table = pa.Table.from_pylist(list(rows), schema=schema)
    integers = [field.name for field in schema if field.type == pa.int64()]
    integers += [f"{field.name}.list.element" for field in schema if field.type == CALLS]
    buffer = BytesIO()
    pq.write_table(
        table,
        buffer,
        compression="zstd",
        compression_level=9,
        use_dictionary=["outcome", "operator", "model"],
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
        write_statistics=False,
        write_page_checksum=True,
        store_schema=False,
    )
    return buffer.getvalue()
