"""Compare four runs at once with the same runs two at a time: python benchmarks/side_by_side.py [KEY=VALUE ...].

By default, a run has as many workers as there are cores, so four runs have four times as many workers as the machine
has cores. The two ways take turns. Prints the seconds of each turn and the ratio of the fastest turns.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS = ["task=jnk3", "method=pt", "search.early_stop=null", "budget.oracle_calls=5000"]
SEEDS = range(4)
TURNS = 3


def seconds(words: Sequence[str], at_once: int) -> float:
    """Return how many seconds the runs of all `SEEDS` take together, ``at_once`` of them at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(at_once) as pool:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}

        def run(seed: int) -> None:
            command = [sys.executable, "-m", "evodiverse", *words, f"seed={seed}", "display=none"]
            subprocess.run(command, env=env, cwd=folder, check=True, stdout=subprocess.DEVNULL)

        began = time.perf_counter()
        list(pool.map(run, SEEDS))
        return time.perf_counter() - began


def main() -> None:
    words = sys.argv[1:] or WORDS
    fastest = {2: float("inf"), 4: float("inf")}
    for _ in range(TURNS):
        for at_once in fastest:
            took = seconds(words, at_once)
            fastest[at_once] = min(fastest[at_once], took)
            print(f"{len(SEEDS)} runs, {at_once} at a time: {took:.1f} s", flush=True)
    print(f"four at once take {fastest[4] / fastest[2]:.2f} times as long as two at a time")


if __name__ == "__main__":
    main()
