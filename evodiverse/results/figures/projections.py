"""Projections of the programs of final pools onto a plane by PCA or t-SNE, colored by method, by pool and by score."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import sparse

from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import FloatArray, Group, Result
from evodiverse.results.figures.style import Look
from evodiverse.results.grouping import group_by


def read_members(group: Group, results: Sequence[Result]) -> pd.DataFrame:
    """Return the members of the final pools of some runs of a group: for each method, its run with the lowest seed.

    The columns are ``method``, ``genotype``, ``pool`` (0 for the coldest) and ``score``. Candidates without a score are
    left out; one in two pools has two rows. The methods are sorted as in the legends of figures (see `order_methods`).

    Raises:
        InputError: A log is damaged.
    """
    rows = []
    chosen = {run.run.method: run for run in reading.first_of(results, lambda run: run.run.method)}
    for method in style.order_methods(chosen):
        _, log = reading.open_log(group, chosen[method])
        genotypes = log.column("genotype")
        for pool, calls in enumerate(log.states[-1]):
            rows += [(method, genotypes[call], pool, log.scores[call]) for call in calls if call in log.scores]
    return pd.DataFrame(rows, columns=["method", "genotype", "pool", "score"])


def project_pca(vectors: FloatArray) -> FloatArray:
    """Return the ``(n, 2)`` coordinates of ``(n, d)`` vectors along their first two principal components."""
    from sklearn.decomposition import PCA  # takes a second

    points = PCA(min(2, *vectors.shape), svd_solver="full").fit_transform(vectors)
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def project_tsne(vectors: FloatArray) -> FloatArray:
    """Return the ``(n, 2)`` t-SNE embedding of ``(n, d)`` vectors, with seed 0.

    For up to three vectors, return the result of `project_pca` instead.
    """
    from sklearn.manifold import TSNE  # takes a second

    if len(vectors) <= 3:
        return project_pca(vectors)
    fit = TSNE(2, perplexity=min(30.0, (len(vectors) - 1) / 3), init="pca", random_state=0, n_jobs=1)
    return np.asarray(fit.fit_transform(vectors), dtype=np.float64)


PROJECTIONS: Final = {"PC": project_pca, "t-SNE": project_tsne}
"""The projections, by the name of their axes."""


def locate(group: Group, members: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Return members with their places, the columns ``x`` and ``y``, in a plane; equal programs share a place.

    Args:
        group: The runs.
        members: The members, as `read_members` returns them.
        axis: The name of the projection of the programs' vectors in `PROJECTIONS`.
    """
    unique = sorted({*members["genotype"]})
    metrics: Any = reading.find_metrics(group, group.best)
    vectors = metrics.embed(unique, group.context.measurer.tools)
    dense = np.asarray(vectors.toarray() if sparse.issparse(vectors) else vectors, dtype=np.float64)
    places = pd.DataFrame(PROJECTIONS[axis](dense) if unique else np.zeros((0, 2)), unique, ["x", "y"])
    return members.join(places, on="genotype")


def seeds_of(group: Group) -> str:
    """Return a text with the lowest seed of each method: that of the run which a projection shows."""
    lowest = {method: min(run.run.seed for run in some) for method, some in reading.by_method(group.results).items()}
    return ", ".join(f"{method} {seed}" for method, seed in sorted(lowest.items()))


def draw_programs(group: Group, axis: str) -> Figure:
    """Return a figure with a column per method and two rows: programs colored by pool, and by score.

    Args:
        group: The runs.
        axis: The name of the projection in `PROJECTIONS`.
    """
    members = locate(group, read_members(group, group.results), axis)
    methods = members["method"].unique()
    figure = style.new_figure(min(style.PAGE, 1.9 + 1.6 * len(methods)), 3.6)
    axes = figure.subplots(2, len(methods), squeeze=False, sharex=True, sharey=True)
    low, high = members["score"].quantile([0.25, 1.0])
    for (top, bottom), method in zip(axes.T, methods, strict=True):
        own = members[members["method"] == method]
        for panel in (top, bottom):
            _draw_others(panel, members)
        _draw_pools(top, own)
        colors: dict[str, Any] = {"c": own["score"], "cmap": "cividis", "vmin": low, "vmax": high}
        shown = bottom.scatter(own["x"], own["y"], s=11, edgecolors="white", linewidths=0.25, **colors)
        top.set_title(style.look_of(method).label)
        bottom.set_xlabel(f"{axis} 1")
    for panel in axes[:, 0]:
        panel.set_ylabel(f"{axis} 2")
    figure.colorbar(shown, ax=axes[1, :].tolist(), label="score", pad=0.01, extend="min")
    style.add_legend(figure, _pool_entries(members))
    return figure


