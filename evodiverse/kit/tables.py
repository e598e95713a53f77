"""Reading the text files and tables that a user names, as spreadsheets and other programs write them.

Text is in UTF-8 or, with a byte order mark, in UTF-16, and may be compressed with gzip. A table has a header; its cells
are separated by commas, semicolons or tabs. Files may be larger than memory, so they are read in blocks.
"""

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, StringIO, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import open_input

MAX_LINE: Final = 1_000_000
"""The maximum length of a line, in characters."""
BLOCK_BYTES: Final = 1 << 20
_DELIMITERS: Final = ",;\t"


class Table(NamedTuple):
    """A table whose header is read.

    Attributes:
        names: The names in the header, without white space around them; empty if the file is blank.
        delimiter: What separates the cells: a comma, a semicolon or a tab.
        rows: The cells of each further row that is not blank, with the number of the row's first line.
    """

    names: list[str]
    delimiter: str
    rows: Iterator[tuple[int, list[str]]]

    def find_column(self, wanted: str) -> int | None:
        """Return the index of a column, or None if there is none; an exact name wins over one that differs in case.

        Raises:
            ValueError: Several columns have this name.
        """
        exact = [place for place, name in enumerate(self.names) if name == wanted]
        found = exact or [place for place, name in enumerate(self.names) if name.casefold() == wanted.casefold()]
        if len(found) > 1:
            several = " and ".join(self.names[place] for place in found)
            raise ValueError(f"has several columns named {wanted} ({several}); rename all but one")
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file that a user names. Its name ends in ``.gz`` if it is compressed.

    Attributes:
        path: The path of the file.
        key: The configuration key that names the file, for error messages; empty if there is none.
    """

    path: Path
    key: str = ""

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield blocks of complete lines that end in line feeds, each block with the number of its first line.

        Raises:
            InputError: The file cannot be read, or is not text. The message names the fault, and its line, if it has
                one.
        """
        line = 1
        with self.reading() as packed:
            is_packed = self.path.name.lower().endswith(".gz")
            file = gzip.GzipFile(fileobj=packed) if is_packed else packed
            lines = TextIOWrapper(cast("BinaryIO", file), find_encoding(file.peek(2)), "surrogateescape")
            while block := lines.read(BLOCK_BYTES) + lines.readline():
                self._check(block, line)
                yield line, block
                line += block.count("\n")

    def table(self) -> Table:
        """Return the table in the file; its first line that is not blank is the header, which shows the delimiter.

        In a ``.tsv``, cells are separated by tabs and not quoted.

        Raises:
            InputError: The file cannot be read, is not text, or has unmatched quotation marks. Faults below the header
                are only found when the rows are read.
        """
        lines = chain.from_iterable(StringIO(text) for _, text in self.texts())
        n_blank, header = 0, ""
        for header in lines:
            if header.strip(f"{_DELIMITERS} \n"):
                break
            n_blank += 1
        content = chain([header], lines)
        if self.path.name.lower().removesuffix(".gz").endswith(".tsv"):  # names of molecules may have quotation marks
            delimiter = "\t"
            reader = csv.reader(content, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        else:
            delimiter = find_delimiter(header)
            reader = csv.reader(content, delimiter=delimiter, strict=True)
        rows = self._rows(reader, n_blank)
        _, names = next(rows, (1, []))
        return Table([name.strip().strip('"') for name in names], delimiter, rows)

    def _rows(self, reader: Any, n_blank: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that are not blank, each with the number of its first line.

        Args:
            reader: The reader of the `csv` module.
            n_blank: The number of lines before those that the reader gets.
        """
        line = n_blank + 1
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield line, cells
                line = n_blank + reader.line_num + 1
        except csv.Error as error:
            raise self.unreadable(f"line {line} ({error}); check the quotation marks from there on") from error

    def unreadable(self, why: str) -> InputError:
        """Return the error that the file cannot be read, for the caller to raise."""
        return InputError(f"{f'{self.key}: ' if self.key else ''}cannot read {self.path}: {why}")

    @contextmanager
    def reading(self) -> Iterator[BufferedReader]:
        """Open the file, as it is stored; exceptions while it is read become `InputError`."""
        try:
            with open_input(self.path) as file:
                yield file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.unreadable(f"it is truncated or not a gzip file ({error}); copy it again") from error
        except UnicodeDecodeError as error:
            raise self.unreadable("it is not UTF-16; save it as text in UTF-8") from error
        except OSError as error:
            raise self.unreadable(f"{reason(error)}; check the path") from error

    def _check(self, text: str, line: int) -> None:
        """Refuse text with a null byte, or with a byte that is not UTF-8, which was decoded to a lone surrogate."""
        if "\0" in text:
            number = line + text.count("\n", 0, text.index("\0"))
            raise self.unreadable(f"line {number} has a null byte, so it is not text in UTF-8; check the file")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            number = line + text.count("\n", 0, error.start)
            raise self.unreadable(f"line {number} is not UTF-8; save it as text in UTF-8") from error


def find_encoding(head: bytes) -> str:
    """Return the encoding of text that begins with these bytes: UTF-8, unless there is a byte order mark of UTF-16."""
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def find_delimiter(header: str) -> str:
    """Return the delimiter of a table: the one of comma, semicolon and tab that its header has most often unquoted."""
    return max(_DELIMITERS, key=re.sub('"[^"]*"', "", header).count)


def find_decimal_mark(cells: Sequence[str], delimiter: str) -> str:
    """Return the decimal mark of a column of numbers: a comma if the cells have commas but no points, else a point.

    Where commas separate the cells, it is always a point, since a comma within a number may group its digits.
    """
    has_comma = delimiter != "," and any("," in cell for cell in cells)
    return "," if has_comma and not any("." in cell for cell in cells) else "."


def read_number(text: str, decimal_mark: str = ".") -> float:
    """Return the number that a cell holds, which may be NaN or infinite.

    Raises:
        ValueError: The cell does not hold a number.
    """
    try:
        if "_" not in text:  # which Python would skip
            return float(text.replace(decimal_mark, "."))
    except ValueError:
        pass
    hint = ", with a decimal point" if "," in text else ""
    raise ValueError(f"must be a number{hint}, got {text.strip()[:60]!r}")
