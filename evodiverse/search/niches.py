"""Niches: among similar candidates, only a few are taken, and candidates of many niches come first."""

from collections.abc import Callable, Sequence

import numpy as np

from evodiverse.search.sampling import FloatArray, IntArray
from evodiverse.vocabulary import Hypothesis

Similarities = Callable[[Hypothesis, Sequence[Hypothesis]], FloatArray]
"""A function of one hypothesis and ``n`` others that returns ``(n,)`` similarities in [0, 1]."""


def keep_apart(
    hypotheses: Sequence[Hypothesis],
    size: int,
    share: int,
    radius: float,
    similarities: Similarities,
    certain: int = 0,
) -> list[int]:
    """Choose ``size`` hypotheses, only a few of which are similar to each other, and return their indices.

    A hypothesis is skipped if at least ``share`` of those taken before are similar to it. If fewer than ``size`` are
    taken in this way, the first skipped ones are added at the end.

    Args:
        hypotheses: The hypotheses, the preferred ones first.
        size: How many to choose; all are chosen if there are fewer.
        share: How many may be similar to each other, at least 1.
        radius: The similarity in [0, 1] at or above which two hypotheses count as similar.
        similarities: The task's function that compares hypotheses.
        certain: How many hypotheses at the start of the list are taken even if they are similar.
    """
    taken: list[int] = []
    passed: list[int] = []
    for place, hypothesis in enumerate(hypotheses):
        if len(taken) == size:
            break
        is_crowded = False
        if place >= certain and len(taken) >= share:
            alike = similarities(hypothesis, [hypotheses[other] for other in taken]) >= radius
            is_crowded = int(alike.sum()) >= share
        (passed if is_crowded else taken).append(place)
    return taken + passed[: size - len(taken)]


class Niches:
    """Assigns hypotheses to niches, which are numbered from 0.

    The first hypothesis founds a niche. Each other one joins the first niche whose founder is similar to it, and founds
    a niche if there is none.

    Args:
        radius: The similarity in [0, 1] at or above which two hypotheses count as similar.
        similarities: The task's function that compares hypotheses; it is symmetric.
    """

    def __init__(self, radius: float, similarities: Similarities) -> None:
        self._radius, self._similarities = radius, similarities
        self._founders: list[Hypothesis] = []

    def assign(self, hypotheses: Sequence[Hypothesis]) -> IntArray:
        """Return the ``(n,)`` numbers of the niches of ``n`` hypotheses, which are assigned in order."""
        niches = np.empty(len(hypotheses), dtype=np.int64)
        free = np.arange(len(hypotheses))
        niche = 0
        while free.size:
            is_new = niche == len(self._founders)
            if is_new:
                self._founders.append(hypotheses[free[0]])
            others = [hypotheses[at] for at in free.tolist()]
            joins = self._similarities(self._founders[niche], others) >= self._radius
            joins[0] |= is_new  # whatever a task says about the similarity of a hypothesis to itself
            niches[free[joins]] = niche
            free = free[~joins]
            niche += 1
        return niches


def spread(niches: IntArray, share: int) -> IntArray:
    """Return the order of a ranking in which no niche crowds out the others.

    The first ``share`` candidates of each niche come first, then the second ``share`` of each, and so on; among these,
    the order stays.

    Args:
        niches: ``(n,)`` numbers of the niches of ranked candidates, the best first.
        share: How many candidates of a niche stay together, at least 1.

    Returns:
        ``(n,)`` indices.
    """
    grouped = np.argsort(niches, kind="stable")
    starts = np.flatnonzero(np.diff(niches[grouped], prepend=-1))
    places = np.empty(niches.size, dtype=np.int64)
    places[grouped] = np.arange(niches.size) - np.repeat(starts, np.diff(starts, append=niches.size))
    return np.argsort(places // share, kind="stable")
