"""The front of a run with several objectives (``task.pareto``), and its hypervolume."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evodiverse.ports import Highlight
from evodiverse.runlog.log import Log, Measurement, find_rises
from evodiverse.runlog.runs import Run
from evodiverse.search.pareto import SCORE, Front, Objective, are_objectives, measure_objectives, read_objective
from evodiverse.text import count_of


def find_objectives(settings: Mapping[str, Any], columns: Collection[str]) -> tuple[Objective, ...]:
    """Return the objectives of a run; empty for a run without several objectives.

    The settings may come from somebody else's log, so the result is also empty if they cannot be used.

    Args:
        settings: The settings of the run, by dotted key.
        columns: The columns of its log.
    """
    names = settings.get("task.pareto")
    found = [read_objective(name, columns) for name in names] if are_objectives(names) else []
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else ()


def find_objective_columns(run: Run) -> dict[str, type]:
    """Return the columns, besides the score, that the objectives of a run need; empty without several objectives."""
    if run.settings.get("task.pareto") is None:
        return {}
    objectives = find_objectives(run.settings, [SCORE, *run.own_columns()])
    return {one.column: float for one in objectives if one.column != SCORE}


def measure_pareto(log: Log) -> Measurement:
    """Return the metrics of a run with several objectives by name; empty for any other run.

    - ``hypervolume`` is the volume of the space between the front and 0 in all objectives, at the end. What is below 0
      does not count.
    - ``best_score`` is the highest score; None without scores.
    - ``front_size`` is the number of candidates on the front: the valid ones that no other one dominates.
    - ``curve.hypervolume_calls`` holds the calls that raised the hypervolume, and ``curve.hypervolume`` its values
      after these calls.

    Args:
        log: The run's log, with the columns of `find_objective_columns`.
    """
    if not find_objectives(log.run.settings, log.attempts):
        return {}
    front, volumes = _follow_front(log)
    calls, records = find_rises(volumes)
    return {
        "hypervolume": volumes[-1][1] if volumes else 0.0,
        "best_score": log.best_score,
        "front_size": len(front.calls),
        "curve.hypervolume_calls": calls,
        "curve.hypervolume": records,
    }


def follow_hypervolume(log: Log) -> list[tuple[int, float]]:
    """Return the hypervolume after each charged call that changed the front; empty without objectives.

    The calls are numbered as in `Log.counted_scores`.
    """
    return _follow_front(log)[1]


def measure_hypervolume(values: NDArray[np.float64]) -> float:
    """Return the volume of the points that are at least 0 and at most one of ``(n, d)`` values in each coordinate."""
    from moocore import hypervolume  # here since most runs do not need it

    return float(hypervolume(values, ref=np.zeros(values.shape[1]), maximise=True))


def highlight_front(log: Log) -> Highlight | None:
    """Return the candidates of the front to show first, the least crowded; None if there are none."""
    front, volumes = _follow_front(log)
    if not front.calls:
        return None
    names, shown = ", ".join(log.run.settings["task.pareto"]), front.spread()[:10]
    note = (
        f"{count_of(len(front.calls), 'candidate')} on the front of {names}: no other one is at least as good in all "
        f"of them and better in one. The hypervolume is {volumes[-1][1]:.4g}. Here the {len(shown)} least crowded."
    )
    return Highlight("Front", note, shown)


def _follow_front(log: Log) -> tuple[Front, list[tuple[int, float]]]:
    """Return the front at the end, empty without objectives, and what `follow_hypervolume` returns."""
    attempts, objectives = log.attempts, find_objectives(log.run.settings, log.attempts)
    front, volumes = Front(len(objectives)), []
    charged = enumerate(log.charged, start=1) if objectives else ()
    found = [(n, at) for n, at in charged if attempts["valid"][at] and attempts["score"][at] is not None]
    rows = [{one.column: attempts[one.column][at] for one in objectives} for _, at in found]
    for (n, at), values in zip(found, measure_objectives(rows, objectives), strict=True):
        if front.add(attempts["call"][at], values):
            volumes.append((n, measure_hypervolume(front.values)))
    return front, volumes
