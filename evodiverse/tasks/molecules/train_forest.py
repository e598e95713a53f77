"""The command ``evodiverse-data train-forest``, which trains a forest on a user's CSV file."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import refuse_odd_file
from evodiverse.kit.hints import write_override
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.molecules.labels import LabeledMolecules, read_labeled
from evodiverse.tasks.molecules.training import (
    N_TREES,
    hold_out,
    measure_auc,
    number_twins,
    pack_fingerprints,
    train,
)
from evodiverse.text import count_of


@dataclass(frozen=True, slots=True)
class Order:
    """The arguments of the command ``evodiverse-data train-forest``.

    Attributes:
        data: A CSV file with the columns smiles, label and, optionally, Split.
        output: The ``.npz`` file to write.
        threshold: The smallest label of an active molecule, or None if labels are 0 or 1.
        seed: The seed, 0 to 2**32 - 1, of the forest and, without a column Split, of the held-out quarter.
        skip_invalid: Whether to skip lines that hold no molecule.
        force: Whether to replace an existing ``output``.
    """

    data: Path
    output: Path
    threshold: float | None
    seed: int
    skip_invalid: bool
    force: bool


def train_forest(order: Order) -> Iterator[str]:
    """Train a forest on a user's table, write it to ``order.output``, and yield messages about the progress.

    Raises:
        InputError: scikit-learn is not installed, the table cannot be used, or the forest cannot be written.
    """
    output = expanded(order.output)
    _check_output(order, output)
    molecules = read_labeled(order.data, is_binary=order.threshold is None, skip_invalid=order.skip_invalid)
    is_active = molecules.labels >= (1 if order.threshold is None else order.threshold)
    skipped = f"; skipped {count_of(molecules.n_skipped, 'line')} without a molecule" if molecules.n_skipped else ""
    yield f"{order.data}: {count_of(len(is_active), 'molecule')}, {is_active.sum():,} active{skipped}"
    packed = pack_fingerprints(molecules.smiles)
    twins = number_twins(packed)
    is_test = molecules.is_test
    if is_test is None:
        is_test = hold_out(twins, is_active, np.random.default_rng(order.seed))
    _check_classes(order, molecules, is_active, is_test)
    yield from _describe_twins(twins, is_active, is_test)
    yield f"train: {_describe(is_active[~is_test])}"
    origin = f"a quarter, drawn with seed {order.seed}" if molecules.is_test is None else "by the column Split"
    yield f"test: {_describe(is_active[is_test])} ({origin})"
    forest = train(packed[~is_test], is_active[~is_test], order.seed)
    yield f"ROC AUC on the test part: {measure_auc(forest, packed[is_test], is_active[is_test]):.3f}"
    try:
        forest.save_npz(output)
    except OSError as error:
        raise InputError(f"--output: cannot write {order.output} ({reason(error)}); choose another place") from error
    yield f"wrote {order.output}: {N_TREES} trees over Morgan bits (radius 2, 2048 bits, no chirality)"
    yield f"next: evodiverse task=jnk3 {write_override('task.oracle.path', str(order.output))}"


def _check_output(order: Order, output: Path) -> None:
    """Refuse an output path that cannot be written, before the forest is trained.

    Raises:
        InputError: The folder does not exist or is not writable, the path is a folder, a link, a device or the table
            itself, or the file exists and ``order.force`` is not set.
    """
    data = expanded(order.data)
    try:
        output.lstat()
        exists = True
    except (FileNotFoundError, NotADirectoryError):
        exists = False
    except (OSError, ValueError) as error:  # a name that is too long, a null byte
        raise InputError(f"--output: cannot write {str(order.output)!r} ({error}); choose another path") from error
    if output.is_dir():
        raise InputError(f"--output: {order.output} is a folder; name a file, such as {order.output / 'forest.npz'}")
    if not output.parent.is_dir():
        raise InputError(f"--output: the folder {output.parent} does not exist; create it or choose another one")
    refuse_odd_file(output)
    if exists and os.path.exists(data) and output.samefile(data):
        raise InputError(f"--output: {order.output} is the table itself; choose another name")
    if exists and not order.force:
        raise InputError(f"--output: {order.output} exists; choose another name, or replace it with --force")
    if not os.access(output.parent, os.W_OK):
        raise InputError(f"--output: the folder {output.parent} cannot be written; choose another one")


def _check_classes(
    order: Order, molecules: LabeledMolecules, is_active: NDArray[np.bool_], is_test: NDArray[np.bool_]
) -> None:
    """Check that the training set and the test set both have active and inactive molecules.

    Raises:
        InputError: A set has only one class, or none.
    """
    if is_active.all() or not is_active.any():
        state, other = ("active", "inactive") if is_active.all() else ("inactive", "active")
        low, high = molecules.labels.min(), molecules.labels.max()
        remedy = f"add {other} molecules" if order.threshold is None else "choose another --threshold"
        raise InputError(f"{order.data}: all molecules are {state}, with labels from {low:g} to {high:g}; {remedy}")
    for name, part in (("train", is_active[~is_test]), ("test", is_active[is_test])):
        if not 0 < part.sum() < len(part):
            remedy = "add such molecules" if molecules.is_test is None else "change the column Split"
            raise InputError(
                f"{order.data}: the {name} part has {_describe(part)}, but must have active and inactive ones; {remedy}"
            )


def _describe_twins(
    twins: NDArray[np.int64], is_active: NDArray[np.bool_], is_test: NDArray[np.bool_]
) -> Iterator[str]:
    """Yield messages and warnings about molecules that the forest cannot tell apart."""
    sizes = np.bincount(twins)
    n_active, n_test = np.bincount(twins, weights=is_active), np.bincount(twins, weights=is_test)
    n_twins = int(sizes[sizes > 1].sum())
    if n_twins:
        yield f"{n_twins:,} molecules share their fingerprint with another one: duplicates, stereoisomers or others"
    n_contradictory = int(((n_active > 0) & (n_active < sizes)).sum())
    if n_contradictory:
        yield f"contradictory labels: {count_of(n_contradictory, 'fingerprint')} with active and inactive molecules"
    n_leaked = int(n_test[n_test < sizes].sum())
    if n_leaked:
        yield (
            f"warning: the test part has {count_of(n_leaked, 'molecule')} with a fingerprint that also occurs in the "
            "train part; this inflates the ROC AUC, so change the column Split"
        )


def _describe(is_active: NDArray[np.bool_]) -> str:
    return f"{count_of(len(is_active), 'molecule')}, {is_active.sum():,} active"
