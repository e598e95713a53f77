"""Projections of the programs of final pools onto a plane, colored by pool and by score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from scipy import sparse

from evodiverse.results.domains import find_metrics
from evodiverse.results.figures.reading import first_of
from evodiverse.results.figures.style import PAGE, PALE, add_legend, look_of, new_figure, order_methods, pool_look
from evodiverse.results.tables.results import Result
from evodiverse.runlog.log import read_log

FloatArray = NDArray[np.float64]
Encode = Callable[[Sequence[str]], Any]
_MOST_PERPLEXITY: Final = 30.0
_LEAST_POINTS: Final = 3


@dataclass(frozen=True, slots=True)
class Members:
    """The members of the final pools of one run. A candidate in two pools occurs twice.

    Attributes:
        method: The method of the run.
        genotypes: ``(n,)`` genotypes.
        pools: ``(n,)`` indices of the pools, 0 for the coldest.
        scores: ``(n,)`` scores, higher is better.
        n_pools: The number of pools.
    """

    method: str
    genotypes: tuple[str, ...]
    pools: tuple[int, ...]
    scores: tuple[float, ...]
    n_pools: int


def read_members(results: Sequence[Result]) -> list[Members]:
    """Return, for each method, the final pools of its run with the lowest seed.

    The methods are sorted as in the legends of figures (see `order_methods`).

    Raises:
        InputError: A log is damaged.
    """
    chosen = {result.run.method: result for result in first_of(results, lambda result: result.run.method)}
    return [_read(chosen[method]) for method in order_methods([*chosen])]


def _read(result: Result) -> Members:
    log = read_log(result.run, {**find_metrics(result.run).columns, "genotype": str})
    genotypes = log.column("genotype")
    places = [(call, pool) for pool, calls in enumerate(log.states[-1]) for call in calls if call in log.scores]
    return Members(
        result.run.method,
        tuple(genotypes[call] for call, _ in places),
        tuple(pool for _, pool in places),
        tuple(log.scores[call] for call, _ in places),
        len(log.states[-1]),
    )


def project_pca(vectors: Any) -> FloatArray:
    """Return the ``(n, 2)`` coordinates of ``(n, d)`` vectors along their first two principal components.

    The sign of each column is chosen so that the coordinate with the largest absolute value in it is positive.
    """
    dense = _dense(vectors)
    centered = dense - dense.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    points = np.zeros((len(dense), 2))
    n = min(2, len(sizes))
    points[:, :n] = left[:, :n] * sizes[:n]
    largest = np.abs(points).argmax(axis=0)
    return points * np.where(points[largest, [0, 1]] < 0, -1.0, 1.0)


def project_tsne(vectors: Any) -> FloatArray:
    """Return the ``(n, 2)`` t-SNE embedding of ``(n, d)`` vectors.

    scikit-learn computes the embedding with seed 0, starting from the scaled result of `project_pca`. For up to
    `_LEAST_POINTS` vectors, return the result of `project_pca` itself.
    """
    from sklearn.manifold import TSNE  # takes a second

    start = project_pca(vectors)
    if len(start) <= _LEAST_POINTS:
        return start
    spread = float(np.std(start[:, 0])) or 1.0
    perplexity = min(_MOST_PERPLEXITY, (len(start) - 1) / 3)
    fit = TSNE(2, perplexity=perplexity, init=1e-4 * start / spread, random_state=0, n_jobs=1)
    return np.asarray(fit.fit_transform(_dense(vectors)), dtype=np.float64)


def _dense(vectors: Any) -> FloatArray:
    dense = vectors.toarray() if sparse.issparse(vectors) else np.asarray(vectors)
    return np.asarray(dense, dtype=np.float64)


def locate(members: Sequence[Members], encode: Encode, project: Callable[[Any], FloatArray]) -> list[FloatArray]:
    """Return the ``(n, 2)`` points of each run in a plane that all runs share; equal programs share a point.

    Args:
        members: The members of each run.
        encode: A function that is called with all distinct programs and returns their ``(n, d)`` vectors.
        project: A function that is called with these vectors and returns their ``(n, 2)`` points, such as
            `project_tsne`.
    """
    unique = sorted({genotype for each in members for genotype in each.genotypes})
    if not unique:
        return [np.zeros((0, 2)) for _ in members]
    place = {genotype: at for at, genotype in enumerate(unique)}
    points = project(encode(unique))
    return [points[[place[genotype] for genotype in each.genotypes]] for each in members]


def draw_grid(members: Sequence[Members], points: Sequence[FloatArray], axis: str, score_name: str) -> Figure:
    """Return a figure with a column per method and two rows: points colored by pool, and by score.

    Args:
        members: For each run, the candidates in its final pools, with their pools and scores.
        points: The ``(n, 2)`` points of each run.
        axis: The name of the axes, such as "PC".
        score_name: The name of the score that colors the lower row, with its unit.
    """
    figure = new_figure(min(PAGE, 1.9 + 1.6 * len(members)), 3.6)
    axes = figure.subplots(2, len(members), squeeze=False, sharex=True, sharey=True)
    scores = np.array([score for each in members for score in each.scores])
    low, high = np.quantile(scores, [0.25, 1.0]) if len(scores) else (0.0, 1.0)
    shown = None
    for column, (each, own) in enumerate(zip(members, points, strict=True)):
        for row in (0, 1):
            draw_others(axes[row, column], points)
        draw_pools(axes[0, column], each, own)
        shown = axes[1, column].scatter(
            *own.T, c=each.scores, cmap="cividis", vmin=low, vmax=high, s=11, edgecolors="white", linewidths=0.25
        )
        axes[0, column].set_title(look_of(each.method).label)
        axes[1, column].set_xlabel(f"{axis} 1")
    for row in axes[:, 0]:
        row.set_ylabel(f"{axis} 2")
    if shown is not None:
        figure.colorbar(shown, ax=axes[1, :].tolist(), label=score_name, pad=0.01, extend="min")
    add_legend(figure, pool_entries(max(each.n_pools for each in members)))
    return figure


def draw_others(axes: Axes, points: Sequence[FloatArray]) -> None:
    """Draw the ``(n, 2)`` points of all runs in a pale color, as the background for those of one run."""
    everything = np.concatenate(points)
    x, y = everything.T
    axes.scatter(x, y, s=5, color=PALE, linewidths=0, zorder=0)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_pools(axes: Axes, members: Members, points: FloatArray) -> None:
    """Draw the ``(n, 2)`` points of a run. Each of its pools has a color and a marker; the coldest pool is on top."""
    pools = np.array(members.pools, dtype=np.int64)
    for pool in range(members.n_pools - 1, -1, -1):
        color, marker = pool_look(pool)
        x, y = points[pools == pool].T
        axes.scatter(x, y, s=13, color=color, marker=marker, edgecolors="white", linewidths=0.25, alpha=0.85)


def pool_entries(n_pools: int) -> list[tuple[Line2D, str]]:
    """Return the entries of a legend for pools, each with its marker and text."""
    entries = []
    for pool in range(n_pools):
        color, marker = pool_look(pool)
        label = "pool 0 (coldest)" if pool == 0 else f"pool {pool}"
        entries.append((Line2D([], [], color=color, marker=marker, linestyle="", markersize=4), label))
    return entries
