"""Measure one run of very many evaluations: python benchmarks/million.py [CALLS] [KEY=VALUE ...].

Without keys, the run searches the toy task, whose operator and oracle cost next to nothing, with pools as large as
those of molecules. For molecules: python benchmarks/million.py 100000 task=jnk3 method=pt search.early_stop=null. The
run is killed at 99% of its calls and then resumed. Prints the evaluations per second in each tenth of the run, how long
it takes after the restart until the next iteration is committed to the log, the peak of memory, how long
`evodiverse-show` takes, and the size of the log.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
KILLED_AT = 0.99
POLL_SECONDS = 0.2
TOY = [
    *("task=bits", "task.length=64", "method=pt", "method.capacity=120", "method.offspring=70"),
    *("search.patience=1000000", "evaluator.workers=1"),
]


def start(folder: Path, calls: int, words: Sequence[str]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "evodiverse", "--config-dir", str(ROOT / "tests" / "toys" / "conf"), *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ours = [f"budget.oracle_calls={calls}", f"outputs={folder}", "name=million", "display=none"]
    return subprocess.Popen([*command, *ours], env=env, cwd=folder, stdout=subprocess.DEVNULL)


def count(run: Path) -> int:
    """Return how many oracle calls of a run are committed to its log, 0 before the first commit."""
    try:
        return int(json.loads((run / "checkpoint" / "state.json").read_text())["oracle_calls"])
    except FileNotFoundError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="?", type=int, default=1_000_000)
    parser.add_argument("words", nargs="*", metavar="KEY=VALUE", help="what is searched, and how")
    arguments = parser.parse_args()
    calls, words = arguments.calls, arguments.words or TOY
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = folder / "million"
        process, began, marks = start(folder, calls, words), time.perf_counter(), [(0, 0.0)]
        while process.poll() is None and count(run) < KILLED_AT * calls:
            time.sleep(POLL_SECONDS)
            if count(run) >= len(marks) * calls / 10:
                marks.append((count(run), time.perf_counter() - began))
        marks.append((count(run), time.perf_counter() - began))
        process.send_signal(signal.SIGKILL)
        process.wait()
        rates = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairwise(marks)]
        print("evaluations a second in each tenth:", ", ".join(f"{rate:,.0f}" for rate in rates), flush=True)
        killed, began = count(run), time.perf_counter()
        process = start(folder, calls, words)
        while count(run) <= killed and process.poll() is None:
            time.sleep(POLL_SECONDS)
        print(f"resumed at {killed:,} calls; the next commit after {time.perf_counter() - began:.1f} s", flush=True)
        process.wait()
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        print(f"peak memory {peak:.2f} GB; exit code {process.returncode}", flush=True)
        began = time.perf_counter()
        shown = subprocess.run(
            [Path(sys.executable).with_name("evodiverse-show"), run],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=False,
        )
        print(f"evodiverse-show: {time.perf_counter() - began:.1f} s, exit code {shown.returncode}")
        size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
        n_files = sum(path.is_file() for path in run.rglob("*"))
        print(f"log: {size / 1e6:,.0f} MB in {n_files:,} files")


if __name__ == "__main__":
    main()
