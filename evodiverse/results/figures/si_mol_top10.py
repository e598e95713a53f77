"""Figure ``si_mol_top10``: a variant of figure ``mol`` (paper, "Additional results").

Its panel (a) is about GSK3β, and its panels (b) show the diversity-aware top 10.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from evodiverse.results.figures.intervals import BANDS
from evodiverse.results.figures.molecule_panels import DIVERSE, MOLECULES, TARGETS, caption_of, draw_page, usable
from evodiverse.results.figures.reading import Context, FigureKind, Picture, Wanted, describe_runs, group_runs
from evodiverse.results.tables.results import Result

NAME: Final = "si_mol_top10"


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`)."""
    for group in group_runs(usable(results), MOLECULES, TARGETS):
        yield Picture(
            f"{NAME}_{group.suffix}",
            f"Molecules, {group.words}. (a) Mean GSK3β score of the diversity-aware top 10 (lines, left axis), and how "
            "many molecules this selection would take from the pools without its cap of ten (bars, right axis). (b) "
            f"Mean score of the diversity-aware top 10 of the pools. {caption_of(group.results)}",
            partial(draw_page, group.results, "gsk3b", DIVERSE),
            describe_runs(group.results, BANDS),
        )


FIGURE: Final = FigureKind(
    NAME,
    "Scores of GSK3β, and of the diversity-aware top 10",
    find,
    "fig:si_mol_top10",
    Wanted(("jnk3", "gsk3b"), ("molleo", "ensemble", "tempering", "pt"), ("DeepSeek-V3.2",)),
)
