"""The metrics of program runs: how many programs are nearly as good as the best, and the best value.

The metrics of circle packing also include those of the paper (paper, "Algorithm Discovery" and "Detailed Diversity
Metrics").
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from evodiverse.diversity.distances import cosine, mean_cosine_distance, measure_diversity, select_apart
from evodiverse.diversity.tfidf import find_tokens, tfidf
from evodiverse.ports import BEST_SCORE, Headline, Metrics, Subject, Tools
from evodiverse.runlog.log import Log, Measurement, Value, find_rises, known, mean
from evodiverse.tasks.programs.feedback import SECONDS
from evodiverse.tasks.programs.settings import BUILTINS

N_TOP: Final = 100
NEAR_BEST: Final = 0.99
"""The fraction of the best score that a program must reach to count as near the best."""

SAME_PROGRAM: Final = 0.98
"""Programs count as the same if the cosine similarity of their token counts is at least this.

It is also the default radius of a niche (``method.niche.radius``).
"""


def choose_metrics(settings: Mapping[str, Any]) -> Metrics:
    """Return the metrics of runs of a task, given the settings of a run by dotted key."""
    evaluator = settings.get("task.evaluator")
    if evaluator == "circle_packing":
        return PackingMetrics()
    return TaskMetrics() if evaluator in BUILTINS else ProgramMetrics()


class ProgramMetrics:
    """The metrics of runs with a user's evaluator; see `evodiverse.ports.Metrics`."""

    kind = "programs"
    columns: Mapping[str, type] = MappingProxyType({"genotype": str})
    targets: Sequence[float] = ()
    libraries: Sequence[str] = ()
    reads_texts = False
    subject = Subject(counts_proposals=True)
    headlines: Sequence[Headline] = (BEST_SCORE,)

    def measure(self, log: Log, tools: Tools) -> Measurement:  # noqa: ARG002 (no text is embedded)
        """Return ``best_score``, the metrics of `count_near_best`, and ``own.NAME`` for each number of the evaluator.

        These numbers are those of the best valid program. ``best_score`` is None for a log without scores.
        """
        names = [name for name, kind in log.run.own_columns().items() if kind is float and not name.startswith(SECONDS)]
        calls, *columns = log.run.columns_so_far("evaluations", ["call"], dict.fromkeys(names, float)).values()
        own = {
            f"own.{name}": dict(zip(calls, values, strict=True)).get(best)
            for best in _rank_valid(log)[:1]
            for name, values in zip(names, columns, strict=True)
        }
        return {"best_score": max(log.scores.values(), default=None), **count_near_best(log), **own}


class TaskMetrics(ProgramMetrics):
    """The metrics of the built-in tasks other than circle packing.

    Their logs have a column ``value``: the quantity that the task measures on a program's result.
    """

    kind = "program tasks"
    columns = MappingProxyType({"genotype": str, "value": float})

    def measure(self, log: Log, tools: Tools) -> Measurement:  # noqa: ARG002 (no text is embedded)
        """Return ``best_score``, the metrics of `count_near_best`, and ``best_value``, the value of the best program.

        If several programs have the best score, ``best_value`` is that of the oldest. It is None if no program is
        valid.
        """
        best = next(map(log.column("value").get, _rank_valid(log)), None)
        return {"best_value": best, "best_score": max(log.scores.values(), default=None), **count_near_best(log)}


