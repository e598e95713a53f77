"""Selecting diverse molecules by the Tanimoto similarities of their Morgan fingerprints (radius 2, 2048 bits)."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from evodiverse.tasks.molecules.parsing import logged_molecule, molecule_of

Bits = DataStructs.ExplicitBitVect

SIMILARITY_LIMIT = 0.4

N_BITS = 2048
_GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=N_BITS)
_COUNTER = rdFingerprintGenerator.GetMorganGenerator(radius=3, fpSize=N_BITS)


@lru_cache(maxsize=50_000)
def fingerprint(smiles: str) -> Bits:
    """Return the Morgan fingerprint of a valid SMILES (see `logged_molecule`)."""
    return molecule_fingerprint(logged_molecule(smiles))


def molecule_fingerprint(molecule: Chem.Mol) -> Bits:
    """Return the Morgan fingerprint of a molecule."""
    bits: Bits = _GENERATOR.GetFingerprint(molecule)
    return bits


def count_features(smiles: str) -> NDArray[np.uint32]:
    """Return the ``(2048,)`` counts of the Morgan environments of a valid SMILES, up to radius 3."""
    counts: NDArray[np.uint32] = _COUNTER.GetCountFingerprintAsNumPy(molecule_of(smiles))
    return counts


def unpack(fingerprints: Iterable[Bits]) -> NDArray[np.uint8]:
    """Return the bits of ``n`` fingerprints as a ``(n, 2048)`` uint8 array of 0 and 1; n may be 0."""
    packed = b"".join(DataStructs.BitVectToBinaryText(bits) for bits in fingerprints)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(-1, N_BITS // 8)
    return np.unpackbits(rows, axis=1, bitorder="little")


def pairwise_distances(fingerprints: Sequence[Bits]) -> list[float]:
    """Return one minus the Tanimoto similarity of each pair, in the order 1 and 0, 2 and 0, 2 and 1, 3 and 0."""
    return [
        1 - similarity
        for at, one in enumerate(fingerprints)
        for similarity in DataStructs.BulkTanimotoSimilarity(one, fingerprints[:at])
    ]


def select_by_average(
    smiles: Sequence[str], scores: NDArray[np.float64], count: int, limit: float = SIMILARITY_LIMIT
) -> list[int]:
    """Select good molecules that are not too similar on average (paper, "Diversity-aware selection").

    Molecules are visited from the highest score to the lowest. A molecule is selected if its *average* Tanimoto
    similarity to those selected before it is below ``limit``, so two selected molecules may be very similar. Only the
    paper's metrics use this; molecules count as different if each similarity is below the limit. The selection may
    hold fewer than ``count`` molecules.

    Args:
        smiles: ``(n,)`` valid SMILES; one that occurs twice may be selected twice.
        scores: ``(n,)`` scores, higher is better; ties keep the given order.
        count: The maximum number of molecules to select.
        limit: The average similarity, 0 to 1, that a molecule must stay below.

    Returns:
        Up to ``count`` indices in the order of selection.
    """
    ranked = np.argsort(-scores, kind="stable").tolist()
    selected = select_ranked((smiles[index] for index in ranked), count, limit)
    return [ranked[place] for place in selected]


def average(similarities: Sequence[float]) -> float:
    """Return the mean of one or more similarities."""
    return sum(similarities) / len(similarities)


def select_ranked(
    ranked: Iterable[str],
    count: int,
    limit: float = SIMILARITY_LIMIT,
    fingerprint: Callable[[str], Bits] = fingerprint,
    summary: Callable[[Sequence[float]], float] = average,
) -> list[int]:
    """Visit molecules from best to worst, and select each that is not too similar to those selected before it.

    Args:
        ranked: Valid SMILES, best first.
        count: The maximum number of molecules to select.
        limit: The value, 0 to 1, that the summary must stay below.
        fingerprint: A function that returns the fingerprint of a SMILES.
        summary: A function that reduces the similarities of a molecule to the selected ones to one number. With
            ``max``, all selected molecules are different.

    Returns:
        The indices of the selected molecules. The first molecule is always selected.
    """
    selected: list[int] = []
    taken: list[Bits] = []
    for place, smiles in enumerate(ranked):
        if len(selected) == count:
            break
        candidate = fingerprint(smiles)
        if not taken or summary(DataStructs.BulkTanimotoSimilarity(candidate, taken)) < limit:
            selected.append(place)
            taken.append(candidate)
    return selected


def diverse_top_mean(smiles: Sequence[str], scores: NDArray[np.float64], count: int = 10) -> float:
    """Return the mean score of the molecules that `select_by_average` selects, or NaN if there are none.

    Args:
        smiles: ``(n,)`` valid SMILES, all different.
        scores: ``(n,)`` scores, higher is better; ties keep the given order.
        count: The maximum number of molecules to select.
    """
    selected = select_by_average(smiles, scores, count)
    return float(scores[selected].mean()) if selected else float("nan")
