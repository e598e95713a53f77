"""Bags of tokens, such as an equation's terms or a program's words: how alike they are, and as rows of numbers."""

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Bag = TypeVar("Bag")


def jaccard(one: Collection[str], others: Sequence[Collection[str]]) -> NDArray[np.float64]:
    """Return ``(n,)`` shares of the tokens of either that both have; two without tokens are alike."""
    tokens = set(one)
    shared = [(len(tokens & set(other)), len(tokens | set(other))) for other in others]
    return np.array([both / either if either else 1.0 for both, either in shared])


def cosine(one: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> NDArray[np.float64]:
    """Return ``(n,)`` cosines of the angles between counts; two without tokens are alike, else one without is 0."""
    norm = _norm(one)
    similarities = []
    for other in others:
        product = norm * _norm(other)
        dot = sum(count * other[token] for token, count in one.items() if token in other)
        similarities.append(min(dot / product, 1.0) if product else float(not one and not other))
    return np.array(similarities)


def select_apart(
    ranked: Iterable[Bag], limit: float, similarities: Callable[[Bag, Sequence[Bag]], NDArray[np.float64]]
) -> list[Bag]:
    """Return the bags that are less than ``limit`` similar to each that is returned before, in the order given."""
    taken: list[Bag] = []
    for bag in ranked:
        if (similarities(bag, taken) < limit).all():
            taken.append(bag)
    return taken


def hashed_counts(bags: Sequence[Mapping[str, int]], width: int) -> NDArray[np.float32]:
    """Return ``(n, width)`` counts of tokens, each in the column that its CRC-32 says: the same on every machine."""
    rows = np.zeros((len(bags), width), dtype=np.float32)
    for row, bag in zip(rows, bags, strict=True):
        for token, count in bag.items():
            row[zlib.crc32(token.encode("utf-8", "surrogatepass")) % width] += count
    return rows


def _norm(counts: Mapping[str, int]) -> float:
    return sqrt(sum(count * count for count in counts.values()))
