"""Figure ``mol``: the scores and the diversity of molecules by oracle calls (paper, "Molecular Discovery")."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from evodiverse.results.figures.intervals import BANDS
from evodiverse.results.figures.molecule_panels import DRUG_LIKE, MOLECULES, TARGETS, caption_of, draw_page, usable
from evodiverse.results.figures.reading import Context, FigureKind, Picture, Wanted, describe_runs, group_runs
from evodiverse.results.tables.results import Result

NAME: Final = "mol"


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`)."""
    for group in group_runs(usable(results), MOLECULES, TARGETS):
        yield Picture(
            f"{NAME}_{group.suffix}",
            f"Molecules, {group.words}. (a) Mean JNK3 score of the diversity-aware top 10 (lines, left axis), and how "
            "many molecules this selection would take from the pools without its cap of ten (bars, right axis). (b) "
            f"Mean score of the molecules in the pools with QED > 0.5 and SA < 5.5. {caption_of(group.results)}",
            partial(draw_page, group.results, "jnk3", DRUG_LIKE),
            describe_runs(group.results, BANDS),
        )


FIGURE: Final = FigureKind(
    NAME,
    "Scores, and numbers of diverse molecules",
    find,
    "fig:mol",
    Wanted(("jnk3", "gsk3b"), ("molleo", "ensemble", "tempering", "pt"), ("DeepSeek-V3.2",)),
)
