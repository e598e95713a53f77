"""A picture of the diversity-aware top 10 with their scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

from evodiverse.ports import Discovery
from evodiverse.tasks.molecules.diversity import select_diverse
from evodiverse.tasks.molecules.objective.objective import RAW
from evodiverse.tasks.molecules.patterns import read_smarts

N_DRAWN: Final = 10
_PER_ROW: Final = 5
_WIDTH, _HEIGHT, _LINE = 320, 245, 24  # pixels: width of a cell, height of a structure, height of a legend line
_FONT: Final = 18
_NUMBERS_PER_LINE: Final = 2
_MARKED: Final = (0.62, 0.86, 0.73)


def draw_top(discoveries: Sequence[Discovery], columns: Sequence[str] = (), highlight: Sequence[str] = ()) -> bytes:
    """Return a PNG of the diversity-aware top 10 with their scores.

    Args:
        discoveries: Candidates with scores, best first; at least one.
        columns: The log columns of the task; those that end in ``_raw`` are written below the score.
        highlight: SMARTS patterns; atoms and bonds that match one of them are marked.
    """
    smiles = [entry.candidate.genotype for entry in discoveries]
    scores = np.array([entry.candidate.score for entry in discoveries], dtype=np.float64)
    chosen = [discoveries[at] for at in select_diverse(smiles, scores, N_DRAWN)]
    shown = [column for column in columns if column.endswith(RAW)]
    legends = [_legend(rank, entry, shown) for rank, entry in enumerate(chosen, start=1)]
    height = _HEIGHT + _LINE * (1 + legends[0].count("\n"))
    n_columns = min(len(chosen), _PER_ROW)
    n_rows = -(-len(chosen) // n_columns)
    drawing = rdMolDraw2D.MolDraw2DCairo(n_columns * _WIDTH, n_rows * height, _WIDTH, height)
    options: Any = drawing.drawOptions()
    options.legendFontSize = _FONT
    options.legendFraction = (height - _HEIGHT + 8) / height
    molecules = [Chem.MolFromSmiles(entry.candidate.genotype) for entry in chosen]
    matches = [_match(molecule, highlight) for molecule in molecules]
    drawing.DrawMolecules(
        molecules,
        legends=legends,
        highlightAtoms=[atoms for atoms, _ in matches],
        highlightBonds=[bonds for _, bonds in matches],
        highlightAtomColors=[dict.fromkeys(atoms, _MARKED) for atoms, _ in matches],
        highlightBondColors=[dict.fromkeys(bonds, _MARKED) for _, bonds in matches],
    )
    drawing.FinishDrawing()
    png: bytes = drawing.GetDrawingText()
    return png


def _legend(rank: int, entry: Discovery, columns: Sequence[str]) -> str:
    numbers = [*_numbers(entry.details, columns)]
    starts = range(0, len(numbers), _NUMBERS_PER_LINE)
    lines = ["   ".join(numbers[at : at + _NUMBERS_PER_LINE]) for at in starts]
    score = f"{rank}:  {entry.candidate.score:.3f}"
    return "\n".join([f"{score}  (score)", *lines]) if lines else score  # "(score)" tells it from components


def _numbers(details: Mapping[str, Any], columns: Sequence[str]) -> Iterator[str]:
    """Yield the name and the raw value of each component."""
    for column in columns:
        value = details.get(column)
        yield f"{column.removesuffix(RAW)} {'none' if value is None else f'{value:.3g}'}"


def _match(molecule: Chem.Mol, highlight: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the indices of the atoms and of the bonds that belong to a match of one of the patterns."""
    atoms: set[int] = set()
    bonds: set[int] = set()
    for smarts in highlight:
        pattern = read_smarts(smarts)
        for match in molecule.GetSubstructMatches(pattern):
            atoms |= {*match}
            ends = ((match[bond.GetBeginAtomIdx()], match[bond.GetEndAtomIdx()]) for bond in pattern.GetBonds())
            bonds |= {molecule.GetBondBetweenAtoms(*pair).GetIdx() for pair in ends}
    return sorted(atoms), sorted(bonds)
