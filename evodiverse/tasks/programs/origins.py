"""Which pool the best programs come from (paper, "Pool Origin (Top-100)")."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

Origin: TypeAlias = int | None
"""The pool that proposed a candidate, None for one that all pools began with."""


def pool_shares(scores: Sequence[float], origins: Sequence[Origin], top: int = 100) -> dict[Origin, float]:
    """Return the share that each pool of origin has in the best candidates (paper, "Pool Origin (Top-100)").

    Args:
        scores: ``(n,)``, finite, higher is better, the oldest candidate first; of equal scores the older is better.
        origins: ``(n,)``; candidates of no one pool count as one more origin, None.
        top: How many are the best, at least 1; all if there are fewer.

    Returns:
        0 to 1 for every origin there is, pools in order and None last, in sum 1; empty for no candidates.

    Raises:
        ValueError: ``scores`` and ``origins`` differ in length.
    """
    ranked = sorted(zip(scores, origins, strict=True), key=lambda pair: -pair[0])[:top]
    counts = Counter(origin for _, origin in ranked)
    pools = sorted({origin for origin in origins if origin is not None})
    others: list[Origin] = [None] if None in origins else []
    return {origin: counts[origin] / len(ranked) for origin in [*pools, *others]}
