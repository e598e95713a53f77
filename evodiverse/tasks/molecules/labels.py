"""A user's table of labeled molecules, from which a forest is trained."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import expanded, read_input
from evodiverse.kit.text import count_of
from evodiverse.tasks.molecules.initial import MAX_SHOWN
from evodiverse.tasks.molecules.parsing import parse_smiles
from evodiverse.tasks.molecules.store import MAX_HEAVY_ATOMS
from evodiverse.vocabulary import Rejection

MAX_BYTES: Final = 100_000_000
"""The maximum size of a table in bytes, enough for a million molecules or more."""

_MAX_QUOTED = 60


@dataclass(frozen=True, eq=False, slots=True)
class LabeledMolecules:
    """The molecules of a table, in the order of its lines, duplicates included.

    Attributes:
        smiles: ``n`` canonical isomeric SMILES.
        labels: ``(n,)`` finite labels. If the table was read with ``is_binary``, all are 0 or 1; otherwise the caller
            has yet to apply a threshold.
        is_test: ``(n,)`` bool; whether the column Split assigns a molecule to the test part. None without this column.
        n_skipped: The number of lines that were skipped because they hold no molecule.
    """

    smiles: tuple[str, ...]
    labels: NDArray[np.float64]
    is_test: NDArray[np.bool_] | None
    n_skipped: int = 0


class _Columns(NamedTuple):
    """The positions of the columns of a table, and the number of cells in each line."""

    smiles: int
    label: int
    split: int | None
    n_cells: int


def read_labeled(path: Path, *, is_binary: bool, skip_invalid: bool) -> LabeledMolecules:
    """Read and check a user's CSV file with the columns smiles, label and, optionally, Split.

    Args:
        path: The user's CSV file.
        is_binary: Whether every label must be 0 or 1; otherwise any finite number is allowed.
        skip_invalid: Whether to skip lines that hold no molecule instead of refusing the file. Lines with other faults
            are refused in any case.

    Raises:
        InputError: The file cannot be read, contains no molecules, lacks a required column, or has malformed lines.
            The message names the first few of these lines.
    """
    try:
        content = read_input(expanded(path), MAX_BYTES)
    except OSError as error:
        raise InputError(f"cannot read {path} ({reason(error)}); check the path") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} line {line}: not valid UTF-8; save the file as UTF-8 CSV") from error
    try:
        return parse_labeled(text, is_binary=is_binary, skip_invalid=skip_invalid)
    except InputError as error:
        raise InputError(*(f"{path} {violation}" for violation in error.violations)) from error


def parse_labeled(text: str, *, is_binary: bool, skip_invalid: bool) -> LabeledMolecules:
    """Return the molecules of a table, given its text; see `read_labeled`.

    Raises:
        InputError: The table is invalid. The caller must put the name of the file before each of the violations.
    """
    rows = _read_rows(text)
    first = next(rows, None)
    if first is None:
        raise InputError("is empty; its first line must name the columns, for example: smiles,label")
    columns = _find_columns(first[1])
    smiles, labels, parts, malformed, n_skipped = [], [], [], [], 0
    for number, cells in rows:
        try:
            label, is_test = _read_row(cells, columns, is_binary=is_binary)
        except ValueError as error:
            malformed.append(f"line {number}: {error}")
            continue
        parsed = parse_smiles(cells[columns.smiles], MAX_HEAVY_ATOMS, allow_fragments=True)
        if not isinstance(parsed, Rejection):
            smiles.append(parsed.genotype)
            labels.append(label)
            parts.append(is_test)
        elif skip_invalid:
            n_skipped += 1
        else:
            quoted = cells[columns.smiles][:_MAX_QUOTED]
            malformed.append(f"line {number}: {quoted!r} is not a molecule ({parsed}); fix it or use --skip-invalid")
    if malformed:
        n_more = len(malformed) - MAX_SHOWN
        more = [f"has {count_of(n_more, 'more malformed line')}"] if n_more > 0 else []
        raise InputError(*malformed[:MAX_SHOWN], *more)
    if not smiles:
        raise InputError("contains no molecules; write one per line, below the names of the columns")
    is_test_column = None if columns.split is None else np.array(parts, np.bool_)
    return LabeledMolecules(tuple(smiles), np.array(labels, np.float64), is_test_column, n_skipped)


def _read_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each record that is not blank.

    Raises:
        InputError: Quotation marks do not match, or a cell exceeds the limit of the csv module.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(f"line {number}: {error}; check the quotation marks from there on") from error
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield number, cells


def _find_columns(header: Sequence[str]) -> _Columns:
    """Return the positions of the columns ``smiles``, ``label`` and ``split``; the case of their names does not matter.

    Raises:
        InputError: The column ``smiles`` or ``label`` is missing, or one of the three columns is duplicated.
    """
    names = [cell.strip().lower() for cell in header]
    for name in ("smiles", "label", "split"):
        if names.count(name) > 1:
            raise InputError(f"has {names.count(name)} columns named {name}; keep one of them")
    for name in ("smiles", "label"):
        if name not in names:
            shown = ",".join(header)[:_MAX_QUOTED]
            remedy = f"rename a column to {name}" if len(names) > 1 else "separate the names of the columns by commas"
            raise InputError(f"has no column {name}; its header is {shown!r}; {remedy}")
    split = names.index("split") if "split" in names else None
    return _Columns(names.index("smiles"), names.index("label"), split, len(names))


def _read_row(cells: Sequence[str], columns: _Columns, *, is_binary: bool) -> tuple[float, bool]:
    """Return the label of a line and whether it belongs to the test part.

    Raises:
        ValueError: The number of cells, the label or the part is invalid.
    """
    if len(cells) != columns.n_cells:
        raise ValueError(
            f"expected {columns.n_cells} cells as in the header, got {len(cells)}; quote cells that contain a comma"
        )
    part = "train" if columns.split is None else cells[columns.split].strip().lower()
    if part not in {"train", "test"}:
        raise ValueError(f"Split must be train or test, got {part[:_MAX_QUOTED]!r}; fix it or remove the column")
    return _read_label(cells[columns.label].strip(), is_binary=is_binary), part == "test"


def _read_label(text: str, *, is_binary: bool) -> float:
    try:
        label = float(text) if "_" not in text else math.nan
    except ValueError:
        label = math.nan
    if not math.isfinite(label):
        raise ValueError(f"label must be a number, got {text[:_MAX_QUOTED]!r}; fix it or remove the line")
    if is_binary and label not in {0, 1}:
        raise ValueError(
            f"label must be 0 or 1, got {text[:_MAX_QUOTED]}; use --threshold to count high labels as active"
        )
    return label
