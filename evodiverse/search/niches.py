"""Niches: among similar candidates, only a few are taken."""

from collections.abc import Callable, Sequence

from evodiverse.search.sampling import FloatArray
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
