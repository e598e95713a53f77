"""Reading the records of a library of molecules: lines of SMILES, rows of a table or entries of an SDF.

A library may be compressed with gzip, and may be larger than memory, so it is read in blocks. Nothing here parses the
chemistry.
"""

import csv
import gzip
import hashlib
import os
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import DATA_BYTES, open_input

MAX_RECORD_BYTES: Final = 1_000_000
"""The maximum length of a line in bytes, and of an entry of an SDF in characters."""
COLUMNS: Final = ("smiles", "canonical_smiles")
"""The names that the column of SMILES in a table may have, in order of preference; case does not matter."""
_BLOCK_BYTES: Final = 1 << 20
_UNPACKED_BYTES: Final = 10 * DATA_BYTES
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LINES, _CSV, _TSV, _SDF = "lines", "csv", "tsv", "sdf"
_FORMATS: Final = {
    **dict.fromkeys(("", ".smi", ".smiles", ".txt"), _LINES),
    ".csv": _CSV,
    ".tsv": _TSV,
    ".sdf": _SDF,
}
_END_OF_ENTRY: Final = "\n$$$$\n"
_MAX_LISTED: Final = 10


class Record(NamedTuple):
    """The text of one molecule, a SMILES or an entry of an SDF, and the line where it begins, counted from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file of molecules.

    Attributes:
        path: The file. Its suffix determines the format: ``.csv``, ``.tsv``, ``.sdf``, or, for lines of SMILES,
            ``.smi``, ``.smiles``, ``.txt`` or none. Each may be followed by ``.gz``.
        column: If the file is a table, the column that holds SMILES, or None to look for one of `COLUMNS`.
        key: The configuration key that names the file, for error messages.
        column_key: The configuration key that names the column, or None if there is no such key.
    """

    path: Path
    column: str | None = None
    key: str = "task.initial.path"
    column_key: str | None = "task.initial.column"

    @property
    def is_sdf(self) -> bool:
        """Whether the records are entries of an SDF instead of SMILES."""
        return self._format == _SDF

    def count(self) -> int:
        """Return the number of records.

        The result is cached until the size, the modification time or the first megabyte of the file changes.

        Raises:
            InputError: The file cannot be read in the format of its suffix. The message names the fault, and its line,
                if it has one.
        """
        return _count(self, self.stamp())

    def records(self) -> Iterator[Record]:
        """Yield all records.

        Empty lines are skipped, except in an SDF, where they are part of the records. In a file of SMILES, lines of
        spaces and lines that start with ``#`` are skipped, too.

        Raises:
            InputError: The file cannot be read in the format of its suffix. The message names the fault, and its line,
                if it has one.
        """
        if self._format in (_CSV, _TSV):
            return self._rows()
        if self.column is not None:
            raise InputError(
                f"{self.column_key}={self.column} names a column, but {self.path} is not a .csv or .tsv; set it to null"
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
            raise self._unreadable("it changed while it was being read; run the same command again")
        return [found[place] for place in places]

    @property
    def _is_packed(self) -> bool:
        return self.path.name.lower().endswith(".gz")

    @property
    def _format(self) -> str:
        name = self.path.name.lower()
        suffix = Path(name.removesuffix(".gz")).suffix
        if suffix not in _FORMATS:
            known = ", ".join(filter(None, _FORMATS))
            raise InputError(
                f"{self.key}: {self.path} has an unknown format; use one of {known}, optionally followed by .gz"
            )
        return _FORMATS[suffix]

    def stamp(self) -> tuple[int, int, bytes]:
        """Return the size, the modification time in nanoseconds and the hash of the first megabyte of the file.

        Results about the file are cached, and are computed again when one of the three changes.
        """
        with self._reading(), open_input(self.path, DATA_BYTES) as file:
            status = os.fstat(file.fileno())
            return status.st_size, status.st_mtime_ns, hashlib.sha256(file.read(_BLOCK_BYTES)).digest()

    def _smiles(self) -> Iterator[Record]:
        for first, lines in self._lines():
            for number, line in enumerate(lines, first):
                words = line.split(None, 1)
                if words and not words[0].startswith("#"):
                    yield Record(number, words[0])

    def _rows(self) -> Iterator[Record]:
        lines = chain.from_iterable(lines for _, lines in self._lines())
        header = next(lines, "")
        table = chain([header], lines)
        if self._format == _TSV:  # rarely quoted, but names of molecules may contain quotation marks
            rows = csv.reader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        else:
            rows = csv.reader(table, delimiter=max(",;", key=header.count))
        try:
            place = self._find_column([name.strip().strip('"') for name in next(rows)])
            line = rows.line_num + 1
            for row in rows:
                if row:
                    yield Record(line, row[place].strip().strip('"') if place < len(row) else "")
                line = rows.line_num + 1
        except csv.Error as error:
            raise self._unreadable(f"line {rows.line_num} ({error}); check for an unclosed quotation mark") from error

    def _find_column(self, names: Sequence[str]) -> int:
        """Return the index of the column that holds SMILES."""
        if self.column is not None and self.column in names:
            return names.index(self.column)
        folded = [name.casefold() for name in names]
        for name in COLUMNS if self.column is None else (self.column.casefold(),):
            if name in folded:
                return folded.index(name)
        if not any(names):
            raise self._unreadable("its first line names no column")
        shown = ", ".join(names[:_MAX_LISTED]) + (", …" if len(names) > _MAX_LISTED else "")
        missing = "no column of SMILES" if self.column is None else f"no column {self.column}"
        if self.column_key is None:
            raise InputError(f"{self.key}: {self.path} has {missing}; rename one of {shown} to smiles")
        raise InputError(f"{self.column_key}: {self.path} has {missing}; set it to one of {shown}")

    def _entries(self) -> Iterator[Record]:
        line, rest = 1, ""
        for _, text in self._texts():
            *entries, rest = (rest + text).split(_END_OF_ENTRY)
            for entry in entries:
                yield Record(line, entry)
                line += entry.count("\n") + 2
            if len(rest) > MAX_RECORD_BYTES:
                raise self._unreadable(f"the entry at line {line} has more than {MAX_RECORD_BYTES:,} characters")
        if rest.removesuffix(_END_OF_ENTRY.rstrip()).strip():
            yield Record(line, rest)

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield blocks of lines without their line endings, each block with the number of its first line."""
        for first, text in self._texts():
            yield first, text.removesuffix("\n").split("\n")

    def _texts(self) -> Iterator[tuple[int, str]]:
        """Yield blocks of complete lines that end in line feeds, each block with the number of its first line."""
        line = 1
        for block in self._blocks():
            try:
                text = block.decode()
            except UnicodeDecodeError as error:
                number = line + block.count(b"\n", 0, error.start)
                raise self._unreadable(f"line {number} is not UTF-8; save it as text in UTF-8") from error
            if "\0" in text:
                number = line + text.count("\n", 0, text.index("\0"))
                raise self._unreadable(f"line {number} has a null byte, so it is not text; check the file")
            if "\r" in text:
                text = text.replace("\r\n", "\n").replace("\r", "\n")
            yield line, text
            line += text.count("\n")

    def _blocks(self) -> Iterator[bytes]:
        """Yield the decompressed content in blocks of complete lines, whatever line endings the file has."""
        rest, n_bytes = b"", 0
        with self._reading(), open_input(self.path, DATA_BYTES) as packed:
            file = cast("BinaryIO", gzip.GzipFile(fileobj=packed)) if self._is_packed else packed
            while chunk := file.read(_BLOCK_BYTES):
                content = rest + (chunk if n_bytes else chunk.removeprefix(_BYTE_ORDER_MARK))
                n_bytes += len(chunk)
                if n_bytes > _UNPACKED_BYTES:
                    raise OSError(f"it decompresses to more than {_UNPACKED_BYTES:,} bytes")
                # The last byte may be the first half of a line ending.
                end = max(content.rfind(b"\n"), content.rfind(b"\r", 0, len(content) - 1)) + 1
                rest = content[end:]
                if len(rest) > MAX_RECORD_BYTES:
                    raise OSError(f"it has a line of more than {MAX_RECORD_BYTES:,} bytes")
                if end:
                    yield content[:end]
        if rest:
            yield rest

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """While the file is read, turn exceptions into `InputError`."""
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self._unreadable(f"it is truncated or not a gzip file ({error}); copy it again") from error
        except OSError as error:
            raise self._unreadable(reason(error)) from error

    def _unreadable(self, why: str) -> InputError:
        return InputError(f"{self.key}: cannot read {self.path}: {why}")


@lru_cache(maxsize=4)
def _count(source: Source, stamp: tuple[int, int, bytes]) -> int:  # noqa: ARG001 (part of the cache key)
    return sum(1 for _ in source.records())
