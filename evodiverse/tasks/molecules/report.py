"""The best molecules of a run as tables, clusters, scaffolds, an SDF file and a picture."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rdkit import Chem
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D
from rdkit.ML.Cluster import Butina

from evodiverse.ports import Discovery
from evodiverse.tasks.molecules.diversity import Bits, fingerprint, pairwise_distances, select_ranked
from evodiverse.tasks.molecules.objective.objective import RAW, SPREAD
from evodiverse.tasks.molecules.parsing import read_smarts
from evodiverse.tasks.molecules.properties import assess, find_scaffold

LEAST_SIMILARITY: Final = 0.6
"""The minimum Tanimoto similarity (Morgan bits) of a member of a cluster to the cluster's center."""


def find_clusters(fingerprints: Sequence[Bits]) -> list[int]:
    """Return the number of each molecule's cluster (Butina 1999).

    The molecule with the largest number of neighbors (molecules at least `LEAST_SIMILARITY` similar to it) becomes the
    center of a cluster, and all its neighbors become members. Then neighbors are counted again among the remaining
    molecules only, for the next cluster, and so on. A molecule without neighbors is a cluster of its own.

    Args:
        fingerprints: ``n`` fingerprints of molecules, best molecule first.

    Returns:
        ``n`` cluster numbers, counted from 1 in the order in which the clusters first occur, so that the first
        molecule is in cluster 1.
    """
    distances = pairwise_distances(fingerprints)
    clusters = Butina.ClusterData(distances, len(fingerprints), 1 - LEAST_SIMILARITY, isDistData=True, reordering=True)  # type: ignore[no-untyped-call]
    cluster_of = {at: number for number, members in enumerate(clusters) for at in members}
    numbers: dict[int, int] = {}
    return [numbers.setdefault(cluster_of[at], len(numbers) + 1) for at in range(len(fingerprints))]


N_LISTED: Final = 100
_PLACE: Final = ("iteration", "pool", "call")
COLUMNS: Final = ("rank", "score", "smiles", "qed", "sa_score", "sa", "scaffold", "cluster", *_PLACE)


def lay_out(discoveries: Sequence[Discovery], columns: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the content of the tables and the SDF of the best molecules, by file name.

    ``top.csv`` lists the first 100 molecules with the columns `COLUMNS` and ``columns``. ``top.sdf`` holds the
    same molecules with two-dimensional coordinates. ``clusters.csv`` and ``scaffolds.csv`` cover all discoveries.
    Numbers have four significant digits; the log has the exact ones.

    Args:
        discoveries: Candidates with scores, best first; at least one.
        columns: The task's own columns of the log to add, such as those of an objective's components.
    """
    smiles = [entry.candidate.genotype for entry in discoveries]
    numbers = find_clusters([fingerprint(text) for text in smiles])
    scaffolds = [find_scaffold(text) or "(no rings)" for text in smiles]
    table = _list_top(discoveries, numbers, columns)
    return {
        "top.csv": table,
        "top.sdf": _write_top(table),
        "clusters.csv": _list_groups(("cluster", "size"), numbers, Counter(numbers).items(), discoveries),
        "scaffolds.csv": _list_groups(("scaffold", "count"), scaffolds, Counter(scaffolds).most_common(), discoveries),
    }


def _list_top(discoveries: Sequence[Discovery], clusters: Sequence[int], columns: Sequence[str]) -> bytes:
    """Return the table of the first 100 molecules.

    The column ``pool`` is empty for an initial molecule that all pools share.
    """
    rows = []
    for rank, (entry, cluster) in enumerate(zip(discoveries[:N_LISTED], clusters, strict=False), start=1):
        candidate, quality = entry.candidate, assess(entry.candidate.genotype)
        numbers = [quality.qed, quality.sa_score, quality.sa]
        place = [entry.iteration, entry.pool, candidate.call]
        scaffold = find_scaffold(candidate.genotype)
        own = [entry.details.get(column) for column in columns]
        rows.append([rank, candidate.score, candidate.genotype, *numbers, scaffold, cluster, *place, *own])
    return _table([*COLUMNS, *columns], rows)


def _write_top(table: bytes) -> bytes:
    """Return the molecules of ``table``, the content of ``top.csv``, as SDF with the columns as data fields.

    Each entry is named after the number of the oracle call for its molecule, such as ``call 17``.
    """
    text = io.StringIO()
    with Chem.SDWriter(text) as writer:
        for line in csv.DictReader(io.StringIO(table.decode())):
            molecule = Chem.MolFromSmiles(line["smiles"])
            rdDepictor.Compute2DCoords(molecule)
            _mark_unspecified_bonds(molecule)
            molecule.SetProp("_Name", f"call {line['call']}")
            for name, value in line.items():
                molecule.SetProp(name, value)
            writer.write(molecule)
    return text.getvalue().encode()


def _mark_unspecified_bonds(molecule: Chem.Mol) -> None:
    """Mark double bonds that are not specified as E or Z, since their coordinates would suggest one of the two."""
    for found in Chem.FindPotentialStereo(molecule):
        if found.type == Chem.StereoType.Bond_Double and found.specified == Chem.StereoSpecified.Unspecified:
            molecule.GetBondWithIdx(found.centeredOn).SetStereo(Chem.BondStereo.STEREOANY)


def _list_groups(
    header: Sequence[str], groups: Sequence[Any], sizes: Iterable[tuple[Any, int]], discoveries: Sequence[Discovery]
) -> bytes:
    """Return the table of some groups of molecules with the best molecule of each.

    Args:
        header: The names of the first two columns.
        groups: The group of each molecule, best molecule first.
        sizes: The groups in the order in which they are listed, each with its number of molecules.
        discoveries: The molecules.
    """
    rows = []
    for group, size in sizes:
        best = discoveries[groups.index(group)].candidate
        rows.append([group, size, best.score, best.genotype, best.call])
    return _table([*header, "best_score", "best_smiles", "best_call"], rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a table as CSV, with four significant digits of each float. None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([write_number(cell, 4) if isinstance(cell, float) else cell for cell in row] for row in rows)
    return text.getvalue().encode()


# The picture

N_DRAWN: Final = 10
_WIDTH, _HEIGHT, _LINE = 320, 245, 24  # pixels: width of a cell, height of a structure, height of a legend line
_MOST_LINES: Final = 12  # of components in a legend
_MOST_CHARACTERS: Final = 33  # of a legend line; RDKit shrinks longer ones, and its font has neither "…" nor "±"
_MARKED: Final = (0.4, 0.85, 0.5)


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
    n_columns = min(len(chosen), 5)
    n_rows = -(-len(chosen) // n_columns)
    drawing = rdMolDraw2D.MolDraw2DCairo(n_columns * _WIDTH, n_rows * height, _WIDTH, height)
    options: Any = drawing.drawOptions()
    options.legendFontSize = 18
    options.legendFraction = (height - _HEIGHT + 8) / height
    options.highlightRadius = 0.35  # times the length of a bond
    options.highlightBondWidthMultiplier = 16
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
    most = _MOST_CHARACTERS - 9 * (1 if spread is None else 2)  # nine characters are enough for most numbers
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
