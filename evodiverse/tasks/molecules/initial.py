"""The libraries of molecules that searches start from: drawing records, and parsing those that were drawn.

A record is the part of a file that describes one molecule: a line, a row of a table or an entry of an SDF.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded, input_sha256
from evodiverse.kit.tables import read_number
from evodiverse.tasks.molecules.parsing import Reader
from evodiverse.tasks.molecules.records import Record, Source, describe_fault
from evodiverse.text import count_of
from evodiverse.vocabulary import Rejection

MAX_SHOWN = 5
WHOLE: Final = 10_000
"""The maximum number of records in a file that is parsed completely before a run. From a longer file, only the drawn
records are parsed."""
MOST_READ: Final = 100_000
"""The maximum number of records that are drawn for one pool from a file of more than `WHOLE` records."""

_LOG = logging.getLogger("evodiverse.tasks.molecules")


class Molecule(NamedTuple):
    """A SMILES of a library, and the line where its record begins, counted from 1."""

    smiles: str
    line: int


@dataclass(frozen=True, slots=True)
class Library:
    """A library in memory.

    Attributes:
        smiles: The SMILES of its molecules.
        lines: The line of each molecule in a user's file. Empty for a published library, whose molecule ``i`` is on
            line ``i + 1``.
        notice: A message about records that were skipped, or an empty string.
        scores: The measured scores, by SMILES.
    """

    smiles: tuple[str, ...]
    lines: tuple[int, ...] = ()
    notice: str = ""
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def n_new(self) -> int:
        """The number of molecules without a measured score."""
        return len(self) - len(self.scores)

    @property
    def names_lines(self) -> bool:
        """Whether the molecules come from a user's file. If so, `MoleculeTask` logs their line numbers."""
        return bool(self.lines)

    def __len__(self) -> int:
        return len(self.smiles)

    def sample(self, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly; return all, in file order, if there are at most ``size``."""
        places = range(len(self)) if len(self) <= size else rng.choice(len(self), size=size, replace=False).tolist()
        return [Molecule(self.smiles[at], self.lines[at] if self.lines else at + 1) for at in places]

    def all_smiles(self) -> Sequence[str]:
        """Return the SMILES of all molecules."""
        return self.smiles

    def digest(self) -> str:
        """Return a digest of the SMILES."""
        return hashlib.sha256("\n".join(self.smiles).encode()).hexdigest()


@dataclass(slots=True)
class StreamedLibrary:
    """A library that is too large to load: record numbers are drawn, and only records with these numbers are parsed.

    Attributes:
        source: The file of records.
        n_records: The number of records in the file.
        n_new: The number of records without a measured score.
        reader: The parser of records.
        skip_invalid: Whether to draw another record in place of an invalid one, instead of refusing the file.
        scores: The measured scores of the molecules drawn so far, by SMILES.
    """

    source: Source
    n_records: int
    n_new: int
    reader: Reader
    skip_invalid: bool
    names_lines: bool = field(default=True, init=False)
    scores: dict[str, float] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return self.n_records

    def sample(self, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly, or fewer if the file does not have that many.

        Records are visited in random order until they have yielded ``size`` different molecules.

        Raises:
            InputError: The file cannot be read, `MOST_READ` records hold too few molecules, or a record is invalid and
                ``skip_invalid`` is not set.
        """
        order, most = shuffled(self.n_records, rng), min(self.n_records, MOST_READ)
        found, read = _Found(self.source, self.reader), 0
        while len(found.line_of) < size and read < most:
            missing = size - len(found.line_of)
            places = list(islice(order, min(max(missing + missing // 5, read), most - read)))
            found.add(self.source.fetch(places), size)
            read += len(places)
        found.check(skip_invalid=self.skip_invalid)
        if len(found.line_of) < size and read < self.n_records:
            raise InputError(
                f"task.initial.path: {read:,} records drawn from {self.source.path} hold {len(found.line_of):,} "
                f"molecules, expected {size:,}; check the file, or lower task.initial.size"
            )
        if found.notice:
            _LOG.warning("%s", found.notice)
        self.scores |= found.scores
        return [Molecule(*item) for item in found.line_of.items()]

    def all_smiles(self) -> Sequence[str]:
        """Return the SMILES of all molecules, or of `MOST_READ` records, drawn in the same way for all runs."""
        found = _Found(self.source, self.reader)
        found.add(self.source.fetch([*islice(shuffled(self.n_records, np.random.default_rng(0)), MOST_READ)]))
        return list(found.line_of)

    def digest(self) -> str:
        """Return a digest of the file and of the parser's settings."""
        return f"{input_sha256(self.source.path, self.source.key)} {self.source.column} {self.reader}"


AnyLibrary: TypeAlias = Library | StreamedLibrary
"""The molecules that searches can start from."""


def shuffled(n: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield the numbers below ``n`` in random order, all orders equally likely.

    This is a Fisher-Yates shuffle (Durstenfeld 1964) that stores only the numbers that have moved, so that memory grows
    with the number of draws, not with ``n``.
    """
    moved: dict[int, int] = {}
    for place in range(n):
        other = int(rng.integers(place, n))
        yield moved.get(other, other)
        moved[other] = moved.get(place, place)


def read_published(path: Path) -> Library:
    """Read a published library, such as ZINC-250K; its checksum was verified before, so its lines are not checked."""
    return Library(tuple(path.read_text(encoding="ascii").split()))


def open_library(
    path: str, column: str | None, reader: Reader, *, skip_invalid: bool, measured: str | None = None
) -> AnyLibrary:
    """Open a user's file in one of the formats of `Source`; a file of at most `WHOLE` records is checked in full.

    Args:
        path: The path of the user's file.
        column: If the file is a table, the column that holds SMILES, or None to look for it.
        reader: The parser of records.
        skip_invalid: Whether to skip invalid records instead of refusing the file.
        measured: The column of a table, or the property of an SDF, that holds measured scores; None for no scores.

    Returns:
        A `Library` in memory. For a file of more than `WHOLE` records, a `StreamedLibrary`; its records are only
        counted here, and are checked when they are drawn.

    Raises:
        InputError: The file cannot be read, contains no molecules, or has malformed records while ``skip_invalid`` is
            not set. The message names the first few of these records.
    """
    source = Source(expanded(path), column, measured=measured)
    return _open_library(source, source.stamp(), reader, skip_invalid)


@lru_cache(maxsize=2)
def _open_library(source: Source, stamp: object, reader: Reader, skip_invalid: bool) -> AnyLibrary:  # noqa: ARG001
    """Open a library; the result is cached until ``stamp``, which `Source.stamp` returns, shows that it has changed.

    The check before a run and the run itself thus read the file only once.
    """
    counts = Counter(bool(record.score) for record in source.records())
    if counts.total() > WHOLE:
        return StreamedLibrary(source, counts.total(), counts[False], reader, skip_invalid)
    found = _Found(source, reader)
    found.add(source.records())
    found.check(skip_invalid=skip_invalid)
    if source.measured is not None and not found.scores:
        raise InputError(f"task.initial.measured: no molecule of {source.path} has a value of {source.measured}")
    return Library(tuple(found.line_of), tuple(found.line_of.values()), found.notice, found.scores)


@dataclass(slots=True)
class _Found:
    """The molecules found in records of a file.

    Attributes:
        source: The file.
        reader: The parser of records.
        line_of: For each SMILES, the line of the first record that was added with this SMILES.
        faults: The line of each malformed record, and a message about it.
        n_read: The number of records that were added.
        scores: The measured score of each SMILES that has one: that of the first record with a score.
        n_second: The number of records whose molecule had another score before.
    """

    source: Source
    reader: Reader
    line_of: dict[str, int] = field(default_factory=dict)
    faults: list[tuple[int, str]] = field(default_factory=list)
    n_read: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    n_second: int = 0

    def add(self, records: Iterable[Record], most: int | None = None) -> None:
        """Parse records, until there are ``most`` different molecules; one that occurred before is ignored."""
        for record in records:
            if len(self.line_of) == most:
                break
            self.n_read += 1
            parsed = self.source.parse(record, self.reader)
            if isinstance(parsed, Rejection):
                self.faults.append((record.line, describe_fault(record, parsed)))
                continue
            self.line_of.setdefault(parsed.genotype, record.line)
            if record.score:
                score = self._read_score(record)
                self.n_second += self.scores.setdefault(parsed.genotype, score) != score

    def _read_score(self, record: Record) -> float:
        named = f"task.initial.measured: {self.source.path} line {record.line}: {self.source.measured}"
        try:
            score = read_number(record.score, "," if "," in record.score else ".")
        except ValueError as error:
            raise InputError(f"{named} {error}") from error
        if not 0 <= score <= 1:
            raise InputError(f"{named} must be from 0 to 1, got {record.score}; scale it, or leave it empty")
        return score

    @property
    def notice(self) -> str:
        """The message about malformed records that were skipped, and about second scores, or an empty string."""
        notices = []
        if self.faults:
            counted = f"{len(self.faults):,} of {count_of(self.n_read, 'record')}"
            notices.append(f"skipped {counted}, which cannot be used; the first fault: {min(self.faults)[1]}")
        if self.n_second:
            notices.append(f"{count_of(self.n_second, 'record')} with another score than before; the first counts")
        return f"{self.source.path}: {'; '.join(notices)}" if notices else ""

    def check(self, *, skip_invalid: bool) -> None:
        """Refuse a file without molecules, and a file with malformed records unless ``skip_invalid`` is set.

        Raises:
            InputError: The file is refused. The message names the first few malformed records.
        """
        path, messages = self.source.path, [message for _, message in sorted(self.faults)]
        if messages and not skip_invalid:
            shown = [f"{path} {message}" for message in messages[:MAX_SHOWN]]
            if len(messages) > MAX_SHOWN:
                shown.append(f"{path}: {count_of(len(messages) - MAX_SHOWN, 'more malformed record')}")
            raise InputError(*(f"{message}; fix it or set task.initial.skip_invalid=true" for message in shown))
        if not self.line_of:
            first = f"; {messages[0]}" if messages else ""
            raise InputError(f"task.initial.path: {path} contains no molecules{first}")
