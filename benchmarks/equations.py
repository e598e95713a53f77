"""Compare EvoDiverse with Operon on equations, with equal time: python benchmarks/equations.py OUTPUTS [PROBLEM]...

A problem is builtin/NAME, or a folder with train.csv, test_id.csv and test_ood.csv whose last column is the target, and
with the law: law.json, as `benchmarks/laws.py` writes it, or law.txt, whose last line is the right-hand side in sympy's
notation. By default, all built-in problems are used. Each run has one core and one numerical thread. Stop it whenever
you like: the same command resumes where it stopped.

For each problem and engine (`ours` is EvoDiverse), prints medians over seeds of the error on held-out data: of the one
equation that a run chooses, and of the one that fits best. Also prints the chosen equation's size, and how often it, or
one of the 50 that fit best, is the law. OUTPUTS/results.csv has every run. EvoDiverse counts as at or ahead of Operon
on a problem if the error of its chosen equation is at most the smaller of Operon's two errors.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

from evodiverse.commands.table_files import measure
from evodiverse.kit.environment import THREADS
from evodiverse.runlog.log import read_log
from evodiverse.runlog.runs import survey_runs
from evodiverse.runner.workers import available_cores
from evodiverse.tasks.equations.csv_data import read_own_data
from evodiverse.tasks.equations.metrics import COLUMNS, measure_accuracy
from evodiverse.tasks.equations.problems import PROBLEMS, Problem
from evodiverse.tasks.equations.result import ABOUT, read_result
from evodiverse.tasks.equations.settings import DataSettings
from evodiverse.tasks.equations.symbolic import Law

OURS, OPERON = "ours", "operon"
SPLITS = ("train", "test_id", "test_ood")
DECIMAL = re.compile(r"\d+\.\d+(?:e-?\d+)?")
# Errors below this are no more than rounding.
TIE = 1e-8
# Metrics by engine, problem and seed.
Results = dict[str, dict[str, dict[int, Mapping[str, Any]]]]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", type=Path)
    parser.add_argument("problems", nargs="*", default=[f"builtin/{name}" for name in PROBLEMS])
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--seeds", default="20,21,22,23,24")
    parser.add_argument("--method", default="pt_niche")
    parser.add_argument("--fits", type=int, help="stop ours after so many fits, whatever time they take")
    parser.add_argument("--engines", default=f"{OURS},{OPERON}")
    return parser.parse_args()


def describe(problem: str) -> list[str]:
    """Return the command-line arguments that select a problem and its data."""
    if problem.startswith("builtin/"):
        return [f"task.problem={problem}"]
    folder = Path(problem).absolute()
    files = [f"task.data.{split}={folder / split}.csv" for split in SPLITS]
    return [f"task.problem=csv/{folder.name}", f"task.data.target={read_target(folder)}", *files]


def read_target(folder: Path) -> str:
    """Return the name of the column that the law in a folder predicts, the last one of its files."""
    with (folder / "train.csv").open() as file:
        return next(csv.reader(file))[-1]


def commands(arguments: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the arguments of Python for each run; all runs of one seed come before the next seed."""
    ours = [f"method={arguments.method}", "search.early_stop=null", "evaluator.workers=1", "display=none"]
    if arguments.fits is None:
        ours += [f"budget.seconds={arguments.seconds}", "budget.oracle_calls=1000000"]
    else:
        ours += [f"budget.oracle_calls={arguments.fits}"]
    operon = ["--engine", OPERON, "--seconds", str(arguments.seconds)]
    baseline = "import sys; from evodiverse.commands.baseline import main; sys.exit(main())"
    starts = {OURS: ["-m", "evodiverse", "task=equation", *ours], OPERON: ["-c", baseline, *operon]}
    for seed in arguments.seeds.split(","):
        for problem in arguments.problems:
            for engine in arguments.engines.split(","):
                outputs = arguments.outputs / engine / problem.replace("/", "_")
                yield [*starts[engine], *describe(problem), f"seed={seed}", f"outputs={outputs}"]


def run_all(every: Sequence[list[str]]) -> None:
    """Make the runs, one at a time on each core, each with one numerical thread; print the errors of failed runs."""
    environment = os.environ | dict.fromkeys(THREADS, "1")

    def run(number: int) -> None:
        done = subprocess.run([sys.executable, *every[number]], env=environment, capture_output=True, text=True)
        print(f"{number + 1} of {len(every)}: {' '.join(every[number][1:4])}", file=sys.stderr, flush=True)
        if done.returncode:
            print(done.stderr, file=sys.stderr)

    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(run, range(len(every))))


def read_results(arguments: argparse.Namespace) -> Results:
    """Return the metrics of the complete runs, by engine, problem and seed."""
    found: Results = {}
    for engine in arguments.engines.split(","):
        for problem in arguments.problems:
            folder = arguments.outputs / engine / problem.replace("/", "_")
            law = find_law(problem)
            seeds: dict[int, Mapping[str, Any]] = {}
            for run, metrics in measure(list(survey_runs(folder).complete), ()).runs:
                logged = measure_accuracy(read_log(run, COLUMNS), law)
                own = {"size": logged["chosen_complexity"]}  # of an engine, its own choice
                if engine == OURS:
                    own = measure_shown(run.path, law, is_found=logged["sa_50"] == 1)
                seeds[int(run.settings["seed"])] = {**metrics, **logged, **own, "law_size": law.size}
            found.setdefault(engine, {})[problem] = {seed: seeds[seed] for seed in sorted(seeds)}
    return found


