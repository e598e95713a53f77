"""The libraries of molecules that searches start from: drawing lines, and reading those that were drawn."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import numpy as np

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.molecules.parsing import Reader
from evodiverse.tasks.molecules.records import Record, Source
from evodiverse.vocabulary import Rejection

MAX_SHOWN = 5
WHOLE: Final = 10_000
"""A file of at most so many records is read before a run; of a longer one no more than what is drawn."""
MOST_READ: Final = 100_000
"""Of a longer file at most so many records are read for a pool."""

_LOG = logging.getLogger("evodiverse.tasks.molecules")


class Molecule(NamedTuple):
    """A SMILES of a library, and the line on which its record begins, counted from 1."""

    smiles: str
    line: int


class AnyLibrary(Protocol):
    """Molecules to start from."""

    @property
    def names_lines(self) -> bool:
        """Whether their lines are those of a user's file."""

    def __len__(self) -> int: ...

    def sample(self, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly; fewer, when there are no more."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library in memory.

    Attributes:
        smiles: Of its molecules.
        lines: Where they stand in a user's file; none where line 1 holds the first, and so on.
        notice: What a person is told of records that were passed over; empty for nothing.
    """

    smiles: tuple[str, ...]
    lines: tuple[int, ...] = ()
    notice: str = ""

    @property
    def names_lines(self) -> bool:
        """Whether its lines are those of a user's file."""
        return bool(self.lines)

    def __len__(self) -> int:
        return len(self.smiles)

    def sample(self, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly; all, in the file's order, when there are no more."""
        if len(self) <= size:
            return [self._molecule(index) for index in range(len(self))]
        return [self._molecule(index) for index in rng.choice(len(self), size=size, replace=False).tolist()]

    def _molecule(self, index: int) -> Molecule:
        return Molecule(self.smiles[index], self.lines[index] if self.lines else index + 1)


@dataclass(slots=True)
class StreamedLibrary:
    """A library that is too large to be read: records are drawn by their numbers, and only those drawn are read.

    Attributes:
        source: The file.
        n_records: How many records it has.
        reader: Reads those drawn.
        skip_invalid: Draw another record in place of one that is no molecule, instead of refusing the file.
    """

    source: Source
    n_records: int
    reader: Reader
    skip_invalid: bool
    names_lines: bool = field(default=True, init=False)
    _has_told: bool = field(default=False, init=False)

    def __len__(self) -> int:
        return self.n_records

    def sample(self, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly; fewer, when there are no more.

        Records come in a random order, and the first ``size`` that are molecules and differ are taken.

        Raises:
            InputError: The file cannot be read; `MOST_READ` records hold fewer; or one of them is no molecule and shall
                not be passed over.
        """
        order, most = shuffled(self.n_records, rng), min(self.n_records, MOST_READ)
        found, read = _Found(self.source, self.reader), 0
        while len(found.line_of) < size and read < most:
            lacking = size - len(found.line_of)
            places = list(islice(order, min(max(lacking + lacking // 5, read), most - read)))
            for record in self.source.fetch(places):
                if len(found.line_of) == size:
                    break
                found.add(record)
            read += len(places)
        found.check(skip_invalid=self.skip_invalid)
        if len(found.line_of) < size and read < self.n_records:
            raise InputError(
                f"task.initial.path: {self.source.path} has {len(found.line_of):,} molecules in {read:,} records "
                f"drawn, expected {size:,}; check the file, or start from fewer"
            )
        if found.n_malformed and not self._has_told:
            _LOG.warning("%s", found.notice)
            self._has_told = True
        return [Molecule(*item) for item in found.line_of.items()]


def shuffled(n: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield the numbers below ``n`` in a random order, each order being equally likely, in memory for those drawn.

    It is the shuffle of Fisher and Yates, of which only the numbers that have moved are kept (Durstenfeld 1964).
    """
    moved: dict[int, int] = {}
    for place in range(n):
        other = int(rng.integers(place, n))
        yield moved.get(other, other)
        moved[other] = moved.get(place, place)


def read_published(path: Path) -> Library:
    """Read a library whose checksum vouches for its lines."""
    return Library(tuple(path.read_text(encoding="ascii").split()))


def open_library(path: str, column: str | None, reader: Reader, *, skip_invalid: bool) -> AnyLibrary:
    """Open a user's file; see `Source` for its formats. One of at most `WHOLE` records is read and checked.

    Args:
        path: The file.
        column: Of a table, the column that holds SMILES; None looks for it.
        reader: Says what is a molecule.
        skip_invalid: Pass over records that are none instead of refusing the file.

    Raises:
        InputError: The file cannot be read or holds no molecule, or a record is malformed; names every such record.
    """
    source = Source(expanded(path), column)
    n_records = source.count()
    if n_records > WHOLE:
        return StreamedLibrary(source, n_records, reader, skip_invalid)
    found = _read_whole(source, source.stamp(), reader)
    found.check(skip_invalid=skip_invalid)
    return Library(tuple(found.line_of), tuple(found.line_of.values()), found.notice)


class _Found:
    """What records of a file hold: ``line_of`` has the first line of each molecule, by its SMILES."""

    def __init__(self, source: Source, reader: Reader) -> None:
        self.line_of: dict[str, int] = {}
        self.n_malformed = 0
        self._n_read = 0
        self._source = source
        self._read = reader.read_entry if source.is_sdf else reader.read
        self._first: list[tuple[int, str]] = []

    def add(self, record: Record) -> None:
        """Read a record; one that holds a molecule which another holds is passed over."""
        self._n_read += 1
        parsed = self._read(record.text)
        if not isinstance(parsed, Rejection):
            self.line_of.setdefault(parsed.genotype, record.line)
            return
        self.n_malformed += 1
        shown = record.text.lstrip().partition("\n")[0][:60]
        self._first.append((record.line, f"line {record.line}: {shown!r} is malformed ({parsed})"))
        self._first = sorted(self._first)[:MAX_SHOWN]

    @property
    def notice(self) -> str:
        """What a person is told of malformed records that were passed over."""
        if not self.n_malformed:
            return ""
        _, first = self._first[0]
        counted = f"{self.n_malformed:,} of {self._n_read:,} records"
        return f"{self._source.path}: passed over {counted}, which hold no molecule; the first is {first}"

    def check(self, *, skip_invalid: bool) -> None:
        """Refuse malformed records, unless they are passed over, and a file without molecules.

        Raises:
            InputError: There are; names the first of them.
        """
        path = self._source.path
        if self.n_malformed and not skip_invalid:
            shown = [f"{path} {message}" for _, message in self._first]
            if self.n_malformed > MAX_SHOWN:
                shown.append(f"{path}: {self.n_malformed - MAX_SHOWN} more malformed lines")
            raise InputError(*(f"{message}; correct it or set task.initial.skip_invalid=true" for message in shown))
        if not self.line_of:
            first = f"; {self._first[0][1]}" if self._first else ""
            raise InputError(f"task.initial.path: {path} holds no molecule{first}")


@lru_cache(maxsize=2)
def _read_whole(source: Source, stamp: object, reader: Reader) -> _Found:  # noqa: ARG001 (as `Source.count` says)
    """Return what a file holds; kept, for a file is checked before use."""
    found = _Found(source, reader)
    for record in source.records():
        found.add(record)
    return found
