"""Figure ``diversity_pca_all``: PCA of TF-IDF vectors of the final programs of circle packing."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from matplotlib.figure import Figure

from evodiverse.diversity.tfidf import tfidf
from evodiverse.results.figures.circle_trajectory import METHODS, PACKING
from evodiverse.results.figures.projections import draw_grid, locate, project_pca, read_members
from evodiverse.results.figures.reading import Context, FigureKind, Picture, Wanted, by_method, group_runs
from evodiverse.results.tables.results import Result

NAME: Final = "diversity_pca_all"


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`)."""
    for group in group_runs(results, PACKING, ("circle_packing",)):
        seeds = ", ".join(
            f"{name} {min(run.run.seed for run in some)}" for name, some in sorted(by_method(group.results).items())
        )
        yield Picture(
            f"{NAME}_{group.suffix}",
            f"Programs of the final pools of circle packing, {group.words}: PCA of the TF-IDF vectors of all programs "
            "together, one run per method; the programs of other methods are pale. Top: by pool. Bottom: by score (sum "
            f"of radii over the reference). Seeds: {seeds}. Distances between distant groups mean little in a "
            "projection.",
            partial(draw, group.results),
            f"one run per method; seeds: {seeds}",
        )


def draw(results: Sequence[Result]) -> Figure:
    """Return a figure with a column of two panels per method."""
    members = read_members(results)
    return draw_grid(members, locate(members, tfidf, project_pca), "PC", "score")


FIGURE: Final = FigureKind(
    NAME,
    "Final programs by PCA",
    find,
    "fig:diversity_pca_all",
    Wanted(("circle_packing",), METHODS, ("DeepSeek-V3.2",)),
)
