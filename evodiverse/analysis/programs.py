"""The paper's metrics of circle-packing runs (paper, "Algorithm Discovery" and "Detailed Diversity Metrics")."""

from dataclasses import dataclass
from statistics import fmean

from evodiverse.analysis.runs import Run
from evodiverse.tasks.programs.diversity import Diversity, Origin, pool_shares, program_diversity

N_TOP = 100


@dataclass(frozen=True, slots=True)
class PackingResult:
    """The metrics of one run.

    Attributes:
        best_sum: Largest sum of radii of a valid packing, 0 if none is valid.
        strict_sum: The same of the sums after all overlaps have been given up.
        top_mean: Mean sum of the best 100 valid packings of the run, of all if there are fewer.
        diversity: TF-IDF diversity of the final pools' programs, their union and each pool's.
        shares: Share of each pool of origin in the best 100.
    """

    best_sum: float
    strict_sum: float
    top_mean: float
    diversity: Diversity
    shares: dict[Origin, float]


def measure_packing(run: Run) -> PackingResult:
    """Return the metrics of a circle-packing run.

    Raises:
        InputError: scikit-learn is not installed.
    """
    names = ["call", "pool", "genotype", "valid", "sum_radii", "strict_sum"]
    columns = run.columns("evaluations", names)
    rows = [row for row in zip(*columns.values(), strict=True) if row[0] is not None]
    rows.sort(key=lambda row: row[0])
    genotypes = {call: genotype for call, _, genotype, *_ in rows}
    valid = [(pool, total, strict) for _, pool, _, is_valid, total, strict in rows if is_valid]
    totals = sorted((total for _, total, _ in valid), reverse=True)
    return PackingResult(
        best_sum=totals[0] if totals else 0.0,
        strict_sum=max((strict for _, _, strict in valid), default=0.0),
        top_mean=fmean(totals[:N_TOP]) if totals else 0.0,
        diversity=_final_diversity(run, genotypes),
        shares=pool_shares([total for _, total, _ in valid], [pool for pool, _, _ in valid], N_TOP),
    )


def _final_diversity(run: Run, genotypes: dict[int, str]) -> Diversity:
    """Return the diversity of the last iteration's pools, each program of their union counted once."""
    union, pools = run.final_pools()
    return program_diversity([genotypes[call] for call in union], pools)
