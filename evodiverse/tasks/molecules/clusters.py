"""Grouping the best molecules: clusters of similar molecules, and shared scaffolds."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from rdkit import DataStructs
from rdkit.ML.Cluster import Butina

from evodiverse.tasks.molecules.store import Bits

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
    distances = [
        1 - similarity
        for at, one in enumerate(fingerprints)
        for similarity in DataStructs.BulkTanimotoSimilarity(one, fingerprints[:at])
    ]
    clusters = Butina.ClusterData(distances, len(fingerprints), 1 - LEAST_SIMILARITY, isDistData=True, reordering=True)  # type: ignore[no-untyped-call]
    cluster_of = {at: number for number, members in enumerate(clusters) for at in members}
    numbers: dict[int, int] = {}
    return [numbers.setdefault(cluster_of[at], len(numbers) + 1) for at in range(len(fingerprints))]


def count_clusters(numbers: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the number of each cluster, its size, and the index of its first molecule.

    Args:
        numbers: The cluster number of each molecule, as `find_clusters` returns them.
    """
    sizes = Counter(numbers)
    return [(number, sizes[number], numbers.index(number)) for number in sorted(sizes)]


def count_scaffolds(scaffolds: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return each scaffold, most frequent first, with its number of molecules and the index of the first of these.

    Args:
        scaffolds: The scaffold of each molecule.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for at, scaffold in enumerate(scaffolds):
        places[scaffold].append(at)
    counted = [(scaffold, len(those), those[0]) for scaffold, those in places.items()]
    return sorted(counted, key=lambda entry: (-entry[1], entry[2]))
