"""Figure ``si_mol_graphga``: the operator of Graph GA with and without our method (paper, "Additional results")."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from matplotlib.figure import Figure

from evodiverse.results.figures.intervals import BANDS
from evodiverse.results.figures.lines import legend_of
from evodiverse.results.figures.molecule_panels import (
    DIVERSE,
    DRUG_LIKE,
    MOLECULES,
    TARGETS,
    caption_of,
    draw_trajectories,
    name_of,
    of_target,
    usable,
)
from evodiverse.results.figures.reading import Context, FigureKind, Picture, Wanted, describe_runs, group_runs
from evodiverse.results.figures.style import PAGE, add_legend, new_figure
from evodiverse.results.tables.models import OFF
from evodiverse.results.tables.results import Result

NAME: Final = "si_mol_graphga"
_METHODS: Final = ("graph_ga", "pt")


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs without a language model."""
    chosen = [result for result in usable(results) if result.model == OFF and result.run.method in _METHODS]
    for group in group_runs(chosen, MOLECULES, TARGETS):
        yield Picture(
            f"{NAME}_{group.suffix}",
            f"Graph GA, and EvoDiverse with the operator of Graph GA, {group.words}. (a) Mean score of the molecules "
            "in the pools with QED > 0.5 and SA < 5.5. (b) Mean score of the diversity-aware top 10 of the pools. "
            f"{caption_of(group.results)}",
            partial(draw, group.results),
            describe_runs(group.results, BANDS),
        )


def draw(results: Sequence[Result]) -> Figure:
    """Return a figure with two rows of panels and a column per target."""
    figure = new_figure(PAGE * 0.72, 4.2)
    axes = figure.subplots(2, 2)
    rows = ((DRUG_LIKE, "(a)", "QED > 0.5, SA < 5.5"), (DIVERSE, "(b)", "diverse top 10"))
    for row, (metric, letter, words) in zip(axes, rows, strict=True):
        for panel, target in zip(row, TARGETS, strict=True):
            draw_trajectories(panel, of_target(results, target), metric, f"{letter} {name_of(target)}")
        row[0].set_ylabel(f"mean score\n{words}")
    add_legend(figure, legend_of([result.run.method for result in results]))
    return figure


FIGURE: Final = FigureKind(
    NAME,
    "EvoDiverse against Graph GA, without a model",
    find,
    "fig:si_mol_graphga",
    Wanted(("jnk3", "gsk3b"), _METHODS, (OFF,)),
)
