"""Keeping things apart: of those that are alike only a few are taken."""

from collections.abc import Callable, Sequence

from evodiverse.search.sampling import FloatArray
from evodiverse.vocabulary import Hypothesis

Similarities = Callable[[Hypothesis, Sequence[Hypothesis]], FloatArray]
"""From a hypothesis and others to ``(n,)`` similarities in [0, 1], whatever the run did before."""


def keep_apart(
    hypotheses: Sequence[Hypothesis],
    size: int,
    share: int,
    radius: float,
    similarities: Similarities,
    certain: int = 0,
) -> list[int]:
    """Return the places of the hypotheses that are taken, in the order given, so that at most ``share`` are alike.

    One is passed over while ``share`` of those taken before are similar to it. Where too few are left, those passed
    over fill up, in their order.

    Args:
        hypotheses: The best first.
        size: How many are taken; fewer if there are fewer.
        share: At least 1.
        radius: Similarity, 0 to 1, from which two are alike.
        similarities: Of the task.
        certain: The first so many are taken, however similar.
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
