"""Figure ``tsne_algo``: final programs of circle packing by t-SNE of TF-IDF vectors."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from matplotlib.figure import Figure

from evodiverse.analysis.tables.results import Result
from evodiverse.diversity.tfidf import tfidf
from evodiverse.figures.circle_trajectory import METHODS, PACKING
from evodiverse.figures.projections import draw_grid, locate, project_tsne, read_members
from evodiverse.figures.reading import Context, FigureKind, Picture, Wanted, by_method, group_runs

NAME: Final = "tsne_algo"


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield a figure for each model."""
    for group in group_runs(results, PACKING, ("circle_packing",)):
        seeds = ", ".join(
            f"{name} {min(run.run.seed for run in some)}" for name, some in sorted(by_method(group.results).items())
        )
        yield Picture(
            f"{NAME}_{group.suffix}",
            f"Programs of the final pools of circle packing, {group.words}: t-SNE of TF-IDF vectors of all of them "
            "together, one run a method, pale the programs of the others. Top: by pool. Bottom: by score (sum of radii "
            f"over the reference). Seeds: {seeds}. Distances between far groups mean little in such a plane.",
            partial(draw, group.results),
            f"one run a method, of seeds: {seeds}",
        )


def draw(results: Sequence[Result]) -> Figure:
    """Return a column of two panels for each method."""
    members = read_members(results)
    return draw_grid(members, locate(members, tfidf, project_tsne), "t-SNE", "score")


FIGURE: Final = FigureKind(
    NAME,
    "Final programs by t-SNE",
    find,
    "fig:tsne_algo",
    Wanted(("circle_packing",), METHODS, ("DeepSeek-V3.2",)),
)
