"""How different the molecules of a set are: Tanimoto similarity of Morgan fingerprints (radius 2, 2048 bits)."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from evodiverse.tasks.molecules.parsing import molecule_of

SIMILARITY_LIMIT = 0.4

_N_BITS = 2048
_GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=_N_BITS)


@lru_cache(maxsize=50_000)
def fingerprint(smiles: str) -> DataStructs.ExplicitBitVect:
    """Return the Morgan fingerprint of a valid SMILES."""
    return molecule_fingerprint(molecule_of(smiles))


def molecule_fingerprint(molecule: Chem.Mol) -> DataStructs.ExplicitBitVect:
    """Return the Morgan fingerprint of a molecule."""
    bits: DataStructs.ExplicitBitVect = _GENERATOR.GetFingerprint(molecule)
    return bits


def unpack(fingerprints: Sequence[DataStructs.ExplicitBitVect]) -> NDArray[np.float32]:
    """Return the bits of fingerprints as ``(n, 2048)`` numbers, 0 or 1."""
    packed = b"".join(DataStructs.BitVectToBinaryText(bits) for bits in fingerprints)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(-1, _N_BITS // 8)
    return np.unpackbits(rows, axis=1, bitorder="little").astype(np.float32)


def select_diverse(
    smiles: Sequence[str],
    scores: NDArray[np.float64],
    count: int,
    limit: float = SIMILARITY_LIMIT,
    fingerprint: Callable[[str], DataStructs.ExplicitBitVect] = fingerprint,
) -> list[int]:
    """Select good and different molecules greedily (paper, "Diversity-aware selection").

    In order of falling score, a molecule is taken if its *average* Tanimoto similarity to those taken before is below
    ``limit``; nothing fills up a selection that stays short.

    Args:
        smiles: ``(n,)`` valid SMILES, all different.
        scores: ``(n,)``, higher is better; equal scores keep the order given.
        count: At most so many are selected.
        limit: Average similarity, 0 to 1, that a molecule must stay below.
        fingerprint: Returns that of a SMILES.

    Returns:
        Up to ``count`` indices in the order selected.
    """
    ranked = np.argsort(-scores, kind="stable").tolist()
    return [ranked[place] for place in select_ranked((smiles[index] for index in ranked), count, limit, fingerprint)]


def select_ranked(
    ranked: Iterable[str],
    count: int,
    limit: float = SIMILARITY_LIMIT,
    fingerprint: Callable[[str], DataStructs.ExplicitBitVect] = fingerprint,
) -> list[int]:
    """Return which of the SMILES ``select_diverse`` takes, by their places in the order given, best first."""
    return _select(ranked, count, limit, fingerprint, lambda similarities: sum(similarities) / len(similarities))


def select_apart(
    ranked: Iterable[str],
    count: int,
    limit: float = SIMILARITY_LIMIT,
    fingerprint: Callable[[str], DataStructs.ExplicitBitVect] = fingerprint,
) -> list[int]:
    """Return the places of the first ``count`` SMILES whose similarity to *each* taken before is below ``limit``."""
    return _select(ranked, count, limit, fingerprint, max)


def _select(
    ranked: Iterable[str],
    count: int,
    limit: float,
    fingerprint: Callable[[str], DataStructs.ExplicitBitVect],
    summary: Callable[[Sequence[float]], float],
) -> list[int]:
    """Return the places of the first ``count`` whose similarities to those taken before are below ``limit`` in summary.

    Args:
        ranked: SMILES, the best first.
        count: At most so many are taken.
        limit: Similarity, 0 to 1.
        fingerprint: Returns that of a SMILES.
        summary: Of at least one similarity.
    """
    selected: list[int] = []
    taken: list[DataStructs.ExplicitBitVect] = []
    for place, smiles in enumerate(ranked):
        if len(selected) == count:
            break
        candidate = fingerprint(smiles)
        if not taken or summary(DataStructs.BulkTanimotoSimilarity(candidate, taken)) < limit:
            selected.append(place)
            taken.append(candidate)
    return selected


def diverse_top_mean(smiles: Sequence[str], scores: NDArray[np.float64], count: int = 10) -> float:
    """Return the mean score of the diversity-aware top ``count``, NaN for no molecules."""
    selected = select_diverse(smiles, scores, count)
    return float(scores[selected].mean()) if selected else float("nan")
