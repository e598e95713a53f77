"""The command ``evodiverse-data train-forest``, which trains a forest on a user's CSV file."""

import math
import os
import shlex
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem

from evodiverse.errors import InputError, reason
from evodiverse.kit.documented import nearest
from evodiverse.kit.files import refuse_odd_file
from evodiverse.kit.hints import quote_value, write_override
from evodiverse.kit.inputs import expanded
from evodiverse.kit.tables import Table, TextFile, find_decimal_mark, read_number
from evodiverse.tasks.molecules import training
from evodiverse.tasks.molecules.forest import Forest, RegressionForest, morgan_fingerprints
from evodiverse.tasks.molecules.initial import MAX_SHOWN
from evodiverse.tasks.molecules.parsing import MAX_HEAVY_ATOMS, parse_smiles
from evodiverse.text import count_of
from evodiverse.vocabulary import Rejection

_MAX_QUOTED = 60
_MAX_LABEL = 1e100  # squares of errors must not overflow


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
        remedy = f"name the column with {option}; {nearest(missing, table.names)[:200]}"
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


def train_forest(
    data: Path,
    output: Path,
    threshold: float | None,
    seed: int,
    *,
    regression: bool,
    smiles: str,
    label: str,
    skip_invalid: bool,
    force: bool,
) -> Iterator[str]:
    """Train a forest on a user's table, write it to ``output``, and yield messages about the progress.

    Args:
        data: A CSV file with a column of SMILES, one of labels and, optionally, the column Split.
        output: The ``.npz`` file to write.
        threshold: The smallest label of an active molecule, or None if labels are 0 or 1; None for a regression.
        seed: The seed, 0 to 2**32 - 1, of the forest and, without a column Split, of the held-out quarter or the folds.
        regression: Whether to predict the labels themselves instead of whether a molecule is active.
        smiles: The name of the column of SMILES.
        label: The name of the column of labels.
        skip_invalid: Whether to skip lines that hold no molecule.
        force: Whether to replace an existing ``output``.

    Raises:
        InputError: The table cannot be used, or the forest cannot be written.
    """
    _check_output(data, output, force=force)
    is_binary = threshold is None and not regression
    molecules = read_labeled(data, is_binary=is_binary, skip_invalid=skip_invalid, smiles_name=smiles, label_name=label)
    forest: Forest | RegressionForest
    if regression:
        forest = yield from _train_on_numbers(data, molecules, seed)
        use = _write_objective(output, molecules.labels)
    else:
        forest = yield from _train_on_classes(data, molecules, 1 if threshold is None else threshold, seed)
        use = write_override("task.oracle.path", str(output))
    try:
        forest.save_npz(expanded(output))
    except OSError as error:
        raise InputError(f"--output: cannot write {output} ({reason(error)}); choose another place") from error
    yield f"wrote {output}: {training.N_TREES} trees over Morgan bits (radius 2, 2048 bits, no chirality)"
    yield f"next: evodiverse task=jnk3 {use}"


def _train_on_classes(
    data: Path, molecules: LabeledMolecules, threshold: float, seed: int
) -> Generator[str, None, Forest]:
    """Train and assess a classifier; molecules with a label of at least ``threshold`` are active."""
    is_active = molecules.labels >= threshold
    yield f"{data}: {_describe(is_active)}{_describe_skipped(molecules)}"
    bits, twins = _fingerprint(molecules)
    is_test = molecules.is_test
    if is_test is None:
        is_test = training.hold_out(twins, is_active, np.random.default_rng(seed))
    _check_classes(data, molecules, is_active, is_test)
    if shared := _describe_twins(twins):
        yield shared
    sizes, n_active = np.bincount(twins), np.bincount(twins, weights=is_active)
    if n_contradictory := int(((n_active > 0) & (n_active < sizes)).sum()):
        yield f"contradictory labels: {count_of(n_contradictory, 'fingerprint')} with active and inactive molecules"
    yield from _describe_leaks(twins, is_test, "the ROC AUC")
    yield f"train: {_describe(is_active[~is_test])}"
    origin = f"a quarter, drawn with seed {seed}" if molecules.is_test is None else "by the column Split"
    yield f"test: {_describe(is_active[is_test])} ({origin})"
    forest = training.train(bits[~is_test], is_active[~is_test], seed)
    yield f"ROC AUC on the test part: {training.measure_auc(forest, bits[is_test], is_active[is_test]):.3f}"
    return forest


