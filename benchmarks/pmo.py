"""Compare runs on the PMO benchmark with published results: python benchmarks/pmo.py [OUTPUTS].

Computes PMO's score of a run, an area under a curve (`pmo_auc`), for each complete run below OUTPUTS, over all 10,000
calls and over the first 1,000. These runs are made by `evodiverse -m +experiment=pmo outputs=OUTPUTS`, or as the study
`pmo` of `findings.py`. Adds the areas to benchmarks/results/pmo.csv, a line for each run; the areas of earlier runs
stay there. Then prints the tables of docs/results.md: means and standard deviations over seeds, sums over tasks, and
how far our Graph GA is from the published one. `evodiverse-tables` computes the same areas, but measures much more and
takes longer.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

import pyarrow.parquet as pq

import evodiverse
from evodiverse.results.tables.layout import Benchmark, found_layouts
from evodiverse.runlog.runs import survey_runs
from evodiverse.tasks.molecules.metrics import pmo_auc

RESULTS: Final = Path(__file__).parent / "results" / "pmo.csv"
PUBLISHED: Final = Path(evodiverse.__file__).parent / "tasks" / "molecules" / "tables.yaml"
BASELINE: Final = "graph_ga"
METHODS: Final = ("gp_bo", "mol_ga", BASELINE, "niche_ga", "diverse", "pt")
BUDGET: Final = 10_000
EARLY: Final = 1_000
COUNTED: Final = {"budget.oracle_calls": BUDGET, "search.early_stop": None}
START: Final = {"mol_ga": {"task.initial.size": 100}}
"""The settings besides `COUNTED` of the runs of a method."""
ROUNDING: Final = 0.0005
"""The largest rounding error of a published value."""
# Areas over all calls and over the first, None if unknown, by task, method and seed; below, one of these areas by task
# and method, then by seed.
Areas = dict[tuple[str, str, int], tuple[float, float | None]]
AreasBySeed = defaultdict[tuple[str, str], dict[int, float]]


def read_known() -> Areas:
    """Return the areas in `RESULTS` by task, method and seed; nothing if the file does not exist."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    areas = [(float(row["pmo_auc"]), float(row["early"]) if row["early"] else None) for row in rows]
    keys = [(row["task"], row["method"], int(row["seed"])) for row in rows]
    return dict(zip(keys, areas, strict=True))


def measure(outputs: Path) -> Areas:
    """Return the areas of the complete runs of PMO tasks below a folder, by task, method and seed.

    Only runs of `METHODS` with the settings `COUNTED` and `START`, and no other overrides, count.
    """
    found: Areas = {}
    for run in survey_runs(outputs).complete:
        counted = COUNTED | START.get(run.method, {})
        overrides = set(run.overrides or {})
        if not run.task.startswith("pmo/") or not overrides <= counted.keys() or run.method not in METHODS:
            continue
        if any(run.settings.get(key) != value for key, value in counted.items()):
            continue
        table = pq.read_table(run.path / "evaluations", columns=["call", "score"])
        rows = zip(table["call"].to_pylist(), table["score"].to_pylist(), strict=True)
        scores = {call: score or 0.0 for call, score in rows if call is not None}
        ordered = [scores[call] for call in range(1, len(scores) + 1)]
        areas = pmo_auc(ordered, BUDGET), pmo_auc(ordered[:EARLY], EARLY)
        found[run.task, run.method, int(run.settings["seed"])] = areas
    return found


def summarize(values: list[float]) -> str:
    """Return mean ± sample standard deviation as text; for one value, ``(1)`` takes the place of the deviation."""
    if not values:
        return "—"
    return f"{fmean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else " (1)")


def add_up(by: AreasBySeed, method: str, tasks: Iterable[str]) -> dict[int, float]:
    """Return the sum of a method's areas over tasks, by seed, for the seeds with which it has runs of all tasks."""
    areas = [by[task, method] for task in tasks]
    return {seed: sum(area[seed] for area in areas) for seed in sorted(set.intersection(*map(set, areas)))}


def print_table(by: AreasBySeed, benchmark: Benchmark) -> None:
    """Print a table of our and the published methods: a row for each task, the sums over tasks, and uncounted calls.

    A seed enters the sum of a method if the method has runs of all tasks with this seed.
    """
    methods = [method for method in METHODS if any(by[task, method] for task in benchmark.tasks)]
    print(f"| task | {' | '.join(f'`{method}`' for method in methods)} | {' | '.join(benchmark.methods)} |")
    print(f"|:--|{'--:|' * (len(methods) + len(benchmark.methods))}")
    for task, theirs in benchmark.tasks.items():
        cells = [summarize([*by[task, method].values()]) for method in methods]
        print(f"| {task.removeprefix('pmo/')} | {' | '.join([*cells, *theirs])} |")
    sums = [summarize([*add_up(by, method, benchmark.tasks).values()]) for method in methods]
    print(f"| **sum** | {' | '.join([*sums, *benchmark.totals])} |")
    print(f"| oracle calls outside the count | {' | '.join([*['0'] * len(methods), *benchmark.uncounted])} |")


def print_early(by: AreasBySeed, tasks: Iterable[str]) -> None:
    """Print the areas over the first `EARLY` calls: a row for each method, with the sum over tasks by seed."""
    print(f"\n| method | seeds | sum over the first {EARLY:,} calls |\n|:--|:--|--:|")
    for method in METHODS:
        if sums := add_up(by, method, tasks):
            print(f"| `{method}` | {', '.join(map(str, sums))} | {summarize([*sums.values()])} |")


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
        writer.writerow(["task", "method", "seed", "pmo_auc", "early"])
        for key, (area, early) in sorted(areas.items()):
            writer.writerow([*key, f"{area:.6f}", "" if early is None else f"{early:.6f}"])
    by: AreasBySeed = defaultdict(dict)
    by_early: AreasBySeed = defaultdict(dict)
    for (task, method, seed), (area, early) in areas.items():
        by[task, method][seed] = area
        if early is not None:
            by_early[task, method][seed] = early
    benchmark = next(layout.benchmark for layout in found_layouts(PUBLISHED) if layout.benchmark is not None)
    print_table(by, benchmark)
    print_distance(by, benchmark)
    print_differences(by, benchmark)
    print_early(by_early, benchmark.tasks)


if __name__ == "__main__":
    main()
