"""Measure what a sweep of very many short runs costs: python benchmarks/sweeps.py [RUNS].

Makes a sweep of runs with 20 calls of the toy task, which cost next to nothing, and for comparison a sweep of as many
Hydra jobs that have the same configuration but do nothing. Prints the time of both, then how long the same sweep takes
once its runs are complete, and how long the tables of these runs take.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import hydra
from omegaconf import DictConfig

from evodiverse.settings import find_conf
from evodiverse.settings.compose import CONFIG_NAME
from evodiverse.settings.schema import register

ROOT = Path(__file__).parents[1]
EMPTY = "--empty-job"
TOYS = ["--config-dir", str(ROOT / "tests" / "toys" / "conf")]
WORDS = [*TOYS, "-m", "task=bits", "method=pt", "budget.oracle_calls=20", "evaluator.workers=1", "display=none"]


def do_nothing(config: DictConfig) -> None:
    """Do nothing; Hydra calls this function for each empty job."""


def seconds(folder: Path, command: Sequence[str]) -> float:
    """Return how many seconds a command takes; raise an error if it fails."""
    began = time.perf_counter()
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, env=env, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=1_000)
    n_runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [*WORDS, f"outputs={folder}/runs", f"seed=range({n_runs})"]
        one = [*WORDS, f"outputs={folder}/one", "seed=0"]
        runs = [sys.executable, "-m", "evodiverse"]
        jobs = [sys.executable, __file__, EMPTY]
        costs = {}
        for what, command in (("runs", runs), ("empty Hydra jobs", jobs)):
            whole, start = seconds(folder, [*command, *words]), seconds(folder, [*command, *one])
            costs[what] = (whole - start) / (n_runs - 1)
            print(f"{n_runs:,} {what}: {whole:.1f} s, {costs[what] * 1e3:.1f} ms each, one {start:.2f} s", flush=True)
        print(f"a run beyond an empty job: {(costs['runs'] - costs['empty Hydra jobs']) * 1e3:.1f} ms")
        again, start = seconds(folder, [*runs, *words]), seconds(folder, [*runs, *one])
        print(f"complete runs: {again:.2f} s, {(again - start) / (n_runs - 1) * 1e3:.2f} ms each", flush=True)
        tables = [str(Path(sys.executable).with_name("evodiverse-tables")), f"{folder}/runs"]
        print(f"evodiverse-tables: {seconds(folder, tables):.1f} s", flush=True)
        print(f"evodiverse-tables --by method: {seconds(folder, [*tables, '--by', 'method']):.1f} s", flush=True)


if __name__ == "__main__":
    if EMPTY in sys.argv:
        sys.argv.remove(EMPTY)
        register()
        hydra.main(version_base="1.3", config_path=str(find_conf()), config_name=CONFIG_NAME)(do_nothing)()
    else:
        main()
