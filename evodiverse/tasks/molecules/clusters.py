"""Which of the best molecules belong together: clusters of similar ones, and scaffolds that they share."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from rdkit import DataStructs
from rdkit.ML.Cluster import Butina

from evodiverse.tasks.molecules.store import Bits

LEAST_SIMILARITY: Final = 0.6
"""The Tanimoto similarity of Morgan bits to the center of a cluster from which on a molecule belongs to it."""


def find_clusters(fingerprints: Sequence[Bits]) -> list[int]:
    """Return the number of each molecule's cluster (Butina 1999); the cluster with the first molecule is 1.

    The molecule with the most molecules that are similar to it is the center of the first cluster, which takes all of
    these; then those that remain are looked at again.

    Args:
        fingerprints: n of them, the best molecule's first.

    Returns:
        n numbers from 1, in the order in which clusters first occur.
    """
    distances = [
        1 - similarity
        for at, one in enumerate(fingerprints)
        for similarity in DataStructs.BulkTanimotoSimilarity(one, fingerprints[:at])
    ]
    found = Butina.ClusterData(distances, len(fingerprints), 1 - LEAST_SIMILARITY, isDistData=True, reordering=True)  # type: ignore[no-untyped-call]
    cluster_of = {at: number for number, members in enumerate(found) for at in members}
    numbers: dict[int, int] = {}
    return [numbers.setdefault(cluster_of[at], len(numbers) + 1) for at in range(len(fingerprints))]


def count_clusters(numbers: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return of each cluster its number, how many molecules it has, and the place of the first of them."""
    sizes = Counter(numbers)
    return [(number, sizes[number], numbers.index(number)) for number in sorted(sizes)]


def count_scaffolds(scaffolds: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return each scaffold, how many molecules have it, and the place of the first of them, the most frequent first."""
    places: dict[str, list[int]] = defaultdict(list)
    for at, scaffold in enumerate(scaffolds):
        places[scaffold].append(at)
    counted = [(scaffold, len(those), those[0]) for scaffold, those in places.items()]
    return sorted(counted, key=lambda entry: (-entry[1], entry[2]))
