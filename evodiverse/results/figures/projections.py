"""Projections of the programs of final pools onto a plane by PCA or t-SNE, colored by method, by pool and by score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import sparse

from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import FloatArray, Group, Result
from evodiverse.results.figures.style import Look
from evodiverse.results.grouping import group_by

SCIENCES_SHOWN: Final = ("biology", "chemistry")
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
    genotypes: Sequence[str]
    pools: Sequence[int]
    scores: Sequence[float]
    n_pools: int


def read_members(group: Group, results: Sequence[Result]) -> list[Members]:
    """Return, for each method, the final pools of its run with the lowest seed; ``results`` are runs of the group.

    The methods are sorted as in the legends of figures (see `order_methods`).

    Raises:
        InputError: A log is damaged.
    """
    members = []
    chosen = {run.run.method: run for run in reading.first_of(results, lambda run: run.run.method)}
    for method in style.order_methods(chosen):
        _, log = reading.open_log(group, chosen[method])
        genotypes, final = log.column("genotype"), log.states[-1]
        places = [(call, pool) for pool, calls in enumerate(final) for call in calls if call in log.scores]
        texts, scores = [genotypes[call] for call, _ in places], [log.scores[call] for call, _ in places]
        members.append(Members(method, texts, [pool for _, pool in places], scores, len(final)))
    return members


def project_pca(vectors: Any) -> FloatArray:
    """Return the ``(n, 2)`` coordinates of ``(n, d)`` vectors along their first two principal components."""
    from sklearn.decomposition import PCA  # takes a second

    dense = _dense(vectors)
    points = PCA(min(2, *dense.shape), svd_solver="full").fit_transform(dense)
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def project_tsne(vectors: Any) -> FloatArray:
    """Return the ``(n, 2)`` t-SNE embedding of ``(n, d)`` vectors, with seed 0.

    For up to `_LEAST_POINTS` vectors, return the result of `project_pca` instead.
    """
    from sklearn.manifold import TSNE  # takes a second

    dense = _dense(vectors)
    if len(dense) <= _LEAST_POINTS:
        return project_pca(dense)
    fit = TSNE(2, perplexity=min(_MOST_PERPLEXITY, (len(dense) - 1) / 3), init="pca", random_state=0, n_jobs=1)
    return np.asarray(fit.fit_transform(dense), dtype=np.float64)


def _dense(vectors: Any) -> FloatArray:
    return np.asarray(vectors.toarray() if sparse.issparse(vectors) else vectors, dtype=np.float64)


def locate(group: Group, members: Sequence[Members], project: Callable[[Any], FloatArray]) -> list[FloatArray]:
    """Return the ``(n, 2)`` points of each run in a plane that all runs share; equal programs share a point.

    Args:
        group: The runs.
        members: The members of each run.
        project: A function that is called with these vectors and returns their ``(n, 2)`` points, such as
            `project_tsne`.
    """
    unique = sorted({genotype for each in members for genotype in each.genotypes})
    place = {genotype: at for at, genotype in enumerate(unique)}
    metrics: Any = reading.find_metrics(group, group.best)
    points = project(metrics.embed(unique, group.context.measurer.tools)) if unique else np.zeros((0, 2))
    return [points[np.array([place[genotype] for genotype in each.genotypes], dtype=np.intp)] for each in members]


def seeds_of(group: Group) -> str:
    """Return a text with the lowest seed of each method: that of the run which a projection shows."""
    lowest = {method: min(run.run.seed for run in some) for method, some in reading.by_method(group.results).items()}
    return ", ".join(f"{method} {seed}" for method, seed in sorted(lowest.items()))


def draw_programs(group: Group, project: Callable[[Any], FloatArray], axis: str) -> Figure:
    """Return a figure with a column per method and two rows: programs colored by pool, and by score.

    Args:
        group: The runs.
        project: A function that returns ``(n, 2)`` points of vectors, such as `project_tsne`.
        axis: The name of the axes, such as "PC".
    """
    members = read_members(group, group.results)
    points = locate(group, members, project)
    figure = style.new_figure(min(style.PAGE, 1.9 + 1.6 * len(members)), 3.6)
    axes = figure.subplots(2, len(members), squeeze=False, sharex=True, sharey=True)
    scores = [score for each in members for score in each.scores]
    low, high = np.quantile(scores, [0.25, 1.0]) if scores else (0.0, 1.0)
    for (top, bottom), each, own in zip(axes.T, members, points, strict=True):
        for panel in (top, bottom):
            _draw_others(panel, points)
        _draw_pools(top, each, own)
        colors: dict[str, Any] = {
            "c": each.scores,
            "cmap": "cividis",
            "edgecolors": "white",
            "linewidths": 0.25,
            "vmin": low,
            "vmax": high,
            "s": 11,
        }
        shown = bottom.scatter(*own.T, **colors)
        top.set_title(style.look_of(each.method).label)
        bottom.set_xlabel(f"{axis} 1")
    for panel in axes[:, 0]:
        panel.set_ylabel(f"{axis} 2")
    figure.colorbar(shown, ax=axes[1, :].tolist(), label="score", pad=0.01, extend="min")
    style.add_legend(figure, _pool_entries(members))
    return figure


def _draw_others(axes: Axes, points: Sequence[FloatArray]) -> None:
    """Draw the ``(n, 2)`` points of all runs in a pale color, as the background for those of one run."""
    x, y = np.concatenate(points).T
    axes.scatter(x, y, s=5, color=style.PALE, linewidths=0, zorder=0)
    style.use_no_ticks(axes)


def _draw_pools(axes: Axes, members: Members, points: FloatArray) -> None:
    """Draw the ``(n, 2)`` points of a run. Each of its pools has a color and a marker; the coldest pool is on top."""
    for pool in reversed(range(members.n_pools)):
        _draw_points(axes, points[np.array(members.pools, dtype=np.intp) == pool], style.pool_look(pool), 13, 0.85)


def _draw_points(axes: Axes, points: FloatArray, look: Look, size: float, opacity: float = 1) -> None:
    x, y = points.T
    axes.scatter(x, y, s=size, color=look.color, marker=look.marker, edgecolors="white", linewidths=0.25, alpha=opacity)


def _pool_entries(members: Sequence[Members]) -> list[tuple[Any, str]]:
    return [style.line_of(style.pool_look(pool)) for pool in range(max(each.n_pools for each in members))]


def choose_problems(results: Sequence[Result]) -> dict[str, str]:
    """Return the problem to show for each of up to two sciences, by science.

    The sciences are those of the paper's figure (biology and chemistry) that have runs or, if neither has runs, the
    first two others. The problem is the one on which the most methods have runs; in a tie, the first by name.
    """
    sciences, runs = reading.sciences_of(results), group_by(results, reading.science_of)
    problems = {}
    for science in [name for name in sciences if name in SCIENCES_SHOWN] or sciences[:2]:
        by_problem = group_by(runs[science], lambda run: str(run.problem))
        problems[science] = max(sorted(by_problem), key=lambda name: len(reading.by_method(by_problem[name])))
    return problems


def describe_equations(group: Group) -> str:
    """Return the part of a caption about the vectors and the problems."""
    encoder = [*group.context.measurer.encoders][-1]
    how = "TF-IDF vectors" if encoder == "tfidf" else f"embeddings by {encoder}"
    about = "; ".join(f"{science}: {problem}" for science, problem in choose_problems(group.results).items())
    return (
        f"{how} of the bodies of their functions, one run per method and problem (the one with the lowest seed). "
        + about
    )


def draw_equations(group: Group) -> Figure:
    """Return a t-SNE of equations, with a column per science: colored by method, and by pool of one run."""
    problems = choose_problems(group.results)
    figure = style.new_figure(min(style.PAGE * 0.72, 1.2 + 2.1 * len(problems)), 4.4)
    axes = figure.subplots(2, len(problems), squeeze=False, sharex="col", sharey="col")
    everything, with_pools = [], []
    for (top, bottom), (science, problem) in zip(axes.T, problems.items(), strict=True):
        members = read_members(group, [run for run in group.results if str(run.problem) == problem])
        points = locate(group, members, project_tsne)
        for panel in (top, bottom):
            _draw_others(panel, points)
        for each, own in zip(members, points, strict=True):
            _draw_points(top, own, style.look_of(each.method), 12)
        pairs = zip(members, points, strict=True)
        shown, own = max(pairs, key=lambda pair: (pair[0].n_pools > 1, pair[0].method == reading.OURS))
        _draw_pools(bottom, shown, own)
        top.set_title(f"{style.shorten(science, 20)}, {style.shorten(problem.rpartition('/')[2], 20)}")
        bottom.set(title=f"pools of {style.look_of(shown.method).label}", xlabel="t-SNE 1")
        everything += members
        with_pools.append(shown)
    for row in axes[:, 0]:
        row.set_ylabel("t-SNE 2")
    methods = dict.fromkeys(each.method for each in everything)
    points_of = [style.line_of(replace(style.look_of(method), dash="")) for method in methods]
    style.add_legend(figure, [*points_of, *_pool_entries(with_pools)])
    return figure
