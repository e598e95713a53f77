"""The paper's metrics of equation runs (paper, "Equation Discovery" and its appendix)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any, Final

from evodiverse.analysis.runs import Run
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.programs.diversity import Vectors, measure_diversity

N_TOP: Final = 10
Encode = Callable[[Sequence[str]], Vectors]
"""Returns the vectors ``(n, dimensions)`` of programs."""


@dataclass(frozen=True, slots=True)
class EquationResult:
    """The metrics of one run; which equation is best, the error on what was fitted decides.

    None where nothing was held out; an NMSE is infinite where a prediction is no number.

    Attributes:
        best_nmse: NMSE of the best equation on the held-out data from the same domain.
        top_nmse: Mean of the same of the best 10.
        best_acc: Whether all its predictions there are within 10%, 1 or 0.
        top_acc: Mean of the same of the best 10.
        best_lenient: Whether 95% of them are.
        top_lenient: Mean of the same of the best 10.
        best_ood: NMSE of the best equation on the held-out data from beyond the domain.
        diversity: By encoder, the mean over the final pools of the mean pairwise distance within each.
    """

    best_nmse: float | None
    top_nmse: float | None
    best_acc: float | None
    top_acc: float | None
    best_lenient: float | None
    top_lenient: float | None
    best_ood: float | None
    diversity: Mapping[str, float]


def find_domain(run: Run) -> str:
    """Return the science that a run's problem is of, or the problem where that is a user's own."""
    problem = str(run.settings.get("task.problem"))
    source, _, name = problem.partition("/")
    return PROBLEMS[name].domain if source == "builtin" and name in PROBLEMS else problem


def measure_equations(run: Run, encoders: Mapping[str, Encode]) -> EquationResult:
    """Return the metrics of an equation run.

    Args:
        run: A complete one.
        encoders: By name.
    """
    names = [
        *("call", "genotype", "score", "nmse_id", "nmse_ood"),
        *("acc01_id", "acc01_95_id", "acc01_ood"),
    ]
    columns = run.columns("evaluations", names)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    scored = [row for row in rows if row["call"] is not None and row["score"] is not None]
    top = sorted(scored, key=lambda row: (-row["score"], row["call"]))[:N_TOP]
    nmse = [_nmse(row, "id") for row in top]
    strict, lenient = ([row[name] for row in top] for name in ("acc01_id", "acc01_95_id"))
    genotypes = {row["call"]: row["genotype"] for row in scored}
    return EquationResult(
        best_nmse=nmse[0],
        top_nmse=_mean(nmse),
        best_acc=strict[0],
        top_acc=_mean(strict),
        best_lenient=lenient[0],
        top_lenient=_mean(lenient),
        best_ood=_nmse(top[0], "ood"),
        diversity={name: _diversity(run, genotypes, encode) for name, encode in encoders.items()},
    )


def _diversity(run: Run, genotypes: Mapping[int, str], encode: Encode) -> float:
    union, pools = run.final_pools()
    diversity = measure_diversity(encode([genotypes[call] for call in union]), pools)
    return fmean(diversity.pools)


def _nmse(row: Mapping[str, Any], split: str) -> float | None:
    """Return the NMSE on a split, None where there is none; without one a prediction is no number."""
    if row[f"acc01_{split}"] is None:
        return None
    nmse: float | None = row[f"nmse_{split}"]
    return inf if nmse is None else nmse


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
