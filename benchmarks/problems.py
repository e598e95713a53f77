"""Search the problems of docs/programs.md without a model: python benchmarks/problems.py OUTPUTS [PROBLEM ...].

Makes those runs that do not exist yet, one on each core: five seeds of a search and of `restarts`, 1,000
programs each, fewer if a run meets the mark. Stop it whenever you like: the same command resumes where it stopped.
Prints the table of all complete runs.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

from findings import Study, make_runs

from evodiverse.runlog.runs import survey_runs

PROBLEMS = (
    "minimum_overlap",
    "autocorrelation1",
    "autocorrelation2",
    "autocorrelation3",
    "circles_in_rectangle",
    "heilbronn_convex13",
    "heilbronn_convex14",
    "hexagons11",
    "hexagons12",
    "sums_differences",
    "kissing",
    "cap_set",
)
METHODS = ("graph_ga method.offspring=4", "restarts task.initial.path=builtin/layouts")
SEEDS = range(20, 25)
MET = 1 - 1e-7
"""The score from which a run meets the mark, which scores 1, to seven digits; the run then ends."""


def print_table(outputs: Path) -> None:
    """Print for each problem and method the best value of each seed, best first, and how many meet the mark."""
    runs = defaultdict(list)
    for run in survey_runs(outputs).complete:
        told = json.loads((run.path / "best" / "verified.json").read_text())
        best = json.loads((run.path / "run.json").read_text())
        runs[run.task, run.method].append((best["totals"]["best_score"], told["value"], told["behind_by"]))
    for (task, method), found in sorted(runs.items()):
        found.sort(reverse=True)
        met = sum(score >= MET for score, *_ in found)
        values = ", ".join(f"{value:.10g}" for _, value, _ in found)
        print(f"{task}\t{method}\t{met} of {len(found)} meet the mark\t{values}\tbehind by {found[0][2]:.3g}")


def main() -> None:
    outputs, *names = sys.argv[1:]
    tasks = tuple(f"task={name} search.target={MET}" for name in names or PROBLEMS)
    make_runs(Study(tasks, SEEDS, METHODS, oracle_calls=1_000), outputs)
    print_table(Path(outputs))


if __name__ == "__main__":
    main()
