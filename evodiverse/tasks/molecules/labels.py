"""A user's table of labeled molecules, from which a forest is trained."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import InputError
from evodiverse.kit.documented import nearest
from evodiverse.kit.inputs import expanded
from evodiverse.kit.tables import Table, TextFile, find_decimal_mark, read_number
from evodiverse.tasks.molecules.initial import MAX_SHOWN
from evodiverse.tasks.molecules.parsing import MAX_HEAVY_ATOMS, parse_smiles
from evodiverse.text import count_of
from evodiverse.vocabulary import Rejection

_MAX_QUOTED = 60
_MAX_LABEL = 1e100  # squares of errors must not overflow
_MAX_LISTED = 200


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


def read_labeled(
    path: Path, *, is_binary: bool, skip_invalid: bool, smiles_name: str = "smiles", label_name: str = "label"
) -> LabeledMolecules:
    """Read and check a user's CSV file with a column of SMILES, one of labels and, optionally, the column Split.

    Args:
        path: The user's CSV file.
        is_binary: Whether every label must be 0 or 1; otherwise any finite number is allowed.
        skip_invalid: Whether to skip lines that hold no molecule instead of refusing the file. Lines with other faults
            are refused in any case.
        smiles_name: The name of the column of SMILES.
        label_name: The name of the column of labels.

    Raises:
        InputError: The file cannot be read, contains no molecules, lacks a required column, or has malformed lines.
            The message names the first few of these lines.
    """
    table = TextFile(expanded(path)).table()
    if not table.names:
        raise InputError(f"{path} is empty; its first line must name the columns, for example: smiles,label")
    smiles_at, label_at, split_at = _find_columns(path, table, smiles_name, label_name)
    rows = list(table.rows)
    mark = find_decimal_mark([cells[label_at] for _, cells in rows if label_at < len(cells)], table.delimiter)
    found, malformed, n_skipped = [], [], 0
    for number, cells in rows:
        try:
            if len(cells) != len(table.names):
                raise ValueError(  # noqa: TRY301
                    f"expected {len(table.names)} cells as in the header, got {len(cells)}; quote cells with delimiters"
                )
            part = "train" if split_at is None else cells[split_at].strip().lower()
            if part not in {"train", "test"}:
                told = f"Split must be train or test, got {part[:_MAX_QUOTED]!r}"
                raise ValueError(f"{told}; fix it or remove the column")  # noqa: TRY301
            label = _read_label(cells[label_at].strip(), mark, is_binary=is_binary)
        except ValueError as error:
            malformed.append(f"{path} line {number}: {error}")
            continue
        parsed = parse_smiles(cells[smiles_at], MAX_HEAVY_ATOMS, allow_fragments=True)
        if not isinstance(parsed, Rejection):
            found.append((parsed.genotype, label, part == "test"))
        elif skip_invalid:
            n_skipped += 1
        else:
            quoted = cells[smiles_at][:_MAX_QUOTED]
            malformed.append(
                f"{path} line {number}: {quoted!r} is not a molecule ({parsed}); fix it or use --skip-invalid"
            )
    if malformed:
        n_more = len(malformed) - MAX_SHOWN
        more = [f"{path} has {count_of(n_more, 'more malformed line')}"] if n_more > 0 else []
        raise InputError(*malformed[:MAX_SHOWN], *more)
    if not found:
        raise InputError(f"{path} contains no molecules; write one per line, below the names of the columns")
    smiles, labels, parts = zip(*found, strict=True)
    return LabeledMolecules(smiles, np.array(labels), None if split_at is None else np.array(parts), n_skipped)


def _find_columns(path: Path, table: Table, smiles_name: str, label_name: str) -> tuple[int, int, int | None]:
    """Return the positions of the columns of SMILES and of labels, and of the column ``split``, if there is one.

    Raises:
        InputError: The column of SMILES or of labels is missing, or one of the three columns is duplicated.
    """
    try:
        smiles, label, split = map(table.find_column, (smiles_name, label_name, "split"))
    except ValueError as error:
        raise InputError(f"{path} {error}") from error
    if smiles is not None and label is not None:
        return smiles, label, split
    missing, option = (smiles_name, "--smiles") if smiles is None else (label_name, "--label")
    if len(table.names) > 1:
        remedy = f"name the column with {option}; {nearest(missing, table.names)[:_MAX_LISTED]}"
    else:
        remedy = f"its header is {table.names[0][:_MAX_QUOTED]!r}; separate the names of the columns by commas"
    raise InputError(f"{path} has no column {missing}; {remedy}")


def _read_label(text: str, mark: str, *, is_binary: bool) -> float:
    try:
        label = read_number(text, mark)
    except ValueError as error:
        raise ValueError(f"label {error}; fix it or remove the line") from error
    if not abs(label) < _MAX_LABEL:
        kind = f"number below {_MAX_LABEL:g}" if math.isfinite(label) else "finite number"
        raise ValueError(f"label must be a {kind}, got {text[:_MAX_QUOTED]}; fix it or remove the line")
    if is_binary and label not in {0, 1}:
        raise ValueError(
            f"label must be 0 or 1, got {text[:_MAX_QUOTED]}; use --threshold to count high labels as active, or "
            "--regression to predict numbers"
        )
    return label