def _train_on_numbers(data: Path, molecules: LabeledMolecules, seed: int) -> Generator[str, None, RegressionForest]:
    """Assess a regression forest, by cross-validation unless there is a column Split, and train it."""
    labels, is_test = molecules.labels, molecules.is_test
    shown = f"labels from {labels.min():g} to {labels.max():g}"
    yield f"{data}: {count_of(len(labels), 'molecule')}, {shown}{_describe_skipped(molecules)}"
    bits, twins = _fingerprint(molecules)
    if shared := _describe_twins(twins):
        lowest, highest = np.full(len(labels), np.inf), np.full(len(labels), -np.inf)
        np.minimum.at(lowest, twins, labels)
        np.maximum.at(highest, twins, labels)
        yield f"{shared}; labels of one fingerprint differ by up to {np.max(highest - lowest):.3g}"
    if is_test is None:
        if (n_different := int(twins.max()) + 1) < training.N_FOLDS:
            raise InputError(
                f"{data}: cross-validation needs molecules with at least {training.N_FOLDS} different fingerprints, "
                f"got {n_different}; add molecules"
            )
        if np.ptp(labels) == 0:
            raise InputError(f"{data}: all labels are {labels[0]:g}; name another column with --label")
        yield f"cross-validation: {training.N_FOLDS} folds, drawn with seed {seed}"
        folds = training.draw_folds(twins, np.random.default_rng(seed))
        tested, forecast = labels, training.cross_validate(bits, labels, folds, seed)
        forest = training.train_regression(bits, labels, seed)
    else:
        if is_test.all():
            raise InputError(f"{data}: the train part has no molecules; change the column Split")
        if len(np.unique(labels[is_test])) < 2:
            raise InputError(
                f"{data}: the test part must have molecules with different labels; change the column Split"
            )
        yield from _describe_leaks(twins, is_test, "R²")
        yield f"train: {count_of(int((~is_test).sum()), 'molecule')}"
        yield f"test: {count_of(int(is_test.sum()), 'molecule')} (by the column Split)"
        forest = training.train_regression(bits[~is_test], labels[~is_test], seed)
        tested, forecast = labels[is_test], forest.predict(bits[is_test])
    yield f"on molecules not trained on: {training.measure_errors(tested, forecast.mean)}"
    agreed, other = training.split_by_spread(tested, forecast)
    yield f"RMSE where the trees agree most: {agreed:.3g}; in the other half of these molecules: {other:.3g}"
    return forest


def _fingerprint(molecules: LabeledMolecules) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the fingerprints, and the number of each; see `training.number_twins`."""
    bits = morgan_fingerprints(map(Chem.MolFromSmiles, molecules.smiles))
    return bits, training.number_twins(bits)


def _write_objective(output: Path, labels: NDArray[np.float64]) -> str:
    """Return overrides for a search with a regression forest, in which the largest label scores 1 and the least 0."""
    transform = f"{{kind: linear, low: {labels.min():.4g}, high: {labels.max():.4g}}}"
    component = f"{{kind: oracle, path: {quote_value(str(output))}, transform: {transform}}}"
    return f"task.oracle.published=null {shlex.quote(f'+task.objective.components.forest={component}')}"


def _check_output(data: Path, output: Path, *, force: bool) -> None:
    """Refuse an output path that cannot be written, before the forest is trained.

    Raises:
        InputError: The folder does not exist or is not writable, the path is a folder, a link, a device or the table
            itself, or the file exists and ``force`` is not set.
    """
    path = expanded(output)
    if path.is_dir():
        raise InputError(f"--output: {output} is a folder; name a file, such as {output / 'forest.npz'}")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"--output: the folder {path.parent} does not exist or is not writable; choose another one")
    refuse_odd_file(path)
    if path.exists() and expanded(data).exists() and path.samefile(expanded(data)):
        raise InputError(f"--output: {output} is the table itself; choose another name")
    if path.exists() and not force:
        raise InputError(f"--output: {output} exists; choose another name, or replace it with --force")


def _check_classes(
    data: Path, molecules: LabeledMolecules, is_active: NDArray[np.bool_], is_test: NDArray[np.bool_]
) -> None:
    """Check that the training set and the test set both have active and inactive molecules.

    Raises:
        InputError: A set has only one class, or none.
    """
    for name, part in (("train", is_active[~is_test]), ("test", is_active[is_test])):
        if not 0 < part.sum() < len(part):
            labels = f"labels are from {molecules.labels.min():g} to {molecules.labels.max():g}"
            remedy = "add such molecules" if molecules.is_test is None else "change the column Split"
            raise InputError(
                f"{data}: the {name} part has {_describe(part)}, but must have active and inactive ones ({labels}); "
                f"{remedy}, or choose another --threshold"
            )


def _describe_twins(twins: NDArray[np.int64]) -> str:
    """Return how many molecules a forest cannot tell apart; empty if there are none."""
    sizes = np.bincount(twins)
    what = "molecules share their fingerprint with another one: duplicates, stereoisomers or others"
    return f"{n_twins:,} {what}" if (n_twins := int(sizes[sizes > 1].sum())) else ""


def _describe_leaks(twins: NDArray[np.int64], is_test: NDArray[np.bool_], measure: str) -> Iterator[str]:
    """Yield a warning if a forest has seen fingerprints of the test part; ``measure`` is what this inflates."""
    n_test = np.bincount(twins, weights=is_test)
    if n_leaked := int(n_test[n_test < np.bincount(twins)].sum()):
        yield (
            f"warning: the test part has {count_of(n_leaked, 'molecule')} with a fingerprint that also occurs in the "
            f"train part; this inflates {measure}, so change the column Split"
        )


def _describe_skipped(molecules: LabeledMolecules) -> str:
    return f"; skipped {count_of(molecules.n_skipped, 'line')} without a molecule" if molecules.n_skipped else ""


def _describe(is_active: NDArray[np.bool_]) -> str:
    return f"{count_of(len(is_active), 'molecule')}, {is_active.sum():,} active"
