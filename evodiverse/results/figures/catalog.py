"""The list of all figures: those of the paper, in the order of the paper, then our own."""

from typing import Final

from evodiverse.results.figures import (
    chemical_space,
    circle_packing_example,
    circle_trajectory,
    diagnostics,
    diverse_molecules,
    diversity_pca_all,
    hits_by_calls,
    lineage,
    mol,
    round_trips,
    si_mol_graphga,
    si_mol_top10,
    sr_div_embed,
    sr_pysr,
    sr_score_trajectory,
    sweep,
    tsne_algo,
)
from evodiverse.results.figures.reading import FigureKind

FIGURES: Final[tuple[FigureKind, ...]] = (
    mol.FIGURE,
    sr_score_trajectory.FIGURE,
    circle_trajectory.FIGURE,
    si_mol_top10.FIGURE,
    chemical_space.FIGURE,
    si_mol_graphga.FIGURE,
    diagnostics.MOL,
    sr_pysr.FIGURE,
    sr_div_embed.FIGURE,
    diagnostics.EQ,
    circle_packing_example.FIGURE,
    diversity_pca_all.FIGURE,
    diagnostics.ALGO,
    tsne_algo.FIGURE,
    diverse_molecules.FIGURE,
    hits_by_calls.FIGURE,
    round_trips.FIGURE,
    lineage.FIGURE,
    sweep.FIGURE,
)