class PackingMetrics(ProgramMetrics):
    """The metrics of circle-packing runs."""

    kind = "circle packing"
    columns = MappingProxyType({"genotype": str, "sum_radii": float, "strict_sum": float})
    targets = (0.85, 0.9, 0.95)  # the sum of radii divided by task.reference
    libraries = ("scikit-learn",)
    reads_texts = True
    headlines = (Headline("best_sum", "best sum of radii", 5),)

    def measure(self, log: Log, tools: Tools) -> Measurement:
        """Return the metrics of a circle-packing run.

        A sum is the sum of a packing's radii. Except for the diversity of the final pools, only valid packings count.

        * ``best_sum`` is the largest sum. ``strict_sum`` is the largest sum after the radii are lowered until no
          circles overlap and none crosses a wall. ``top100_sum`` is the mean of the 100 largest sums (of all, if there
          are fewer). Each is 0 if no packing is valid.
        * ``pool_origin`` lists a percentage for each pool: how many of the 100 packings with the largest sums come from
          programs that were proposed for this pool. The initial programs belong to no pool.
        * ``diversity`` is the diversity (`mean_cosine_distance`) of the programs in the final pools, each counted once.
          ``pool_diversity`` lists the diversity of each final pool, from the coldest pool to the hottest.
          ``run_diversity`` is the diversity of all valid programs of the run (paper, table ``mh_ablation_algo``).
        * ``curve.sum_calls`` lists the oracle calls, by call number, whose sum is larger than every earlier sum.
          ``curve.sum`` lists the sums of these calls.

        Args:
            log: The run's log, with the columns in `columns`.
            tools: The encoders, which turn programs into ``(n, d)`` vectors, by name. Each diversity is measured once
                with each of them. The encoder's name is added to that of the metric, as in ``diversity.tfidf``.
        """
        genotypes, totals, strict = (log.column(name) for name in self.columns)
        valid = log.column("valid")
        packed = [call for call in sorted(totals) if valid[call]]
        ranked = sorted(packed, key=lambda call: -totals[call])[:N_TOP]  # of equal ones, the older first
        record_calls, records = find_rises((call, totals[call]) for call in packed)
        origins = Counter(map(log.column("pool").get, ranked))
        places = [log.final_places(pool) for pool in log.states[-1]]
        diversity: dict[str, Value] = {}
        for name, encode in tools.encoders.items():
            final = measure_diversity(encode([genotypes[call] for call in log.final_union]), places)
            diversity[f"diversity.{name}"] = known(final.overall)
            diversity[f"pool_diversity.{name}"] = [known(pool) for pool in final.pools]
            overall = mean_cosine_distance(encode([genotypes[call] for call in packed]))
            diversity[f"run_diversity.{name}"] = known(overall)
        return {
            "best_sum": totals[ranked[0]] if ranked else 0.0,
            "strict_sum": max((strict[call] for call in packed), default=0.0),
            "top100_sum": mean([totals[call] for call in ranked]) or 0.0,
            **count_near_best(log),
            "pool_origin": [100 * (origins[pool] / (len(ranked) or 1)) for pool in range(len(places))],
            **diversity,
            "curve.sum_calls": record_calls,
            "curve.sum": records,
        }

    def embed(self, genotypes: Sequence[str], tools: Tools) -> Any:  # noqa: ARG002 (the paper's vectors)
        """Return the TF-IDF vectors of programs."""
        return tfidf(genotypes)


def count_near_best(log: Log) -> Measurement:
    """Return how many of the valid programs of a run score within 1% of the best; 0 if the best score is 0.

    ``n_near_best`` counts all of these programs. No two of them have the same syntax tree, because a run evaluates each
    syntax tree only once. For ``n_different_near_best``, they are considered in descending order of score, and the
    older first if scores are equal. A program counts only if the cosine similarity of its token counts to those of
    every program counted before is below 0.98.

    Args:
        log: The run's log, with the column ``genotype``.
    """
    genotypes, ranked = log.column("genotype"), _rank_valid(log)
    best = log.scores[ranked[0]] if ranked else 0.0
    near = [call for call in ranked if best > 0 and log.scores[call] >= NEAR_BEST * best]
    counts = (Counter(find_tokens(genotypes[call])) for call in near)
    return {"n_near_best": len(near), "n_different_near_best": len(select_apart(counts, SAME_PROGRAM, cosine))}


def _rank_valid(log: Log) -> list[int]:
    """Return the calls of the valid programs, best first, and the older first if scores are equal."""
    valid = log.column("valid")
    return log.top([call for call in sorted(log.scores) if valid[call]], len(log.scores))
