"""Novelty: proposals that are too similar to a member of their pool are rejected before they are evaluated."""

from collections.abc import Callable
from typing import Final

import numpy as np

from evodiverse.search.archive import Archive
from evodiverse.search.niches import Similarities
from evodiverse.search.sampling import IntArray
from evodiverse.vocabulary import Hypothesis, Reason, Rejection

Reject = Callable[[IntArray, Hypothesis], Rejection | None]
"""Why a proposal may not join a pool, given by its ``(n,)`` members; None if it may."""

# Rounding must not keep a copy, whose similarity is 1, from reaching a limit of 1.
_ROUNDING: Final = 1e-9


def reject_similar(limit: float, archive: Archive, similarities: Similarities) -> Reject:
    """Return the function that rejects a proposal whose similarity to a member of its pool is at least ``limit``.

    Args:
        limit: The limit, above 0 and at most 1.
        archive: The archive, which holds the members.
        similarities: The task's similarities.
    """

    def reject(members: IntArray, hypothesis: Hypothesis) -> Rejection | None:
        if not members.size:
            return None
        found = similarities(hypothesis, [archive.hypothesis(call) for call in members.tolist()])
        nearest = int(np.argmax(found))
        if found[nearest] < limit - _ROUNDING:
            return None
        return Rejection(Reason.TOO_SIMILAR, f"its similarity to call {members[nearest]} is {found[nearest]:.3f}")

    return reject
