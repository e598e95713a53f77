"""The command ``evodiverse-data train-forest``, which trains a forest on a user's CSV file."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from scipy import sparse

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import refuse_odd_file
from evodiverse.kit.hints import write_override
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.molecules.forest import Forest, morgan_fingerprints
from evodiverse.tasks.molecules.labels import LabeledMolecules, read_labeled
from evodiverse.text import count_of

N_TREES: Final = 100
HELD_OUT_SHARE: Final = 0.25


def number_twins(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Number molecules so that those with equal fingerprints, such as stereoisomers, share a number.

    Args:
        bits: ``(n, 2048)`` fingerprints from `morgan_fingerprints`; n is at least 1.

    Returns:
        ``(n,)`` numbers from 0 without gaps; they do not depend on the order of the molecules.
    """
    _, numbers = np.unique(np.packbits(bits, axis=1), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64)


def hold_out(twins: NDArray[np.int64], is_active: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw a quarter of the active and a quarter of the inactive molecules for the test set.

    Molecules with equal fingerprints (twins) stay together, since a forest would recognize a molecule whose twin it was
    trained on. A group of twins with both labels counts as active if at least half of it is active.

    Args:
        twins: ``(n,)`` numbers from `number_twins`.
        is_active: ``(n,)`` bool labels.
        rng: The random generator, from which one permutation is drawn for each class.

    Returns:
        ``(n,)`` bool, True for the test set. This set has at least one group of each class that occurs, even if no
        group of the class is then left to train on.
    """
    sizes = np.bincount(twins)
    counts_as_active = 2 * np.bincount(twins, weights=is_active) >= sizes
    is_held_out = np.zeros(len(sizes), np.bool_)
    for group_class in (False, True):
        order = rng.permutation(np.flatnonzero(counts_as_active == group_class))
        n_before = np.cumsum(sizes[order]) - sizes[order]
        is_held_out[order[n_before < HELD_OUT_SHARE * sizes[order].sum()]] = True
    return is_held_out[twins]


def train(bits: NDArray[np.uint8], is_active: NDArray[np.bool_], seed: int) -> Forest:
    """Train a random forest of 100 trees with scikit-learn's default settings.

    Args:
        bits: ``(n, 2048)`` fingerprints from `morgan_fingerprints`.
        is_active: ``(n,)`` bool labels; both values must occur.
        seed: The seed, 0 to 2**32 - 1, of bootstrap samples and of the features tried at each split.
    """
    from sklearn.ensemble import RandomForestClassifier  # takes a second

    classifier = RandomForestClassifier(n_estimators=N_TREES, random_state=seed, n_jobs=-1)
    # From a dense matrix, scikit-learn builds the same trees in twice the time.
    classifier.fit(sparse.csr_matrix(bits, dtype=np.float32), is_active)
    return Forest.from_trees([estimator.tree_.__getstate__() for estimator in classifier.estimators_])


def measure_auc(forest: Forest, bits: NDArray[np.uint8], is_active: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve of a forest's scores, 0 to 1; chance gives 0.5.

    Args:
        forest: The forest to assess.
        bits: ``(n, 2048)`` fingerprints of molecules that the forest was not trained on.
        is_active: ``(n,)`` bool labels; both values must occur.
    """
    from sklearn.metrics import roc_auc_score  # takes a second

    return float(roc_auc_score(is_active, forest.predict(bits)))


def train_forest(
    data: Path, output: Path, threshold: float | None, seed: int, *, skip_invalid: bool, force: bool
) -> Iterator[str]:
    """Train a forest on a user's table, write it to ``output``, and yield messages about the progress.

    Args:
        data: A CSV file with the columns smiles, label and, optionally, Split.
        output: The ``.npz`` file to write.
        threshold: The smallest label of an active molecule, or None if labels are 0 or 1.
        seed: The seed, 0 to 2**32 - 1, of the forest and, without a column Split, of the held-out quarter.
        skip_invalid: Whether to skip lines that hold no molecule.
        force: Whether to replace an existing ``output``.

    Raises:
        InputError: The table cannot be used, or the forest cannot be written.
    """
    _check_output(data, output, force=force)
    molecules = read_labeled(data, is_binary=threshold is None, skip_invalid=skip_invalid)
    is_active = molecules.labels >= (1 if threshold is None else threshold)
    skipped = f"; skipped {count_of(molecules.n_skipped, 'line')} without a molecule" if molecules.n_skipped else ""
    yield f"{data}: {count_of(len(is_active), 'molecule')}, {is_active.sum():,} active{skipped}"
    bits = morgan_fingerprints(map(Chem.MolFromSmiles, molecules.smiles))
    twins = number_twins(bits)
    is_test = molecules.is_test
    if is_test is None:
        is_test = hold_out(twins, is_active, np.random.default_rng(seed))
    _check_classes(data, molecules, is_active, is_test)
    yield from _describe_twins(twins, is_active, is_test)
    yield f"train: {_describe(is_active[~is_test])}"
    origin = f"a quarter, drawn with seed {seed}" if molecules.is_test is None else "by the column Split"
    yield f"test: {_describe(is_active[is_test])} ({origin})"
    forest = train(bits[~is_test], is_active[~is_test], seed)
    yield f"ROC AUC on the test part: {measure_auc(forest, bits[is_test], is_active[is_test]):.3f}"
    try:
        forest.save_npz(expanded(output))
    except OSError as error:
        raise InputError(f"--output: cannot write {output} ({reason(error)}); choose another place") from error
    yield f"wrote {output}: {N_TREES} trees over Morgan bits (radius 2, 2048 bits, no chirality)"
    yield f"next: evodiverse task=jnk3 {write_override('task.oracle.path', str(output))}"


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
    if path.exists():
        if expanded(data).exists() and path.samefile(expanded(data)):
            raise InputError(f"--output: {output} is the table itself; choose another name")
        if not force:
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
