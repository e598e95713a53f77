"""The paper's metrics of circle-packing runs (paper, "Algorithm Discovery" and "Detailed Diversity Metrics").

Those of all program runs count the programs that are nearly as good as the best.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from evodiverse.diversity.bags import cosine, select_apart
from evodiverse.diversity.distances import Encode, mean_cosine_distance, measure_diversity
from evodiverse.diversity.tfidf import find_tokens
from evodiverse.ports import Subject, Tools
from evodiverse.runlog.log import Log
from evodiverse.runlog.values import Measurement, Value, find_rises, known, mean
from evodiverse.tasks.programs.origins import pool_shares

N_TOP: Final = 100
NEAR_BEST: Final = 0.99
"""Share of the best score from which on a program is as good."""

SAME_PROGRAM: Final = 0.98
"""Cosine of token counts from which on two programs do not differ: the radius of a niche by default."""

COLUMNS: Final[Mapping[str, type]] = MappingProxyType({"genotype": str, "sum_radii": float, "strict_sum": float})


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


class TaskMetrics:
    """The metrics of the other tasks that come along, whose logs have a ``value``, see `evodiverse.ports.Metrics`."""

    kind = "program tasks"
    columns: Mapping[str, type] = MappingProxyType({"genotype": str, "value": float})
    targets = ()
    libraries = ()
    reads_texts = False
    subject = Subject(counts_proposals=True)

    def measure(self, log: Log, tools: Tools) -> Measurement:  # noqa: ARG002 (no text is embedded)
        """Return what `measure_programs` does, and the value of the best program, the oldest of several."""
        values, valid = log.column("value"), log.column("valid")
        best = log.top([call for call in sorted(log.scores) if valid[call]], 1)
        return {"best_value": values[best[0]] if best else None, **measure_programs(log)}


class ProgramMetrics:
    """The metrics of programs that a user's evaluator scores, see `evodiverse.ports.Metrics`."""

    kind = "programs"
    columns: Mapping[str, type] = MappingProxyType({"genotype": str})
    targets = ()
    libraries = ()
    reads_texts = False
    subject = Subject(counts_proposals=True)

    def measure(self, log: Log, tools: Tools) -> Measurement:  # noqa: ARG002 (no text is embedded)
        """Return what `measure_programs` does."""
        return measure_programs(log)


def measure_programs(log: Log) -> Measurement:
    """Return what `count_near_best` does, and the best score; None of a log without any."""
    return {"best_score": max(log.scores.values(), default=None), **count_near_best(log)}


def measure_packing(log: Log, encoders: Mapping[str, Encode]) -> Measurement:
    """Return the metrics of a circle-packing run.

    Sums are of radii, of valid packings: ``best_sum`` is the largest, ``strict_sum`` the largest after all overlaps
    have been given up, ``top100_sum`` the mean of the best 100 of the run, or of all; 0 if none is valid.
    ``pool_origin`` has the percentage of those 100 that each pool proposed, the initial program's in none.
    ``diversity`` is that of the final pools' programs, each counted once, and ``pool_diversity`` that of each pool,
    cold to hot; ``run_diversity`` is that of all valid programs of the run (paper, table ``mh_ablation_algo``).
    ``curve.sum_calls`` are the calls whose sum was larger than all before, ``curve.sum`` these sums.

    Args:
        log: The run's log, with `COLUMNS`.
        encoders: By name, which is appended to those of the diversities.
    """
    genotypes, totals, strict = (log.column(name) for name in COLUMNS)
    valid = log.column("valid")
    packed = [call for call in sorted(totals) if valid[call]]
    best = sorted((totals[call] for call in packed), reverse=True)
    record_calls, records = find_rises((call, totals[call]) for call in packed)
    return {
        "best_sum": best[0] if best else 0.0,
        "strict_sum": max((strict[call] for call in packed), default=0.0),
        "top100_sum": mean(best[:N_TOP]) or 0.0,
        **count_near_best(log),
        "pool_origin": _origin_percentages(log, packed, totals),
        **_measure_diversity(log, genotypes, packed, encoders),
        "curve.sum_calls": record_calls,
        "curve.sum": records,
    }


def count_near_best(log: Log) -> Measurement:
    """Return how many programs score within 1% of the best, of all valid ones evaluated; 0 where the best scores 0.

    No two have one syntax tree. ``n_near_best`` counts them. ``n_different_near_best`` takes them by falling score, the
    older call first of two with one score, and counts one if the cosine of its token counts with those of each that
    counts before is below 0.98.

    Args:
        log: The run's log, with ``genotype``.
    """
    genotypes, valid = log.column("genotype"), log.column("valid")
    ranked = log.top([call for call in sorted(log.scores) if valid[call]], len(log.scores))
    best = log.scores[ranked[0]] if ranked else 0.0
    near = [call for call in ranked if best > 0 and log.scores[call] >= NEAR_BEST * best]
    counts = (Counter(find_tokens(genotypes[call])) for call in near)
    return {"n_near_best": len(near), "n_different_near_best": len(select_apart(counts, SAME_PROGRAM, cosine))}


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
