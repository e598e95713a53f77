"""The best molecules of a run, laid out for a person to look at."""

import csv
import io
from collections.abc import Sequence

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

from evodiverse.ports import Found
from evodiverse.tasks.molecules.diversity import select_diverse
from evodiverse.tasks.molecules.quality import assess, find_scaffold

N_LISTED = 100
N_DRAWN = 10
COLUMNS = ("rank", "score", "smiles", "qed", "sa_score", "sa", "scaffold", "iteration", "pool", "call")
_DRAWN_PER_ROW = 5
_CELL = (320, 280)  # pixels


def list_top(found: Sequence[Found]) -> bytes:
    """Return the first 100 as CSV with the columns `COLUMNS`; ``pool`` is empty for one that all pools share."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for rank, entry in enumerate(found[:N_LISTED], start=1):
        candidate, quality = entry.candidate, assess(entry.candidate.genotype)
        numbers = [f"{value:.4f}" for value in (quality.qed, quality.sa_score, quality.sa)]
        place = [entry.iteration, "" if entry.pool is None else entry.pool, candidate.call]
        scaffold = find_scaffold(candidate.genotype)
        writer.writerow([rank, candidate.score, candidate.genotype, *numbers, scaffold, *place])
    return table.getvalue().encode()


def write_top(found: Sequence[Found]) -> bytes:
    """Return the first 100 as SDF in two dimensions, with the columns of `list_top` as properties of the same names.

    The name of each is that of its call.
    """
    text = io.StringIO()
    with Chem.SDWriter(text) as writer:
        for line in csv.DictReader(io.StringIO(list_top(found).decode())):
            molecule = Chem.MolFromSmiles(line["smiles"])
            rdDepictor.Compute2DCoords(molecule)
            molecule.SetProp("_Name", f"call {line['call']}")
            for name in COLUMNS:
                molecule.SetProp(name, line[name])
            writer.write(molecule)
    return text.getvalue().encode()


def draw_top(found: Sequence[Found]) -> bytes:
    """Return a PNG of the diversity-aware top 10 with their scores.

    Args:
        found: Candidates with scores, best first; at least one.
    """
    smiles = [entry.candidate.genotype for entry in found]
    scores = np.array([entry.candidate.score for entry in found], dtype=np.float64)
    chosen = select_diverse(smiles, scores, N_DRAWN)
    columns = min(len(chosen), _DRAWN_PER_ROW)
    n_rows = -(-len(chosen) // columns)
    drawing = rdMolDraw2D.MolDraw2DCairo(columns * _CELL[0], n_rows * _CELL[1], *_CELL)
    drawing.drawOptions().legendFontSize = 22  # type: ignore[assignment]
    legends = [f"{rank}:  {scores[index]:.3f}" for rank, index in enumerate(chosen, start=1)]
    drawing.DrawMolecules([Chem.MolFromSmiles(smiles[index]) for index in chosen], legends=legends)
    drawing.FinishDrawing()
    png: bytes = drawing.GetDrawingText()
    return png
