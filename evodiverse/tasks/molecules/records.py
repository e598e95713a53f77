"""Reading the records of a library of molecules: lines of SMILES, rows of a table or entries of an SDF."""

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from evodiverse.errors import InputError
from evodiverse.kit.tables import BLOCK_BYTES, MAX_LINE, Table, TextFile
from evodiverse.tasks.molecules.parsing import Reader
from evodiverse.vocabulary import Hypothesis, Rejection

COLUMNS: Final = ("smiles", "canonical_smiles")
"""The names that the column of SMILES in a table may have, in order of preference; see `Table.find_column`."""
_SUFFIXES: Final = ("", ".smi", ".smiles", ".txt", ".csv", ".tsv", ".sdf")
_END_OF_ENTRY: Final = "\n$$$$\n"
_MAX_LISTED: Final = 10
_MEASURED: Final = "task.initial.measured"


class Record(NamedTuple):
    """The text of one molecule, a SMILES or an entry of an SDF, and the line where it begins, counted from 1.

    ``score`` is the text of its measured score; empty if there is none.
    """

    line: int
    text: str
    score: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of molecules.

    Attributes:
        path: The file. Its suffix determines the format: ``.csv``, ``.tsv``, ``.sdf``, or, for lines of SMILES,
            ``.smi``, ``.smiles``, ``.txt`` or none. Each may be followed by ``.gz``.
        column: If the file is a table, the column that holds SMILES, or None to look for one of `COLUMNS`.
        key: The configuration key that names the file, for error messages.
        column_key: The configuration key that names the column, or None if there is no such key.
        measured: The column of a table, or the property of an SDF, that holds measured scores; None for no scores.
    """

    path: Path
    column: str | None = None
    key: str = "task.initial.path"
    column_key: str | None = "task.initial.column"
    measured: str | None = None

    @property
    def is_sdf(self) -> bool:
        """Whether the records are entries of an SDF instead of SMILES."""
        return self._suffix == ".sdf"

    def parse(self, record: Record, reader: Reader) -> Hypothesis | Rejection:
        """Return the molecule that a record holds, or why it is rejected."""
        return reader.read_entry(record.text) if self.is_sdf else reader.read(record.text)

    def records(self) -> Iterator[Record]:
        """Yield all records.

        Empty lines are skipped, except in an SDF, where they are part of the records. In a file of SMILES, lines of
        spaces and lines that start with ``#`` are skipped, too.

        Raises:
            InputError: The file cannot be read in the format of its suffix. The message names the fault, and its line,
                if it has one.
        """
        if self._suffix in (".csv", ".tsv"):
            return self._rows()
        measured = None if self.is_sdf else self.measured
        wanted = ((self.column_key, self.column, ".csv or .tsv"), (_MEASURED, measured, ".csv, .tsv or .sdf"))
        for key, name, formats in wanted:
            if name is not None:
                raise InputError(
                    f"{key}={name} names a column, but {self.path} is not a {formats}; use such a file, or set the key "
                    "to null"
                )
        return self._entries() if self.is_sdf else self._smiles()

    def fetch(self, places: Collection[int]) -> list[Record]:
        """Return the records at given indices, counted from 0, in the order of ``places``.

        Raises:
            InputError: The file cannot be read, or no longer has all of these records.
        """
        wanted, last = set(places), max(places, default=-1)
        found: dict[int, Record] = {}
        for place, record in enumerate(self.records()):
            if place in wanted:
                found[place] = record
            if place == last:
                break
        if len(found) < len(wanted):
            raise self._file.unreadable("it changed while it was being read; run the same command again")
        return [found[place] for place in places]

    @property
    def _file(self) -> TextFile:
        return TextFile(self.path, self.key)

    @property
    def _suffix(self) -> str:
        name = self.path.name.lower()
        suffix = Path(name.removesuffix(".gz")).suffix
        if suffix not in _SUFFIXES:
            known = ", ".join(filter(None, _SUFFIXES))
            raise InputError(
                f"{self.key}: {self.path} has an unknown format; use one of {known}, optionally followed by .gz"
            )
        return suffix

    def stamp(self) -> tuple[int, int, bytes]:
        """Return the size, the modification time in nanoseconds and the hash of the first megabyte of the file.

        Results about the file are cached, and are computed again when one of the three changes.
        """
        with self._file.reading() as file:
            status = os.fstat(file.fileno())
            return status.st_size, status.st_mtime_ns, hashlib.sha256(file.read(BLOCK_BYTES)).digest()

    def _smiles(self) -> Iterator[Record]:
        for first, text in self._file.texts():
            for number, line in enumerate(text.split("\n"), first):
                words = line.split(None, 1)
                if words and not words[0].startswith("#"):
                    yield Record(number, words[0])

    def _rows(self) -> Iterator[Record]:
        table = self._file.table()
        place = self._find_column(table, COLUMNS if self.column is None else (self.column,), self.key)
        score_at = self._find_column(table, () if self.measured is None else (self.measured,), _MEASURED)
        shown = ", ".join(table.names[:_MAX_LISTED]) + (", …" if len(table.names) > _MAX_LISTED else "")
        if not any(table.names):
            raise self._file.unreadable("its first line names no column")
        if place is None:
            missing = "no column of SMILES" if self.column is None else f"no column {self.column}"
            remedy = f"rename one of {shown} to smiles" if self.column_key is None else f"set it to one of {shown}"
            raise InputError(f"{self.column_key or self.key}: {self.path} has {missing}; {remedy}")
        if self.measured is not None and score_at is None:
            raise InputError(f"{_MEASURED}: {self.path} has no column {self.measured}; it has {shown}")
        for line, row in table.rows:
            score = row[score_at].strip() if score_at is not None and score_at < len(row) else ""
            yield Record(line, row[place].strip().strip('"') if place < len(row) else "", score)

    def _find_column(self, table: Table, names: Sequence[str], key: str) -> int | None:
        """Return the index of the first of these columns that a table has, or None; ``key`` is for error messages."""
        try:
            return next((place for name in names if (place := table.find_column(name)) is not None), None)
        except ValueError as error:
            raise InputError(f"{key}: {self.path} {error}") from error

    def _entries(self) -> Iterator[Record]:
        line, rest = 1, ""
        for _, text in self._file.texts():
            *entries, rest = (rest + text).split(_END_OF_ENTRY)
            for entry in entries:
                yield Record(line, entry, self._find_score(entry))
                line += entry.count("\n") + 2
            if len(rest) > MAX_LINE:
                raise self._file.unreadable(f"the entry at line {line} has more than {MAX_LINE:,} characters")
        if rest.removesuffix(_END_OF_ENTRY.rstrip()).strip():
            yield Record(line, rest, self._find_score(rest))

    def _find_score(self, entry: str) -> str:
        """Return the value of an SDF entry's property that holds its measured score, or an empty string."""
        if self.measured is None:
            return ""
        found = re.search(rf"^>.*<{re.escape(self.measured)}>.*\r?\n(.*)$", entry, re.MULTILINE)
        return found[1].strip() if found else ""


def describe_fault(record: Record, rejection: Rejection) -> str:
    """Return the line of a record that is no molecule, how it begins, and what is wrong with it."""
    shown = record.text.lstrip().partition("\n")[0][:60]
    return f"line {record.line}: {shown!r} is malformed ({rejection})"
