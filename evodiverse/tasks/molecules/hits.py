"""Hits of a run, and how many of them are different: metrics over all molecules evaluated, not only those in pools.

A hit is a molecule whose score reaches a threshold. Two molecules are different if their Tanimoto similarity (Morgan,
radius 2, 2048 bits) is below a limit. Different hits are selected greedily from the highest score to the lowest, with
ties in the order of the oracle calls: a hit counts if it is different from *each* hit counted before it.

The number of hits complements the mean score of selected molecules, such as the diversity-aware top 10. These are up to
ten molecules with high scores, each with a low average similarity to those selected before it. The mean can rise just
because a run finds fewer molecules, so that fewer are selected. The number of hits cannot rise for this reason.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Final

import numpy as np
from rdkit.SimDivFilters.rdSimDivPickers import LeaderPicker, MaxMinPicker

from evodiverse.runlog.log import Log, Measurement
from evodiverse.tasks.molecules.diversity import SIMILARITY_LIMIT, Bits, fingerprint, select_ranked

HIT_SCORES: Final = (0.5, 0.7)
LIMITS: Final = (SIMILARITY_LIMIT, 0.6)
HIT: Final = HIT_SCORES[0]
LIMIT: Final = LIMITS[0]
"""`HIT` is the score, and this the similarity limit, of the metrics that use only one score and one limit."""

N_TOP: Final = 10
PERCENTS: Final = range(10, 101, 10)
"""The shares of the budget, in percent, after which hits are counted."""

DIV_HITS_DISTANCE: Final = 0.7


def measure_hits(log: Log, fingerprint: Callable[[str], Bits] = fingerprint) -> Measurement:
    """Return the metrics of a run's hits.

    - ``hits_<score>`` is the number of hits, with ``<score>`` as the threshold.
    - ``different_hits_<score>_<limit>`` is the number of different hits, with ``<limit>`` as the similarity limit. The
      metrics below have no threshold or limit in their names, and use `HIT` and `LIMIT`.
    - ``div_hits`` is the #DivHits of Renz et al. (see `count_div_hits`), with the threshold `HIT`. The molecules
      that it counts are farther apart than `DIV_HITS_DISTANCE`.
    - ``different_top10`` is the mean score of the ten best pairwise different molecules, hits or not. If there are
      fewer than ten, each missing one counts as 0.
    - ``no_hit_percent`` is 100 for a run without a hit and 0 otherwise, so that its mean over runs is the percentage of
      runs without a hit.
    - ``hits_at_<percent>`` and ``different_hits_at_<percent>`` are the numbers of hits and of different hits after
      ``<percent>`` percent of the budget. After an early stop they keep their last value.
    - ``different_hits_auc`` is the mean number of different hits over the budget. The number is 0 at 0 percent of the
      budget, and is interpolated linearly between the values ``different_hits_at_<percent>``.

    Args:
        log: The run's log.
        fingerprint: A function that returns the fingerprint of a SMILES.
    """
    ranked = log.top(list(log.scores), len(log.scores))
    hits, bits = _find_hits(log, fingerprint, HIT)
    different = {limit: [hits[place] for place in find_different([*bits.values()], limit)] for limit in LIMITS}
    apart = select_ranked((log.keys[call] for call in ranked), N_TOP, LIMIT, fingerprint, max)
    return {
        **{f"hits_{score:g}": sum(log.scores[call] >= score for call in hits) for score in HIT_SCORES},
        # Hits with lower scores are visited later, so they do not change which hits with higher scores are selected.
        **{
            f"different_hits_{score:g}_{limit:g}": sum(log.scores[call] >= score for call in different[limit])
            for score in HIT_SCORES
            for limit in LIMITS
        },
        "div_hits": count_div_hits([bits[call] for call in sorted(hits)]),
        "different_top10": sum(log.scores[ranked[place]] for place in apart) / N_TOP,
        "no_hit_percent": 0.0 if hits else 100.0,
        **_count_by_calls(log, hits, bits),
    }


def count_hits(log: Log, threshold: float) -> Measurement:
    """Return those metrics of `measure_hits` that are about shares of the budget, with a threshold of one's own."""
    return _count_by_calls(log, *_find_hits(log, fingerprint, threshold))


