"""Measure how long the tables of many runs take: python benchmarks/tables.py OUTPUTS.

Calls `scripts/tables.py` twice for the runs below OUTPUTS, first with an empty cache of metrics and then with a full
one. Prints the wall time of each call and the highest memory of all its processes together (Linux only). Then prints
how long the diversity-aware selection of ten from the final molecules of a run takes, without computing fingerprints.
The figures in README.md are those of 36 runs of `make runs` and of 29 runs of
evodiverse -m task=jnk3 method=pt search.early_stop=null seed="range(29)" outputs=OUTPUTS
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from whole_run import INTERVAL_S, memory_mb, processes_below

from evodiverse.results.domains import find_metrics
from evodiverse.runlog.log import read_log
from evodiverse.runlog.runs import Run, survey_runs
from evodiverse.tasks.molecules.diversity import fingerprint, select_by_average

SCRIPT = Path(__file__).parents[1] / "scripts" / "tables.py"
N_REPEATS = 20


def time_script(outputs: Path, cache: str) -> tuple[float, float]:
    """Return the seconds and the megabytes that the script takes with the folder ``cache`` for metrics."""
    began, peak = time.perf_counter(), 0.0
    environment = {**os.environ, "EVODIVERSE_CACHE": cache}
    script = subprocess.Popen([sys.executable, str(SCRIPT), str(outputs)], env=environment)
    while script.poll() is None:
        peak = max(peak, memory_mb(processes_below(script.pid)))
        time.sleep(INTERVAL_S)
    return time.perf_counter() - began, peak


def time_selection(run: Run) -> tuple[int, float]:
    """Return how many molecules there are to choose from, and the milliseconds that choosing ten takes."""
    log = read_log(run)
    keys = [log.keys[call] for call in log.final_union]
    scores = np.array([log.scores[call] for call in log.final_union])
    for key in keys:
        fingerprint(key)  # kept in memory, so that only the selection is timed
    took = []
    for _ in range(N_REPEATS):
        began = time.perf_counter()
        select_by_average(keys, scores, 10)
        took.append(time.perf_counter() - began)
    return len(keys), 1e3 * median(took)


def main() -> None:
    outputs = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as cache:
        for what in ("first", "again"):
            seconds, megabytes = time_script(outputs, cache)
            print(f"{what}: {seconds:.1f} s, peak memory {megabytes:.0f} MB")
    timed = [time_selection(run) for run in survey_runs(outputs).complete if find_metrics(run).kind == "molecules"]
    sizes, times = zip(*timed, strict=True)
    print(
        f"ten from {min(sizes)} to {max(sizes)} molecules: median {median(times):.2f} ms, at most {max(times):.2f} ms"
    )


if __name__ == "__main__":
    main()
