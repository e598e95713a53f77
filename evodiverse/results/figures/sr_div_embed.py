"""Figure ``sr-div-embed``: t-SNE of the final equations, by method and by pool (paper, "Diversity Landscape")."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evodiverse.results.figures.diagnostics import EQUATIONS
from evodiverse.results.figures.projections import (
    draw_others,
    draw_pools,
    locate,
    pool_entries,
    project_tsne,
    read_members,
)
from evodiverse.results.figures.reading import Context, FigureKind, Picture, Wanted, group_runs
from evodiverse.results.figures.sr_score_trajectory import KIND, METHODS, science_of, sciences_of
from evodiverse.results.figures.style import PAGE, add_legend, look_of, new_figure, shorten
from evodiverse.results.measuring import TFIDF, Measurer, load_encoder
from evodiverse.results.tables.results import Result
from evodiverse.tasks.equations.metrics import read_body

NAME: Final = "sr-div-embed"
_SHOWN: Final = ("biology", "chemistry")
_TWO_POOLS: Final = "pt"


def find(results: Sequence[Result], context: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`)."""
    encoder = [*context.measurer.encoders][-1]
    for group in group_runs(results, KIND):
        problems = choose_problems(group.results)
        about = "; ".join(f"{science}: {problem}" for science, problem in problems.items())
        how = "TF-IDF vectors" if encoder == TFIDF else f"embeddings by {encoder}"
        yield Picture(
            f"{NAME}_{group.suffix}",
            f"Equations of the final pools, {group.words}: t-SNE of {how} of the bodies of their functions, one run "
            f"per method and problem (the one with the lowest seed). {about}. Top: by method. Bottom: the pools of "
            "one run with several pools; the other equations are pale. Distances between distant groups mean little in "
            "a projection.",
            partial(draw, group.results, problems, context.measurer, encoder),
            "one run per method and problem, the one with the lowest seed",
        )


def choose_problems(results: Sequence[Result]) -> dict[str, str]:
    """Return the problem to show for each of up to two sciences, by science.

    The sciences are those of the paper's figure (biology and chemistry) that have runs or, if neither has runs, the
    first two others. The problem is the one on which the most methods have runs; in a tie, the first by name.
    """
    sciences = sciences_of(results)
    chosen = [science for science in sciences if science in _SHOWN] or sciences[:2]
    problems = {}
    for science in chosen:
        own = [result for result in results if science_of(result) == science]
        names = sorted({str(result.problem) for result in own})
        n_methods = {name: len({run.run.method for run in own if str(run.problem) == name}) for name in names}
        problems[science] = max(names, key=lambda name: n_methods[name])
    return problems


def draw(results: Sequence[Result], problems: dict[str, str], measurer: Measurer, encoder: str) -> Figure:
    """Return a figure with a column of two panels per science.

    Args:
        results: The runs of one group.
        problems: The problem to show for each science, by science.
        measurer: The object that knows where the models of the encoders are.
        encoder: The name of the encoder whose vectors t-SNE projects.
    """
    figure = new_figure(min(PAGE * 0.72, 1.2 + 2.1 * len(problems)), 4.4)
    axes = figure.subplots(2, len(problems), squeeze=False, sharex="col", sharey="col")
    encode = load_encoder(encoder, measurer.encoders[encoder])
    methods, n_pools = dict[str, None](), 1
    for (top, bottom), (science, problem) in zip(axes.T, problems.items(), strict=True):
        some = [result for result in results if str(result.problem) == problem]
        members = read_members(some)
        points = locate(members, lambda programs: encode([read_body(each) for each in programs]), project_tsne)
        for panel in (top, bottom):
            draw_others(panel, points)
        for each, own in zip(members, points, strict=True):
            look = look_of(each.method)
            top.scatter(*own.T, s=12, color=look.color, marker=look.marker, edgecolors="white", linewidths=0.25)
            methods[each.method] = None
        shown = max(range(len(members)), key=lambda at: (members[at].n_pools > 1, members[at].method == _TWO_POOLS))
        draw_pools(bottom, members[shown], points[shown])
        n_pools = max(n_pools, members[shown].n_pools)
        top.set_title(f"{shorten(science, 20)}, {shorten(problem.rpartition('/')[2], 20)}")
        bottom.set_title(f"pools of {look_of(members[shown].method).label}")
        bottom.set_xlabel("t-SNE 1")
    for row in axes[:, 0]:
        row.set_ylabel("t-SNE 2")
    entries = [(_point(name), look_of(name).label) for name in methods]
    add_legend(figure, [*entries, *pool_entries(n_pools)], 4)
    return figure


def _point(method: str) -> Line2D:
    look = look_of(method)
    return Line2D([], [], color=look.color, marker=look.marker, linestyle="", markersize=4)


FIGURE: Final = FigureKind(
    NAME,
    "Final equations by t-SNE",
    find,
    "fig:sr-div-embed",
    Wanted(("equation",), METHODS, ("DeepSeek-V3.2",), _SHOWN, "bfgs", EQUATIONS),
)
