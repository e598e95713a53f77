"""The paper's metrics of molecule runs (paper, appendix on molecular discovery)."""

from math import ceil
from statistics import fmean

import numpy as np

from evodiverse.analysis.runs import Run
from evodiverse.tasks.molecules.diversity import diverse_top_mean

CONVERGED_ITERATIONS = 5


def diverse_top10_curve(run: Run) -> list[float]:
    """Return the mean score of the diversity-aware top 10 at each iteration, the initial one first.

    It is selected from the members of all pools together, a molecule in several pools counted once.
    """
    candidates = run.candidates()
    rows = run.columns("populations", ["iteration", "members"])
    members: dict[int, set[int]] = {}
    for iteration, calls in zip(rows["iteration"], rows["members"], strict=True):
        members.setdefault(iteration, set()).update(calls)
    curve = []
    for iteration in sorted(members):
        keys, scores = zip(*(candidates[call] for call in sorted(members[iteration])), strict=True)
        curve.append(diverse_top_mean(keys, np.array(scores)))
    return curve


def count_full_iterations(run: Run) -> int:
    """Return in how many iterations a run spends its budget when every slot charges one call; at least 1."""
    first = run.columns("evaluations", ["iteration", "call"])
    n_initial = sum(
        iteration == 0 and call is not None for iteration, call in zip(first["iteration"], first["call"], strict=True)
    )
    n_slots = len(run.settings["method.ladder"]) * int(run.settings["method.offspring"])
    n_full: int = ceil((run.settings["budget.oracle_calls"] - n_initial) / n_slots)
    return max(1, n_full)


def diverse_top10_auc(curve: list[float], n_iterations: int) -> float:
    """Return the mean of a curve over iterations 1 to ``n_iterations``, those after an early stop at its last value.

    Runs of one budget are thus compared over the same span, however early they stop. A curve that goes on for longer,
    because slots stayed empty, counts over its own length.

    Args:
        curve: Values from iteration 0.
        n_iterations: At least 1.
    """
    return fmean(curve[1:] + curve[-1:] * (n_iterations - len(curve) + 1))


def diverse_top10_average(curve: list[float]) -> float:
    """Return the mean of the last five iterations."""
    return fmean(curve[-CONVERGED_ITERATIONS:])


def swap_acceptance(run: Run) -> float | None:
    """Return the share of unblocked swaps that were accepted, None where none was tried."""
    rows = run.columns("swaps", ["accepted", "blocked"])
    tried = [accepted for accepted, blocked in zip(rows["accepted"], rows["blocked"], strict=True) if not blocked]
    return fmean(tried) if tried else None
