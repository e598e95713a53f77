"""The paper's metrics of equation runs (paper, "Equation Discovery" and its appendix)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Final

from evodiverse.analysis.runs import Run
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.programs.diversity import Vectors, measure_diversity

N_TOP: Final = 10
OWN_DATA: Final = "own data"
Encode = Callable[[Sequence[str]], Vectors]
"""Returns the vectors ``(n, dimensions)`` of programs."""


@dataclass(frozen=True, slots=True)
class EquationResult:
    """The metrics of one run; which equation is best, the error on what was fitted decides.

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

    best_nmse: float
    top_nmse: float
    best_acc: float
    top_acc: float
    best_lenient: float
    top_lenient: float
    best_ood: float
    diversity: Mapping[str, float]


def find_domain(run: Run) -> str:
    """Return the science that a run's problem is of."""
    source, _, name = str(run.settings.get("task.problem")).partition("/")
    return PROBLEMS[name].domain if source == "builtin" and name in PROBLEMS else OWN_DATA


def measure_equations(run: Run, encoders: Mapping[str, Encode]) -> EquationResult:
    """Return the metrics of an equation run; an NMSE is infinite where predictions are no numbers.

    Args:
        run: A complete one.
        encoders: By name.
    """
    names = ["call", "genotype", "score", "nmse_id", "nmse_ood", "acc01_id", "acc01_95_id"]
    columns = run.columns("evaluations", names)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    scored = [row for row in rows if row["call"] is not None and row["score"] is not None]
    top = sorted(scored, key=lambda row: (-row["score"], row["call"]))[:N_TOP]
    nmse = [_or_infinite(row["nmse_id"]) for row in top]
    strict, lenient = ([float(row[name] or 0) for row in top] for name in ("acc01_id", "acc01_95_id"))
    genotypes = {row["call"]: row["genotype"] for row in scored}
    return EquationResult(
        best_nmse=nmse[0],
        top_nmse=fmean(nmse),
        best_acc=strict[0],
        top_acc=fmean(strict),
        best_lenient=lenient[0],
        top_lenient=fmean(lenient),
        best_ood=_or_infinite(top[0]["nmse_ood"]),
        diversity={name: _diversity(run, genotypes, encode) for name, encode in encoders.items()},
    )


def _diversity(run: Run, genotypes: Mapping[int, str], encode: Encode) -> float:
    union, pools = run.final_pools()
    diversity = measure_diversity(encode([genotypes[call] for call in union]), pools)
    return fmean(diversity.pools)


def _or_infinite(value: float | None) -> float:
    return inf if value is None else value
