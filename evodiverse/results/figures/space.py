"""Figure ``si_mol_chembl``: the path of a search through chemical space (paper, "Additional Results")."""

import hashlib
import io
import warnings
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from evodiverse.kit.files import write_cached
from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import FloatArray, Group, Log

_N_REFERENCE: Final = 50_000
_N_NEIGHBORS: Final = 15
_DISTANCE: Final = 0.1


def find_missing() -> str | None:
    """Return a sentence about what must be installed for the figure; None if nothing is missing."""
    return None if find_spec("umap") else "needs umap-learn; run pip install 'evodiverse[projections]'"


def describe_path(group: Group) -> dict[str, Any]:
    """Return the largest number of reference molecules, and the seed of each target."""
    seeds = ", ".join(f"{style.name_of(run.task)} seed {run.run.seed}" for run in group.results)
    return {"most": _N_REFERENCE, "seeds": seeds}


def draw_path(group: Group) -> Figure:
    """Return a figure of the path of a search through chemical space, with one panel per run.

    Raises:
        InputError: A log is damaged, or the file of reference molecules (``--reference``) cannot be read.
        DataError: The cache cannot be written.
    """
    context, logs = group.context, [reading.open_log(group, run)[1] for run in group.results]
    keys = sorted({log.keys[call] for log in logs for pools in log.states for call in chain(*pools)})
    metrics: Any = reading.find_metrics(group, group.best)
    reference = metrics.embed_reference(context.reference(), _N_REFERENCE)
    vectors = np.concatenate([reference, metrics.embed(keys, context.measurer.tools)]).astype(bool)
    plane = project_once(vectors, context.measurer.folder)
    ground, own = plane[: len(reference)], dict(zip(keys, plane[len(reference) :], strict=True))
    figure = style.new_figure(style.PAGE * (0.5 if len(logs) == 1 else 0.9), 3.0)
    panels = figure.subplots(1, len(logs), squeeze=False)[0]
    for axes, result, log in zip(panels, group.results, logs, strict=True):
        path = centroids(log, own)
        axes.scatter(*ground.T, s=1, color=style.PALE, linewidths=0, rasterized=True)
        axes.plot(*path.T, color="#7a1f1f", linewidth=0.5, alpha=0.6)
        shown = axes.scatter(*path.T, c=range(len(path)), cmap="inferno", s=14, edgecolors="black", linewidths=0.3)
        axes.set(title=style.name_of(result.task), xlabel="UMAP 1", ylabel="UMAP 2")
        axes.set(xticks=[], yticks=[])
        figure.colorbar(shown, ax=axes, label="iteration", pad=0.01, ticks=MaxNLocator(6, integer=True))
    return figure


def centroids(log: Log, places: dict[str, FloatArray]) -> FloatArray:
    """Return the ``(n_iterations + 1, 2)`` mean positions of the molecules in the pools after each iteration.

    Args:
        log: The log of a complete run.
        places: The ``(2,)`` position of each molecule in the plane, by key.
    """
    return np.array([np.mean([places[log.keys[call]] for call in {*chain(*pools)}], axis=0) for pools in log.states])


def project_once(vectors: NDArray[np.bool_], folder: Path) -> FloatArray:
    """Return the result of `project_umap`, taken from the cache if possible, since it takes minutes to compute.

    Args:
        vectors: ``(n, d)`` fingerprints of molecules.
        folder: The cache folder.

    Returns:
        ``(n, 2)`` positions.

    Raises:
        DataError: The cache cannot be written.
    """
    state = f"{version('umap-learn')} {version('numba')} {_N_NEIGHBORS} {_DISTANCE} ".encode()
    file = folder / "planes" / f"{hashlib.sha256(state + np.packbits(vectors, axis=1).tobytes()).hexdigest()[:32]}.npy"
    try:
        return np.asarray(np.load(file, allow_pickle=False), dtype=np.float64).reshape(len(vectors), 2)
    except (OSError, ValueError, EOFError):
        pass  # the file is missing or damaged, and will be written below
    plane = project_umap(vectors)
    content_npy = io.BytesIO()
    np.save(content_npy, plane, allow_pickle=False)
    write_cached(file, content_npy.getvalue())
    return plane


def project_umap(vectors: NDArray[np.bool_]) -> FloatArray:
    """Return the ``(n, 2)`` UMAP coordinates of ``(n, d)`` fingerprints; equal input gives equal coordinates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parametric UMAP without TensorFlow, and about inverse transforms
        import umap  # imported here because it takes seconds and comes with an extra

        n_neighbors = min(_N_NEIGHBORS, len(vectors) - 1)
        fit = umap.UMAP(n_neighbors=n_neighbors, min_dist=_DISTANCE, metric="jaccard", random_state=0, n_jobs=1)
        return np.asarray(fit.fit_transform(vectors), dtype=np.float64)
