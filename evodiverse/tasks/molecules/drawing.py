"""A picture of the ten best molecules that are all different, with their scores."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

from evodiverse.ports import Discovery
from evodiverse.tasks.molecules.diversity import select_ranked
from evodiverse.tasks.molecules.objective.objective import RAW, SPREAD
from evodiverse.tasks.molecules.parsing import read_smarts

N_DRAWN: Final = 10
_PER_ROW: Final = 5
_WIDTH, _HEIGHT, _LINE = 320, 245, 24  # pixels: width of a cell, height of a structure, height of a legend line
_FONT: Final = 18  # RDKit's font has neither "…" nor "±"
_MOST_LINES: Final = 12  # of components in a legend
_MOST_CHARACTERS: Final = 33  # of a legend line; RDKit shrinks longer ones
_NUMBER_WIDTH: Final = 9  # characters, enough for most numbers
_MARKED: Final = (0.4, 0.85, 0.5)
_RADIUS, _BOND_WIDTH = 0.35, 16  # of marks: a share of a bond's length, and a multiple of a line's width


def draw_top(discoveries: Sequence[Discovery], columns: Sequence[str] = (), highlight: Sequence[str] = ()) -> bytes:
    """Return a PNG of up to ten molecules with their scores, selected by score so that all are different.

    Two molecules are different if their similarity is below 0.4, as in the metrics of hits; see `select_ranked`. With
    several objectives, the first ten of the front are drawn instead.

    Args:
        discoveries: Candidates with scores, best first; at least one.
        columns: The log columns of the task. The values of those that end in ``_raw`` are written below the score, as
            many as there is room for, each with its spread, if it has one.
        highlight: SMARTS patterns; atoms and bonds that match one of them are marked.
    """
    ranked = (entry.candidate.genotype for entry in discoveries)
    front = {entry.place: entry for entry in discoveries if entry.place is not None}
    chosen = [front[place] for place in range(min(len(front), N_DRAWN))] or [
        discoveries[place] for place in select_ranked(ranked, N_DRAWN, summary=max)
    ]
    measured = [column for column in columns if column.endswith(RAW)]
    legends = [_legend(rank, entry, measured) for rank, entry in enumerate(chosen, start=1)]
    height = _HEIGHT + _LINE * (1 + legends[0].count("\n"))
    n_columns = min(len(chosen), _PER_ROW)
    n_rows = -(-len(chosen) // n_columns)
    drawing = rdMolDraw2D.MolDraw2DCairo(n_columns * _WIDTH, n_rows * height, _WIDTH, height)
    options: Any = drawing.drawOptions()
    options.legendFontSize = _FONT
    options.legendFraction = (height - _HEIGHT + 8) / height
    options.highlightRadius = _RADIUS
    options.highlightBondWidthMultiplier = _BOND_WIDTH
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
    return bytes(drawing.GetDrawingText())


def _legend(rank: int, entry: Discovery, columns: Sequence[str]) -> str:
    score = f"{rank}:  {entry.candidate.score:.3f}"
    if not columns:
        return score
    n_more = len(columns) - _MOST_LINES
    shown = [_write_value(entry.details, column) for column in columns[:_MOST_LINES]]
    more = [f"... and {n_more} more"] if n_more > 0 else []
    return "\n".join([f"{score}  (score)", *shown, *more])  # "(score)" sets it apart from components


def _write_value(details: Mapping[str, Any], column: str) -> str:
    """Return the name of an objective's component, cut if it is too long for a line, its raw value and its spread."""
    name, value = column.removesuffix(RAW), details.get(column)
    spread = details.get(f"{name}{SPREAD}")
    most = _MOST_CHARACTERS - _NUMBER_WIDTH * (1 if spread is None else 2)
    shown = name if len(name) <= most else f"{name[: most - 3]}..."
    number = "none" if value is None else write_number(value)
    return f"{shown} {number}" if spread is None else f"{shown} {number} +/- {write_number(spread, 2)}"


def write_number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits; from 0.0001 to below ten million it has no exponent."""
    return f"{float(format(value, f'.{digits}g')):.7g}"


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
