"""The tables of docs/results.md: python benchmarks/findings_tables.py STUDY OUTPUTS.

Writes the metrics of the complete runs below OUTPUTS to benchmarks/results/STUDY.csv, a line for each run. For each
task, prints the means over seeds, and compares each method with a baseline, in pairs of runs with the same seed: the
mean difference with its 95% bootstrap interval and the one-sided p of the exact permutation test, and the ratio of the
means with its 95% bootstrap interval. Only seeds that both methods have are compared.

The baseline is Graph GA, except in the study `equations`, which has the paper's ablations and is compared with `pt`,
over all its problems together, in the study `lag`, and in studies of a setting, which compare each method with itself.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log10
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from evodiverse.commands.table_files import measure
from evodiverse.results.statistics import bootstrap_interval, draw_resamples, permutation_p
from evodiverse.runlog.runs import Run, survey_runs
from evodiverse.settings.identity import show

RESULTS = Path(__file__).parent / "results"
METRICS = {
    "molecules": [
        "hits_0.5",
        "different_hits_0.5_0.4",
        "different_hits_0.7_0.4",
        "div_hits",
        "different_top10",
        "pmo_auc",
        "top10",
        "no_hit_percent",
    ],
    "equations": [
        "best_nmse",
        "log10_nmse",
        "best_acc_95",
        "top10_acc_95",
        "buffer_diversity.tfidf",
        "n_structures_1e3",
        "n_different_structures_1e3",
        "sa_1",
        "sa_50",
    ],
    "pareto": ["hypervolume", "front_size", "best_score"],
    "programs": ["best_sum", "best_score", "n_near_best", "n_different_near_best"],
}
# Metrics of which only the means are printed.
NOT_COMPARED = {"hits_0.5", "different_hits_0.7_0.4", "top10", "no_hit_percent", "best_nmse", "sa_1", "sa_50"}
MEDIANS = {"best_nmse"}
# Overrides that `label` leaves out: all runs of a study have them in common, or the column of the task says them.
UNSAID = (
    *("budget.oracle_calls", "search.early_stop", "task.problem", "task.evaluator", "task.initial.path"),
    *("task.objective", "task.pareto"),
)
BASELINES = {"equations": "pt", "lag": "pt"}
BASELINE = "graph_ga"
POOLED = ("equations",)
OF_A_SETTING = ("failures", "novelty", "novelty_packing")
# Before the logarithm, errors are clipped to this range: an infinite error, or a law that is met exactly (an error near
# 0), would otherwise decide a mean.
LOWEST_NMSE, HIGHEST_NMSE = 1e-20, 1e2

# The metrics of each run, by method (as `label` writes it) and by seed.
Table = dict[str, dict[int, Mapping[str, Any]]]


def label(run: Run) -> str:
    """Return the method of a run with its overrides, as `findings.py` writes them."""
    changes = [f"{key}={show(value)}" for key, value in (run.overrides or {}).items() if not key.startswith(UNSAID)]
    return " ".join([run.method, *changes])


def read(outputs: Path) -> dict[tuple[str, str], Table]:
    """Return the metrics of the complete runs: a table for each kind (such as molecules) and task."""
    tables: dict[tuple[str, str], Table] = defaultdict(lambda: defaultdict(dict))
    measured = measure(list(survey_runs(outputs).complete), ())
    for run, error in measured.damaged:
        print(f"{run.path}: {error}", file=sys.stderr)
    for run, metrics in measured.runs:
        task = str(run.settings.get("task.problem") or run.task)
        kind = "pareto" if "hypervolume" in metrics else run.domain.rpartition(".")[2]
        row: dict[str, Any] = dict(metrics)
        if kind == "equations":
            nmse = min(max(row["best_nmse"], LOWEST_NMSE), HIGHEST_NMSE)
            row["log10_nmse"] = log10(nmse)
        tables[kind, task][label(run)][int(run.settings["seed"])] = row
    return tables


def write_lines(path: Path, tables: Mapping[tuple[str, str], Table]) -> None:
    """Write a line for each run, with the metrics of its kind."""
    columns = list(dict.fromkeys(name for kind, _ in tables for name in METRICS[kind]))
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "method", "seed", *columns])
        for (_, task), table in sorted(tables.items()):
            for method, seeds in sorted(table.items()):
                for seed, metrics in sorted(seeds.items()):
                    values = [metrics.get(name) for name in columns]
                    writer.writerow(
                        [task, method, seed, *("" if value is None else f"{value:.6g}" for value in values)]
                    )


def pool(tables: Mapping[tuple[str, str], Table]) -> dict[tuple[str, str], Table]:
    """Return one table for each kind, with the runs of all its tasks.

    In it, each combination of a task and a seed counts as a seed of its own, with a new number.
    """
    pooled: dict[tuple[str, str], Table] = {}
    for at, ((kind, _), table) in enumerate(sorted(tables.items())):
        together = pooled.setdefault((kind, f"all {kind}"), {})
        for method, seeds in table.items():
            together.setdefault(method, {}).update({1000 * at + seed: metrics for seed, metrics in seeds.items()})
    return pooled


def summarize(name: str, values: Sequence[float]) -> str:
    """Return the mean ± standard deviation, or the median of `MEDIANS`: errors of any size, which may be infinite."""
    if name in MEDIANS:
        return f"{median(values):.1e}"
    return f"{fmean(values):.3g}" + (f" ± {stdev(values):.3g}" if len(values) > 1 else "")


def print_means(task: str, table: Table, names: Sequence[str]) -> None:
    """Print means, standard deviations and medians over seeds of each method."""
    print(f"\n| {task} | runs | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    for method, seeds in table.items():
        cells = []
        for name in names:
            values = [float(metrics[name]) for metrics in seeds.values() if metrics.get(name) is not None]
            cells.append(summarize(name, values) if values else "—")
        print(f"| `{method}` | {len(seeds)} | {' | '.join(cells)} |")


def describe_ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return the ratio of our mean to theirs, with its 95% percentile interval over resampled pairs."""
    pairs = np.array([ours, theirs])
    means = pairs[:, draw_resamples(len(ours))].mean(axis=2)
    low, high = np.quantile(means[0] / np.maximum(means[1], 1e-9), [0.025, 0.975])
    return f"{fmean(ours) / fmean(theirs):.1f} times [{low:.1f}, {high:.1f}]"


