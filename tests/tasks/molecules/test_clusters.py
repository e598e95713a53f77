"""Clusters of molecules as Butina defines them."""

import numpy as np
from rdkit import DataStructs

from evodiverse.tasks.molecules.diversity import fingerprint
from evodiverse.tasks.molecules.report import LEAST_SIMILARITY, find_clusters

RINGS = ("c1ccccc1", "C1CCNCC1", "c1ccncc1O", "C1CC1", "c1ccc2[nH]ccc2c1")
RELATIVES = [f"{'C' * n}{ring}" for n in range(2, 14) for ring in RINGS]


def test_members_are_similar_to_a_center_and_the_first_cluster_is_the_largest() -> None:
    bits = [fingerprint(smiles) for smiles in RELATIVES]
    similar = np.array([DataStructs.BulkTanimotoSimilarity(one, bits) for one in bits]) >= LEAST_SIMILARITY
    numbers = np.array(find_clusters(bits))
    clusters = [np.flatnonzero(numbers == number) for number in range(1, numbers.max() + 1)]
    assert all(any(similar[center][members].all() for center in members) for members in clusters)
    assert max(map(len, clusters)) == similar.sum(axis=1).max() > 5
    assert 5 <= len(clusters) < len(RELATIVES) / 2


def test_clusters_are_numbered_as_they_occur() -> None:
    bits = [fingerprint(smiles) for smiles in ("CCO", "c1ccccc1CCN", "CCO", "c1ccccc1CCN", "O=C=O")]
    assert find_clusters(bits) == [1, 2, 1, 2, 3]
    assert find_clusters(bits[:1]) == [1]
