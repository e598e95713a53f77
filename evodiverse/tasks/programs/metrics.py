"""The paper's metrics of circle-packing runs (paper, "Algorithm Discovery" and "Detailed Diversity Metrics")."""

from collections.abc import Mapping
from typing import Final

from evodiverse.diversity.distances import Encode, mean_cosine_distance, measure_diversity
from evodiverse.ports import Subject, Tools
from evodiverse.runlog.log import Log
from evodiverse.runlog.values import Measurement, Value, known, mean
from evodiverse.tasks.programs.origins import pool_shares

N_TOP: Final = 100
COLUMNS: Final = ("genotype", "sum_radii", "strict_sum")


class PackingMetrics:
    """The metrics of circle-packing runs, see `evodiverse.ports.Metrics`."""

    kind = "circle packing"
    columns = COLUMNS
    targets = (0.85, 0.9, 0.95)  # the sum of radii over 2.635
    libraries = ("scikit-learn",)
    reads_texts = True
    subject = Subject(counts_proposals=True)

    def measure(self, log: Log, tools: Tools) -> Measurement:
        """Return what `measure_packing` does."""
        return measure_packing(log, tools.encoders)


class ProgramMetrics:
    """The metrics of programs that a user's evaluator scores: none but those of every search."""

    kind = "programs"
    columns = ()
    targets = ()
    libraries = ()
    reads_texts = False
    subject = Subject(counts_proposals=True)

    def measure(self, log: Log, tools: Tools) -> Measurement:  # noqa: ARG002
        """Return no metrics."""
        return {}


def measure_packing(log: Log, encoders: Mapping[str, Encode]) -> Measurement:
    """Return the metrics of a circle-packing run.

    Sums are of radii, of valid packings: ``best_sum`` is the largest, ``strict_sum`` the largest after all overlaps
    have been given up, ``top100_sum`` the mean of the best 100 of the run, or of all; 0 if none is valid.
    ``pool_origin`` has the percentage of those 100 that each pool proposed, the initial program's in none.
    ``diversity`` is that of the final pools' programs, each counted once, and ``pool_diversity`` that of each pool,
    cold to hot; ``run_diversity`` is that of all valid programs of the run (paper, table ``mh_ablation_algo``).

    Args:
        log: The run's log, with `COLUMNS`.
        encoders: By name, which is appended to those of the diversities.
    """
    genotypes, totals, strict = (log.column(name) for name in COLUMNS)
    valid = log.column("valid")
    packed = [call for call in sorted(totals) if valid[call]]
    best = sorted((totals[call] for call in packed), reverse=True)
    return {
        "best_sum": best[0] if best else 0.0,
        "strict_sum": max((strict[call] for call in packed), default=0.0),
        "top100_sum": mean(best[:N_TOP]) or 0.0,
        "pool_origin": _origin_percentages(log, packed, totals),
        **_measure_diversity(log, genotypes, packed, encoders),
    }


def _origin_percentages(log: Log, packed: list[int], totals: Mapping[int, float]) -> list[float | None]:
    origins = log.column("pool")
    shares = pool_shares([totals[call] for call in packed], [origins[call] for call in packed], N_TOP)
    return [100 * shares.get(pool, 0.0) for pool in range(len(log.states[-1]))]


def _measure_diversity(
    log: Log,
    genotypes: Mapping[int, str],
    packed: list[int],
    encoders: Mapping[str, Encode],
) -> Measurement:
    pools = [log.final_places(pool) for pool in log.states[-1]]
    found: dict[str, Value] = {}
    for name, encode in encoders.items():
        final = measure_diversity(encode([genotypes[call] for call in log.final_union]), pools)
        found[f"diversity.{name}"] = known(final.overall)
        found[f"pool_diversity.{name}"] = [known(pool) for pool in final.pools]
        found[f"run_diversity.{name}"] = known(mean_cosine_distance(encode([genotypes[call] for call in packed])))
    return found
