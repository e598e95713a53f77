"""Measure what filters cost: python benchmarks/filters.py OUTPUTS.

Reads the runs that `python benchmarks/findings.py filters OUTPUTS` makes (12, some three minutes each on two idle
cores), writes what each measured to benchmarks/results/filters.csv, and prints

- means over seeds with and without filters, and paired differences with their 95% bootstrap intervals,
- what rejected molecules,
- the diversity-aware ten best molecules of a run without filters and of one with them, and why filters reject them,
- the time per molecule of each filter, measured on ZINC-250K.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from findings_tables import RESULTS, print_differences, print_means, read, write_lines
from rdkit import Chem

from evodiverse.data.cache import artifact_path
from evodiverse.runlog.log import read_log
from evodiverse.runlog.runs import Run, survey_runs
from evodiverse.tasks.molecules.diversity import select_by_average
from evodiverse.tasks.molecules.filters.filters import Filters, build_filters, find_alerts
from evodiverse.tasks.molecules.filters.settings import CATALOGS
from evodiverse.tasks.molecules.parsing import molecule_of, parse_smiles
from evodiverse.tasks.molecules.properties import PROPERTIES
from evodiverse.vocabulary import Hypothesis

SET = "medchem"
METHODS = ("diverse", "graph_ga")
METRICS = ("hits_0.5", "different_hits_0.5_0.4", "div_hits", "top10", "different_top10")
SHOWN = ("diverse", 10)
N_SHOWN = 10
N_TIMED = 1_000
N_REASONS = 12
MAX_HEAVY_ATOMS = 80


class Shown(NamedTuple):
    """One of the ten best molecules, with the reasons (``faults``) for which filters reject it; none if it passes."""

    score: float
    smiles: str
    faults: list[str]


def build() -> Filters:
    """Return the filters of the set `SET`."""
    filters = build_filters(SET)
    if filters is None:
        raise ValueError(f"{SET} asks for nothing")
    return filters


def find_run(runs: Sequence[Run], filters: str | None) -> Run:
    """Return the run whose best molecules are shown: that of `SHOWN` (method and seed) with these ``task.filters``."""
    method, seed = SHOWN
    wanted = {"task.filters": filters, "seed": seed}
    found = (run for run in runs if run.method == method and wanted.items() <= dict(run.settings).items())
    run = next(found, None)
    if run is None:
        raise SystemExit(f"there is no complete run of {method}, seed {seed}, with task.filters={filters}")
    return run


def find_best(run: Run, filters: Filters) -> list[Shown]:
    """Return the diversity-aware ten best molecules of a run."""
    log = read_log(run)
    calls = list(log.scores)
    smiles, scores = [log.keys[call] for call in calls], np.array([log.scores[call] for call in calls])
    return [
        Shown(float(scores[at]), smiles[at], list(filters.find_faults(smiles[at])))
        for at in select_by_average(smiles, scores, N_SHOWN)
    ]


def print_best(title: str, best: Sequence[Shown]) -> None:
    print(f"\n| {title} | score | SMILES | {SET} |\n|---|---|---|---|")
    for rank, one in enumerate(best, start=1):
        print(f"| {rank} | {one.score:.2f} | `{one.smiles}` | {'; '.join(one.faults) or '—'} |")


def count_reasons(run: Run) -> None:
    """Print how attempts ended, and what rejected molecules most often."""
    columns = run.columns("evaluations", ("outcome", "error"))
    outcomes = Counter(columns["outcome"])
    total = sum(outcomes.values())
    told = ", ".join(f"{name} {n / total:.0%}" for name, n in outcomes.most_common())
    faults = [error.removeprefix("filtered: ") for error in columns["error"] if (error or "").startswith("filtered: ")]
    kinds = ", ".join(
        f"{kind} {n / len(faults):.0%}" for kind, n in Counter(f.split()[0] for f in faults).most_common()
    )
    print(f"\n{run.method}, seed {run.settings['seed']}: {total:,} attempts: {told}")
    print(f"rejected by {kinds}")
    often = Counter(" ".join(fault.split()[:2]) for fault in faults if fault.split()[0] in CATALOGS)
    print(f"alerts most often: {', '.join(f'{name} {n}' for name, n in often.most_common(N_REASONS))}")


def measure_times(filters: Filters) -> Iterator[tuple[str, float]]:
    """Yield the name of each filter with its average CPU time per molecule in µs; the last item is all of them."""
    lines = artifact_path("zinc250k").read_text(encoding="ascii").split()
    lines = lines[:: len(lines) // N_TIMED][:N_TIMED]
    parsed = [parse_smiles(line, MAX_HEAVY_ATOMS) for line in lines]
    keys = [one.key for one in parsed if isinstance(one, Hypothesis)]
    settings = filters.settings

    def each(look: Callable[[Chem.Mol], object]) -> float:
        molecules = [Chem.MolFromSmiles(key) for key in keys]  # new objects, which hold no results of other filters
        look(molecules[0])
        began = time.process_time()
        for molecule in molecules:
            look(molecule)
        return (time.process_time() - began) / len(keys) * 1e6

    for name in settings.ranges:
        yield name, each(PROPERTIES[name])
    for name in settings.catalogs or ():
        yield name, each(partial(_find_first, name))
    for key in keys:
        molecule_of(key)
    began = time.process_time()
    passed = sum(next(filters.find_faults(key), None) is None for key in keys)
    yield (
        f"all of {SET}, reading the molecule included; {passed / len(keys):.0%} pass",
        ((time.process_time() - began) / len(keys) * 1e6),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", type=Path)
    options = parser.parse_args()
    filters = build()
    tables = read(options.outputs)
    write_lines(RESULTS / "filters.csv", tables)
    for (_, task), table in tables.items():
        print_means(task, table, METRICS)
        for method in METHODS:
            pair = {name: table[name] for name in (method, f"{method} task.filters={SET}")}
            print_differences(task, pair, METRICS, method)
    runs = list(survey_runs(options.outputs).complete)
    for run in runs:
        if run.settings.get("task.filters") == SET:
            count_reasons(run)
    for name, asked in (("before", None), ("after", SET)):
        print_best(name, find_best(find_run(runs, asked), filters))
    print("\n| | µs a molecule |\n|---|---|")
    for name, microseconds in measure_times(filters):
        print(f"| {name} | {microseconds:,.0f} |")


def _find_first(catalog: str, molecule: Chem.Mol) -> str | None:
    return next(find_alerts(molecule, [catalog]), None)


if __name__ == "__main__":
    main()