def find_law(problem: str) -> Law:
    """Return the law of a problem; see the top of this file."""
    if problem.startswith("builtin/"):
        known = PROBLEMS[problem.removeprefix("builtin/")]
        return Law(known, known.sample())
    folder = Path(problem)
    target = read_target(folder)
    own = read_own_data({split: folder / f"{split}.csv" for split in SPLITS}, DataSettings(target=target))
    if (folder / "law.json").exists():
        about = json.loads((folder / "law.json").read_text())
        law, constants = about["expression"], about["constants"]
    else:
        law, constants = free_constants((folder / "law.txt").read_text().splitlines()[-1])
    return Law(Problem(folder.name, "", own.target, own.variables, law, tuple(constants)), own.splits)


def measure_shown(run: Path, law: Law, *, is_found: bool) -> dict[str, Any]:
    """Return the error and the size of the equation that a run shows as chosen, and whether it is the law.

    The log has it as it was found, which may have parts that change nothing. ``is_found`` says whether it or one of the
    49 others that fit best is the law in that form.
    """
    about = json.loads((run / "best" / ABOUT).read_text())
    found = read_result(run).chosen
    is_law = law.is_met(found.source, found.params)
    shown = {"chosen_nmse": about["nmse_id"], "chosen_nmse_ood": about.get("nmse_ood"), "size": found.size}
    return {**shown, "sa_1": int(is_law), "sa_50": int(is_law or is_found)}


def free_constants(law: str) -> tuple[str, list[float]]:
    """Return a law of numpy and ``params``, and the values of the latter, which were decimal numbers in the law."""
    constants = [float(number) for number in DECIMAL.findall(law)]
    numbers = count()
    law = DECIMAL.sub(lambda _: f"params[{next(numbers)}]", law.replace("Abs(", "absolute("))
    return re.sub(r"([a-z]+)\(", r"np.\1(", law), constants


def middle(runs: Collection[Mapping[str, Any]], name: str) -> float:
    """Return the median of an error over runs; an unknown error counts as infinite, as does the median of no runs."""
    return median(inf if metrics[name] is None else float(metrics[name]) for metrics in runs) if runs else inf


def count_laws(runs: Iterable[Mapping[str, Any]]) -> tuple[int, int, int]:
    """Return how many runs there are, how many of them choose the law, and how many have it among the best 50."""
    known = list(runs)
    return len(known), sum(metrics["sa_1"] for metrics in known), sum(metrics["sa_50"] for metrics in known)


def print_results(results: Results, problems: Sequence[str]) -> None:
    engines = list(results)
    print(f"| problem | law's size | {' | '.join(f'{engine} | size | fits best | laws (50)' for engine in engines)} |")
    print(f"|---|---|{'---|' * (4 * len(engines))}")
    ahead = 0
    for problem in problems:
        cells, errors = [], []
        for engine in engines:
            runs = results[engine][problem].values()
            chosen, best = middle(runs, "chosen_nmse"), middle(runs, "best_nmse")
            errors.append((chosen, best))
            _, n_first, n_some = count_laws(runs)
            cells.append(f"{chosen:.1e} | {middle(runs, 'size'):g} | {best:.1e} | {n_first} ({n_some})")
        if len(errors) == 2:
            ahead += errors[0][0] <= max(min(errors[1]), TIE)
        print(f"| {problem} | {middle(runs, 'law_size'):g} | {' | '.join(cells)} |")
    if len(engines) == 2:
        print(f"\n{engines[0]} is at or ahead of {engines[1]} on {ahead} of {len(problems)}")
    for engine in engines:
        every = [metrics for problem in problems for metrics in results[engine][problem].values()]
        n_runs, n_first, n_some = count_laws(every)
        if n_runs:
            error = middle(every, "chosen_nmse")
            size = median(metrics["size"] / metrics["law_size"] for metrics in every)
            print(
                f"{engine}: SA@1 {n_first / n_runs:.3f}, SA@50 {n_some / n_runs:.3f} of {n_runs} runs; "
                f"median error {error:.1e}, median size {size:.2f} of the law's"
            )


def write_results(results: Results, path: Path) -> None:
    """Write the metrics of all runs as CSV, one line per run."""
    names = ["chosen_nmse", "chosen_nmse_ood", "best_nmse", "size", "law_size", "sa_1", "sa_50"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["engine", "problem", "seed", *names])
        for engine, problems in results.items():
            for problem, seeds in problems.items():
                writer.writerows([engine, problem, seed, *map(run.get, names)] for seed, run in seeds.items())


def main() -> None:
    arguments = read_arguments()
    run_all(list(commands(arguments)))
    results = read_results(arguments)
    print_results(results, arguments.problems)
    write_results(results, arguments.outputs / "results.csv")


if __name__ == "__main__":
    main()
