"""Compare runs on the PMO benchmark with published results: python benchmarks/pmo.py [OUTPUTS].

Computes PMO's score of a run, an area under a curve (`pmo_auc`), for each complete run below OUTPUTS. These runs are
made by `evodiverse -m +experiment=pmo outputs=OUTPUTS`, or as the study `pmo` of `findings.py`. Adds the areas to
benchmarks/results/pmo.csv, a line for each run; the areas of earlier runs stay there. Then prints the table of
docs/results.md: means and standard deviations over seeds, sums over tasks, and how far our Graph GA is from the
published one. `evodiverse-tables` computes the same areas, but measures much more and takes longer.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

import pyarrow.parquet as pq

import evodiverse
from evodiverse.analysis.tables.layout import Benchmark, found_layouts
from evodiverse.runlog.runs import survey_runs
from evodiverse.tasks.molecules.metrics import pmo_auc

RESULTS: Final = Path(__file__).parent / "results" / "pmo.csv"
PUBLISHED: Final = Path(evodiverse.__file__).parent / "tasks" / "molecules" / "tables.yaml"
BASELINE: Final = "graph_ga"
METHODS: Final = (BASELINE, "niche_ga", "diverse", "pt")
BUDGET: Final = 10_000
COUNTED: Final = {"budget.oracle_calls": BUDGET, "search.early_stop": None}
ROUNDING: Final = 0.0005
"""The largest rounding error of a published value."""
# Areas by task, method and seed; below, by task and method, then by seed.
Areas = dict[tuple[str, str, int], float]
AreasBySeed = defaultdict[tuple[str, str], dict[int, float]]


def read_known() -> Areas:
    """Return the areas in `RESULTS` by task, method and seed; nothing if the file does not exist."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        return {(row["task"], row["method"], int(row["seed"])): float(row["pmo_auc"]) for row in csv.DictReader(file)}


def measure(outputs: Path) -> Areas:
    """Return the areas of the complete runs of PMO tasks below a folder, by task, method and seed.

    Only runs of `METHODS` with the settings `COUNTED` and no other overrides count.
    """
    found: Areas = {}
    for run in survey_runs(outputs).complete:
        overrides = set(run.overrides or {})
        if not run.task.startswith("pmo/") or not overrides <= COUNTED.keys() or run.method not in METHODS:
            continue
        if any(run.settings.get(key) != value for key, value in COUNTED.items()):
            continue
        table = pq.read_table(run.path / "evaluations", columns=["call", "score"])
        rows = zip(table["call"].to_pylist(), table["score"].to_pylist(), strict=True)
        scores = {call: score or 0.0 for call, score in rows if call is not None}
        ordered = [scores[call] for call in range(1, len(scores) + 1)]
        found[run.task, run.method, int(run.settings["seed"])] = pmo_auc(ordered, BUDGET)
    return found


def summarize(values: list[float]) -> str:
    """Return mean ± sample standard deviation as text; for one value, ``(1)`` takes the place of the deviation."""
    if not values:
        return "—"
    return f"{fmean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else " (1)")


def print_table(by: AreasBySeed, benchmark: Benchmark) -> None:
    """Print a table of our and the published methods: a row for each task, the sums over tasks, and uncounted calls.

    A seed enters the sum of a method if the method has runs of all tasks with this seed.
    """
    print(f"| task | {' | '.join(f'`{method}`' for method in METHODS)} | {' | '.join(benchmark.methods)} |")
    print(f"|:--|{'--:|' * (len(METHODS) + len(benchmark.methods))}")
    for task, theirs in benchmark.tasks.items():
        cells = [summarize([*by[task, method].values()]) for method in METHODS]
        print(f"| {task.removeprefix('pmo/')} | {' | '.join([*cells, *theirs])} |")
    sums = []
    for method in METHODS:
        seeds = set.intersection(*({*by[task, method]} for task in benchmark.tasks))
        sums.append(summarize([sum(by[task, method][seed] for task in benchmark.tasks) for seed in sorted(seeds)]))
    print(f"| **sum** | {' | '.join([*sums, *benchmark.totals])} |")
    print(f"| oracle calls outside the count | {' | '.join([*['0'] * len(METHODS), *benchmark.uncounted])} |")


def print_distance(by: AreasBySeed, benchmark: Benchmark) -> None:
    """Print on how many tasks our Graph GA is within two published standard deviations of the published mean.

    The published Graph GA is the first of ``benchmark.methods``.
    """
    differences = {}
    for task, theirs in benchmark.tasks.items():
        mean, spread = map(float, theirs[0].split(" ± "))
        if ours := [*by[task, BASELINE].values()]:
            differences[task.removeprefix("pmo/")] = (fmean(ours) - mean, 2 * spread + ROUNDING)
    far = [f"{task} {gap:+.3f}" for task, (gap, most) in differences.items() if abs(gap) > most]
    n_near = len(differences) - len(far)
    print(f"\nGraph GA within two published standard deviations on {n_near} of {len(benchmark.tasks)}", end="")
    print(f"; not on: {', '.join(far)}")


def print_differences(by: AreasBySeed, benchmark: Benchmark) -> None:
    """Print on how many tasks the mean of each method is above that of Graph GA, over the seeds that both have."""
    for method in METHODS:
        pairs = [
            (fmean(by[task, method][seed] for seed in common), fmean(by[task, BASELINE][seed] for seed in common))
            for task in benchmark.tasks
            if method != BASELINE and (common := by[task, method].keys() & by[task, BASELINE].keys())
        ]
        if pairs:
            ahead, gain = sum(ours > theirs for ours, theirs in pairs), sum(ours - theirs for ours, theirs in pairs)
            print(f"{method}, each task over the seeds that both have: ", end="")
            print(f"above {BASELINE} on {ahead} of {len(pairs)}, in sum {gain:+.3f}")


def main() -> None:
    areas = read_known() | (measure(Path(sys.argv[1])) if sys.argv[1:] else {})
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "method", "seed", "pmo_auc"])
        writer.writerows([*key, f"{area:.6f}"] for key, area in sorted(areas.items()))
    by: AreasBySeed = defaultdict(dict)
    for (task, method, seed), area in areas.items():
        by[task, method][seed] = area
    benchmark = next(layout.benchmark for layout in found_layouts(PUBLISHED) if layout.benchmark is not None)
    print_table(by, benchmark)
    print_distance(by, benchmark)
    print_differences(by, benchmark)


if __name__ == "__main__":
    main()
