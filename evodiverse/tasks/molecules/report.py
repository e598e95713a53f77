"""The best molecules of a run as tables, clusters, scaffolds and an SDF file."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from rdkit import Chem
from rdkit.Chem import rdDepictor
from rdkit.ML.Cluster import Butina

from evodiverse.ports import Discovery
from evodiverse.tasks.molecules.diversity import Bits, fingerprint, pairwise_distances
from evodiverse.tasks.molecules.drawing import write_number
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


Sizes: TypeAlias = Iterable[tuple[Any, int]]
"""Groups of molecules, each with its number of molecules."""
N_LISTED: Final = 100
COLUMNS: Final = (
    "rank",
    "score",
    "smiles",
    "qed",
    "sa_score",
    "sa",
    "scaffold",
    "cluster",
    "iteration",
    "pool",
    "call",
)
ACYCLIC: Final = "(no rings)"
"""The entry for molecules without rings in the table of scaffolds."""


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
    scaffolds = [find_scaffold(text) or ACYCLIC for text in smiles]
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


def _list_groups(header: Sequence[str], groups: Sequence[Any], sizes: Sizes, discoveries: Sequence[Discovery]) -> bytes:
    """Return the table of some groups of molecules with the best molecule of each.

    Args:
        header: The names of the first two columns.
        groups: The group of each molecule, best molecule first.
        sizes: The groups in the order in which they are listed.
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