def _draw_others(axes: Axes, members: pd.DataFrame) -> None:
    """Draw the members of all runs in a pale color, as the background for those of one run."""
    axes.scatter(members["x"], members["y"], s=5, color=style.PALE, linewidths=0, zorder=0)
    axes.set(xticks=[], yticks=[])


def _draw_pools(axes: Axes, members: pd.DataFrame) -> None:
    """Draw the members of a run. Each of its pools has a color and a marker; the coldest pool is on top."""
    for pool, some in reversed([*members.groupby("pool")]):
        _draw_points(axes, some, style.pool_look(pool), 13, 0.85)


def _draw_points(axes: Axes, members: pd.DataFrame, look: Look, size: float, opacity: float = 1) -> None:
    how: dict[str, Any] = {"s": size, "edgecolors": "white", "linewidths": 0.25, "alpha": opacity}
    axes.scatter(members["x"], members["y"], color=look.color, marker=look.marker, **how)


def _pool_entries(members: pd.DataFrame) -> list[tuple[Any, str]]:
    return [style.line_of(style.pool_look(pool)) for pool in sorted(members["pool"].unique())]


def choose_problems(results: Sequence[Result]) -> dict[str, str]:
    """Return the problem to show for each of up to two sciences, by science.

    The sciences are those of the paper's figure (biology and chemistry) that have runs or, if neither has runs, the
    first two others. The problem is the one on which the most methods have runs; in a tie, the first by name.
    """
    sciences, runs = reading.sciences_of(results), group_by(results, reading.science_of)
    problems = {}
    for science in [name for name in sciences if name in ("biology", "chemistry")] or sciences[:2]:
        by_problem = group_by(runs[science], lambda run: str(run.problem))
        problems[science] = max(sorted(by_problem), key=lambda name: len(reading.by_method(by_problem[name])))
    return problems


def describe_equations(group: Group) -> dict[str, str]:
    """Return what the vectors are, and the problems."""
    encoder = [*group.context.measurer.encoders][-1]
    how = "TF-IDF vectors" if encoder == "tfidf" else f"embeddings by {encoder}"
    about = "; ".join(f"{science}: {problem}" for science, problem in choose_problems(group.results).items())
    return {"vectors": how, "problems": about}


def draw_equations(group: Group) -> Figure:
    """Return a t-SNE of equations, with a column per science: colored by method, and by pool of one run."""
    problems = choose_problems(group.results)
    figure = style.new_figure(min(style.PAGE * 0.72, 1.2 + 2.1 * len(problems)), 4.4)
    axes = figure.subplots(2, len(problems), squeeze=False, sharex="col", sharey="col")
    looks, with_pools = {}, []
    for (top, bottom), (science, problem) in zip(axes.T, problems.items(), strict=True):
        runs = [run for run in group.results if str(run.problem) == problem]
        members = locate(group, read_members(group, runs), "t-SNE")
        for panel in (top, bottom):
            _draw_others(panel, members)
        by_method = dict([*members.groupby("method", sort=False)])
        for method, own in by_method.items():
            looks[method] = style.look_of(method)
            _draw_points(top, own, looks[method], 12)
        shown = max(by_method, key=lambda name: (by_method[name]["pool"].max() > 0, name == reading.OURS))
        _draw_pools(bottom, by_method[shown])
        top.set_title(f"{style.shorten(science, 20)}, {style.shorten(problem.rpartition('/')[2], 20)}")
        bottom.set(title=f"pools of {looks[shown].label}", xlabel="t-SNE 1")
        with_pools.append(by_method[shown])
    for row in axes[:, 0]:
        row.set_ylabel("t-SNE 2")
    points_of = [style.line_of(replace(look, dash="")) for look in looks.values()]
    style.add_legend(figure, [*points_of, *_pool_entries(pd.concat(with_pools))])
    return figure