def _find_hits(log: Log, fingerprint: Callable[[str], Bits], threshold: float) -> tuple[list[int], dict[int, Bits]]:
    """Return the calls of the hits, best first, and the fingerprint of each."""
    hits = [call for call in log.top(list(log.scores), len(log.scores)) if log.scores[call] >= threshold]
    return hits, {call: fingerprint(log.keys[call]) for call in hits}


def find_different(fingerprints: Sequence[Bits], limit: float) -> list[int]:
    """Visit fingerprints in order, and select each whose similarity to all selected before it is below ``limit``.

    Returns:
        The indices of the selected fingerprints.
    """
    if not fingerprints:
        return []
    return list(LeaderPicker().LazyBitVectorPick(fingerprints, len(fingerprints), 1 - limit))


def count_div_hits(fingerprints: Sequence[Bits]) -> float:
    """Return how many hits can be picked at pairwise Tanimoto distances above 0.7 (Renz et al. 2024, "#DivHits").

    As in the paper by Renz et al., the hits are put in random order, and RDKit's MaxMin algorithm picks some of them.
    It starts with the first hit, and then repeatedly picks the hit that is farthest from all hits picked before. The
    result is the mean over five orders drawn with seed 0, so that the same hits always give the same number. Renz et
    al. count only hits with drug-like properties; here all hits count.

    Args:
        fingerprints: The fingerprints of the hits, in the order of the oracle calls.
    """
    if not fingerprints:
        return 0.0
    stream, n = np.random.default_rng(0), len(fingerprints)
    orders = [[fingerprints[place] for place in stream.permutation(n)] for _ in range(5)]
    return fmean(len(pick_max_min(order)) for order in orders)


def pick_max_min(fingerprints: Sequence[Bits]) -> list[int]:
    """Return the indices that MaxMin picks, 0 first, until all others are within a distance of 0.7 of a pick."""
    n = len(fingerprints)
    picks, _ = MaxMinPicker().LazyBitVectorPickWithThreshold(fingerprints, n, n, DIV_HITS_DISTANCE, firstPicks=[0])
    return list(picks)


def _count_by_calls(log: Log, hits: Sequence[int], bits: dict[int, Bits]) -> Measurement:
    """Return ``hits_at_<percent>`` and ``different_hits_at_<percent>`` for `PERCENTS`, and ``different_hits_auc``.

    Different hits are a selection from the hits, made from the best to
    the worst: a hit is selected if its similarity to each hit selected before it is below `LIMIT`. For each percentage
    of the budget, the selection is made anew from all hits so far, so a better hit that comes later may replace several
    others.

    Args:
        log: The run's log.
        hits: The oracle calls that found the hits, best hit first.
        bits: The fingerprint of the hit that each of these calls found.
    """
    budget = int(log.run.settings["budget.oracle_calls"])
    counted = {log.attempts["call"][at]: n for n, at in enumerate(log.charged, start=1)}
    found = [[call for call in hits if 100 * counted[call] <= percent * budget] for percent in PERCENTS]
    by_size = {len(some): some for some in found}  # one selection for all shares of the budget with the same hits
    sizes = {n: len(find_different([bits[call] for call in some], LIMIT)) for n, some in by_size.items()}
    different = [sizes[len(some)] for some in found]
    return {
        **{f"hits_at_{percent}": len(some) for percent, some in zip(PERCENTS, found, strict=True)},
        **{f"different_hits_at_{percent}": count for percent, count in zip(PERCENTS, different, strict=True)},
        "different_hits_auc": fmean((one + other) / 2 for one, other in pairwise([0, *different])),
    }
