"""Similarities and feature vectors of bags of tokens, such as the terms of an equation or the tokens of a program."""

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Bag = TypeVar("Bag")


def jaccard(one: Collection[str], others: Sequence[Collection[str]]) -> NDArray[np.float64]:
    """Return the ``(n,)`` Jaccard similarities of a set of tokens to n others, in [0, 1]; 1 for two empty sets."""
    tokens = set(one)
    shared = [(len(tokens & set(other)), len(tokens | set(other))) for other in others]
    return np.array([both / either if either else 1.0 for both, either in shared])


def cosine(one: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> NDArray[np.float64]:
    """Return the ``(n,)`` cosine similarities of the token counts of a bag to those of n others, in [0, 1].

    An empty bag has similarity 1 to another empty bag and 0 to any other.
    """
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
    """Select bags of tokens greedily, each with a similarity below ``limit`` to all bags selected before it.

    A bag is given in any form that ``similarities`` accepts, such as a set of tokens or a mapping of tokens to counts.

    Args:
        ranked: The bags, in the order in which they are considered.
        limit: The similarity at or above which two bags are not both selected.
        similarities: A function such as `jaccard`. It is called with each bag and the n bags selected so far, and
            returns the ``(n,)`` similarities of the bag to them.

    Returns:
        The selected bags, in the order of ``ranked``.
    """
    taken: list[Bag] = []
    for bag in ranked:
        if (similarities(bag, taken) < limit).all():
            taken.append(bag)
    return taken


def hashed_counts(bags: Sequence[Mapping[str, int]], width: int) -> NDArray[np.float32]:
    """Return the ``(n, width)`` feature vectors of n bags: the counts of tokens, each in the column given by its hash.

    The hash is CRC-32, so a token has the same column on every machine. Tokens may share a column, which then has the
    sum of their counts.
    """
    rows = np.zeros((len(bags), width), dtype=np.float32)
    for row, bag in zip(rows, bags, strict=True):
        for token, count in bag.items():
            row[zlib.crc32(token.encode("utf-8", "surrogatepass")) % width] += count
    return rows


def _norm(counts: Mapping[str, int]) -> float:
    return sqrt(sum(count * count for count in counts.values()))
