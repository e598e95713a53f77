"""The rules that end a search."""

from dataclasses import replace
from enum import StrEnum

from evodiverse.search.settings import Search
from evodiverse.search.state import Progress


class StopReason(StrEnum):
    """The rule of the search that ended a run, as ``stopped_by`` in ``run.json`` names it.

    If something else ended the run, such as a cap on its cost, ``stopped_by`` has a value that is not listed here.
    """

    TARGET = "target"
    BUDGET = "budget"
    EARLY_STOP = "early_stop"
    PATIENCE = "patience"


def count_progress(
    progress: Progress, top_mean: float, n_slots: int, period: int, search: Search, *, charged: bool
) -> Progress:
    """Return the counters of the stop rules after an iteration.

    The counters count periods: iterations, or several small iterations together.

    Args:
        progress: The counters before the iteration.
        top_mean: The value of `Archive.top_mean` after the iteration.
        n_slots: The number of slots of the iteration (see `Method.size`).
        period: The number of slots of a period.
        search: The settings, with the gain below which a period counts as stalled.
        charged: Whether any proposal of the iteration was counted as an oracle call.
    """
    waited, charged = progress.waited + n_slots, charged or progress.charged
    if waited < period:
        return replace(progress, waited=waited, charged=charged)
    idle = 0 if charged else progress.idle + 1
    early_stop = search.early_stop
    gained = early_stop is None or progress.top_mean is None or not top_mean - progress.top_mean < early_stop.gain
    return Progress(idle, 0 if gained else progress.stalled + 1, top_mean)


def stop_reason(progress: Progress, calls_left: int, best_score: float | None, search: Search) -> StopReason | None:
    """Return why the search ends now; None if it continues.

    The target is checked first, then budget, early stop and patience. ``best_score`` is None before the first score.
    """
    if search.target is not None and best_score is not None and best_score > search.target:
        return StopReason.TARGET
    if calls_left <= 0:
        return StopReason.BUDGET
    early_stop = search.early_stop
    if early_stop is not None and early_stop.patience is not None and progress.stalled >= early_stop.patience:
        return StopReason.EARLY_STOP
    if progress.idle >= search.patience:
        return StopReason.PATIENCE
    return None