def print_differences(task: str, table: Table, names: Sequence[str], baseline: str) -> None:
    """Print how much each method is above the baseline on the same seeds."""
    print(f"\n| {task}, against `{baseline}` | pairs | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    for method, seeds in table.items():
        common = sorted(seeds.keys() & table[baseline].keys())
        if method == baseline or len(common) < 2:
            continue
        cells = []
        for name in names:
            ours, theirs = ([float(side[seed][name]) for seed in common] for side in (seeds, table[baseline]))
            differences = [one - other for one, other in zip(ours, theirs, strict=True)]
            interval, p = bootstrap_interval(differences), permutation_p(differences)
            if interval is None or p is None:
                raise ValueError(f"expected at least two pairs, got {common}")
            ratio = f"; {describe_ratio(ours, theirs)}" if fmean(theirs) > 0 else ""
            cells.append(f"{interval.mean:+.3g} [{interval.low:.3g}, {interval.high:.3g}], p = {p:.3g}{ratio}")
        print(f"| `{method}` | {len(common)} | {' | '.join(cells)} |")


def main() -> None:
    study, outputs = sys.argv[1:]
    tables, baseline = read(Path(outputs)), BASELINES.get(study, BASELINE)
    write_lines(RESULTS / f"{study}.csv", tables)
    for (kind, task), table in sorted((pool(tables) if study in POOLED else tables).items()):
        of_runs = [metrics for seeds in table.values() for metrics in seeds.values()]
        names = [name for name in METRICS[kind] if any(metrics.get(name) is not None for metrics in of_runs)]
        print_means(task, table, names)
        compared = [name for name in names if name not in NOT_COMPARED]
        for one in [method for method in table if " " not in method] if study in OF_A_SETTING else [baseline]:
            against = {method: seeds for method, seeds in table.items() if method.split()[0] == one or one == baseline}
            if one in against:
                print_differences(task, against, compared, one)


if __name__ == "__main__":
    main()
