"""Figure ``si_mol_chembl``: the path of a search through chemical space (paper, "Additional Results")."""

import hashlib
import io
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from rdkit import DataStructs

from evodiverse.data.cache import present_path
from evodiverse.errors import DataError, InputError, reason
from evodiverse.kit.files import write_file
from evodiverse.kit.inputs import expanded
from evodiverse.results.domains import find_metrics
from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import FloatArray, Group
from evodiverse.runlog.log import Log, read_log, union
from evodiverse.tasks.molecules.diversity import fingerprint, unpack
from evodiverse.tasks.molecules.parsing import Reader
from evodiverse.tasks.molecules.records import Source
from evodiverse.tasks.molecules.store import MAX_HEAVY_ATOMS, Bits, MoleculeStore, NoMoleculeError
from evodiverse.vocabulary import Rejection

_ZINC: Final = "zinc250k"
N_NEIGHBORS: Final = 15
_DISTANCE: Final = 0.1
_READER: Final = Reader(MAX_HEAVY_ATOMS, allow_fragments=True)


def find_missing() -> str | None:
    """Return a sentence about what must be installed for the figure; None if nothing is missing."""
    return None if find_spec("umap") else "needs umap-learn; run pip install 'evodiverse[projections]'"


def describe_path(group: Group) -> str:
    """Return the part of a caption about the molecules that are projected."""
    reference, n = group.context.reference, group.context.n_reference
    seeds = ", ".join(f"{style.name_of(run.task)} seed {run.run.seed}" for run in group.results)
    return (
        f"up to {n:,} molecules of {'ZINC-250K' if reference is None else Path(reference).name} (gray) and of all "
        "molecules that were in a pool. Points: centroid of the pools' molecules after each iteration; later ones are "
        f"brighter. One run of {reading.OURS} per target: {seeds}"
    )


def draw_path(group: Group) -> Figure:
    """Return a figure of the path of a search through chemical space, with one panel per run.

    Raises:
        InputError: A log is damaged, or the file of reference molecules (``--reference``) cannot be read.
        DataError: The cache cannot be written.
    """
    context, logs = group.context, [read_log(run.run, find_metrics(run.run).columns) for run in group.results]
    keys = sorted({log.keys[call] for log in logs for pools in log.states for call in union(pools)})
    try:
        with MoleculeStore(context.measurer.folder) as store:
            fingerprints = [store.fingerprint(key) for key in keys]
    except NoMoleculeError as error:
        raise InputError(f"a log is damaged ({error}); run it again with overwrite=true") from error
    reference = read_reference(context.reference, context.n_reference)
    plane = embed_once([*reference, *fingerprints], context.measurer.folder)
    ground, own = plane[: len(reference)], dict(zip(keys, plane[len(reference) :], strict=True))
    figure = style.new_figure(style.PAGE * (0.5 if len(logs) == 1 else 0.9), 3.0)
    panels = figure.subplots(1, len(logs), squeeze=False)[0]
    for axes, result, log in zip(panels, group.results, logs, strict=True):
        path = centroids(log, own)
        axes.scatter(*ground.T, s=1, color=style.PALE, linewidths=0, rasterized=True)
        axes.plot(*path.T, color="#7a1f1f", linewidth=0.5, alpha=0.6)
        shown = axes.scatter(*path.T, c=range(len(path)), cmap="inferno", s=14, edgecolors="black", linewidths=0.3)
        axes.set(title=style.name_of(result.task), xlabel="UMAP 1", ylabel="UMAP 2")
        style.use_no_ticks(axes)
        figure.colorbar(shown, ax=axes, label="iteration", pad=0.01, ticks=MaxNLocator(6, integer=True))
    return figure


def centroids(log: Log, places: dict[str, FloatArray]) -> FloatArray:
    """Return the ``(n_iterations + 1, 2)`` mean positions of the molecules in the pools after each iteration.

    Args:
        log: The log of a complete run.
        places: The ``(2,)`` position of each molecule in the plane, by key.
    """
    return np.array([np.mean([places[log.keys[call]] for call in union(pools)], axis=0) for pools in log.states])


def read_reference(file: Path | None, most: int) -> list[Bits]:
    """Return the fingerprints of a random sample of the reference molecules, the same sample in every call.

    Args:
        file: A file of molecules in one of the formats of `Source`; None for ZINC-250K. Records without a valid
            molecule are skipped.
        most: How many molecules to return at most.

    Raises:
        InputError: The file cannot be read, or holds no molecule.
    """
    path = present_path(_ZINC) if file is None else expanded(file)
    source = Source(path, key="--reference", column_key=None)
    records = list(source.records())
    read = _READER.read_entry if source.is_sdf else _READER.read
    order = np.random.default_rng(0).permutation(len(records))
    parsed = (read(records[place].text) for place in order.tolist())
    valid = (fingerprint(each.genotype) for each in parsed if not isinstance(each, Rejection))
    fingerprints = [*islice(valid, most)]
    if not fingerprints:
        raise InputError(f"--reference: {path} holds no molecules; check the file")
    return fingerprints


def embed_once(fingerprints: Sequence[Bits], folder: Path) -> FloatArray:
    """Return the result of `embed`, taken from the cache if possible, since it takes minutes to compute.

    Args:
        fingerprints: ``(n,)`` fingerprints of molecules.
        folder: The cache folder.

    Returns:
        ``(n, 2)`` positions.

    Raises:
        DataError: The cache cannot be written.
    """
    content = b"".join(DataStructs.BitVectToBinaryText(bits) for bits in fingerprints)
    state = f"{version('umap-learn')} {version('numba')} {N_NEIGHBORS} {_DISTANCE} ".encode()
    file = folder / "planes" / f"{hashlib.sha256(state + content).hexdigest()[:32]}.npy"
    try:
        known = np.load(file, allow_pickle=False)
        if known.shape == (len(fingerprints), 2) and known.dtype == np.float64:
            return np.asarray(known)
    except (OSError, ValueError, EOFError):
        pass  # the file is missing or damaged, and will be written below
    plane = embed(fingerprints)
    content_npy = io.BytesIO()
    np.save(content_npy, plane, allow_pickle=False)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, content_npy.getvalue())
    except OSError as error:
        raise DataError(
            f"{file} cannot be written ({reason(error)}); set EVODIVERSE_CACHE to a writable folder"
        ) from error
    return plane


def embed(fingerprints: Sequence[Bits]) -> FloatArray:
    """Return the ``(n, 2)`` UMAP coordinates of fingerprints; the same input always gives the same coordinates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parametric UMAP without TensorFlow, and about inverse transforms
        import umap  # imported here because it takes seconds and comes with an extra

        n_neighbors = min(N_NEIGHBORS, len(fingerprints) - 1)
        fit = umap.UMAP(n_neighbors=n_neighbors, min_dist=_DISTANCE, metric="jaccard", random_state=0, n_jobs=1)
        return np.asarray(fit.fit_transform(unpack(fingerprints).astype(bool)), dtype=np.float64)
