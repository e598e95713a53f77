"""Quality and diversity in the feature space of a run (``search.features``), on a grid as pyribs defines them."""

from collections.abc import Mapping
from math import floor, fsum, inf, isfinite
from typing import Any, Final

from evodiverse.runlog.log import Log, Measurement

N_CELLS: Final = 400
"""The number of cells of the grid, about: each feature is divided into the same number of intervals."""

_PREFIX: Final = "search.features."


def find_features(settings: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the columns that are the features of a run, each with its bounds; empty for a run without features.

    The settings may come from somebody else's log, so features without usable bounds are left out.
    """
    bounds = {key.removeprefix(_PREFIX): value for key, value in settings.items() if key.startswith(_PREFIX)}
    return {name: (value[0], value[1]) for name, value in bounds.items() if _are_bounds(value)}


def _are_bounds(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2 and all(isinstance(one, int | float) for one in value)
    return is_pair and all(map(isfinite, value)) and bool(0 < value[1] - value[0] < inf)


def count_intervals(n_features: int) -> int:
    """Return how many intervals each feature is divided into, so that the grid has about `N_CELLS` cells."""
    return max(2, round(float(N_CELLS ** (1 / n_features))))


def measure_features(log: Log) -> Measurement:
    """Return ``coverage`` and ``qd_score`` of all valid candidates that a run evaluated; empty without features.

    The grid divides the bounds of each feature into equal intervals; a value outside of the bounds belongs to the
    nearest interval. ``coverage`` is the share of the cells that hold a candidate, and ``qd_score`` is the sum of the
    best scores of these cells (pyribs: ``GridArchive`` with ``qd_score_offset=0``). A candidate that lacks a feature
    does not count.

    Args:
        log: The run's log, with the columns of `find_features`.
    """
    features = find_features(log.run.settings)
    if not features:
        return {}
    n = count_intervals(len(features))
    valid, columns = log.column("valid"), [log.column(name) for name in features]
    best: dict[tuple[int, ...], float] = {}
    for call, score in log.scores.items():
        values = [column[call] for column in columns]
        if valid[call] and all(value is not None and isfinite(value) for value in values):
            pairs = zip(values, features.values(), strict=True)
            shares = [(value - low) / (high - low) for value, (low, high) in pairs]
            cell = tuple(min(floor(n * min(max(share, 0.0), 1.0)), n - 1) for share in shares)
            best[cell] = max(best.get(cell, score), score)
    return {"coverage": len(best) / n ** len(features), "qd_score": fsum(best.values())}


def tell_features(log: Log) -> str | None:
    """Return a line about the feature space of a run; None for a run without features."""
    names, found = list(find_features(log.run.settings)), measure_features(log)
    if not found:
        return None
    n_cells = count_intervals(len(names)) ** len(names)
    return f"{', '.join(names)}: {found['coverage']:.1%} of {n_cells:,} cells covered, QD score {found['qd_score']:.4g}"
