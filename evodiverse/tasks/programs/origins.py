"""The pools that the best programs come from (paper, "Pool Origin (Top-100)")."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

Origin: TypeAlias = int | None
"""The pool that proposed a candidate; None for a candidate that all pools start from."""


def pool_shares(scores: Sequence[float], origins: Sequence[Origin], top: int = 100) -> dict[Origin, float]:
    """Return each pool's share of the best candidates (paper, "Pool Origin (Top-100)").

    Args:
        scores: ``(n,)`` scores, finite, higher is better, oldest candidate first. Of candidates with equal scores, the
            older ranks higher.
        origins: ``(n,)`` origins of the candidates; None, for candidates of no single pool, counts as one more origin.
        top: The number of best candidates that count, at least 1; all count if there are fewer.

    Returns:
        The share of every origin in ``origins``, from 0 to 1, pools in ascending order and None last. The shares sum to
        1. The result is empty if ``origins`` is empty.

    Raises:
        ValueError: ``scores`` and ``origins`` differ in length.
    """
    ranked = sorted(zip(scores, origins, strict=True), key=lambda pair: -pair[0])[:top]
    counts = Counter(origin for _, origin in ranked)
    pools = sorted({origin for origin in origins if origin is not None})
    others: list[Origin] = [None] if None in origins else []
    return {origin: counts[origin] / len(ranked) for origin in [*pools, *others]}
