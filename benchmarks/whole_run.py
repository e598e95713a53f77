"""Measure a whole run, started as a user starts it: python benchmarks/whole_run.py [OVERRIDES].

Prints wall time from start to end, the highest memory of all its processes together (proportional set size, sampled
every 50 ms; Linux only), and how much time each part took by the run's own clock. Without overrides, the run is the
JNK3 search with its full budget.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FULL = ["task=jnk3", "method=pt", "search.early_stop=null"]
INTERVAL_S = 0.05


def processes_below(root: int) -> list[int]:
    """Return the id of a process and those of all its descendants."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def memory_mb(processes: list[int]) -> float:
    """Return the megabytes that processes take together; memory that they share is counted once."""
    total_kb = 0
    for process in processes:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kb / 1024


def main() -> None:
    overrides = sys.argv[1:] or FULL
    with tempfile.TemporaryDirectory() as outputs:
        command = [sys.executable, "-m", "evodiverse", *overrides, f"outputs={outputs}"]
        began, peak = time.perf_counter(), 0.0
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while run.poll() is None:
            peak = max(peak, memory_mb(processes_below(run.pid)))
            time.sleep(INTERVAL_S)
        wall = time.perf_counter() - began
        (path,) = Path(outputs).rglob("run.json")
        record = json.loads(path.read_text())
        megabytes = sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file()) / 1e6
    seconds, calls = record["seconds"], record["totals"]["oracle_calls"]
    engine = seconds["wall"] - seconds["operator"] - seconds["oracle"]
    print(f"{' '.join(overrides)}: {calls:,} oracle calls, stopped by {record['stopped_by']}")
    print(f"wall {wall:.1f} s, peak memory {peak:.0f} MB, log {megabytes:.2f} MB")
    print(f"start-up and end {wall - seconds['wall']:.1f} s")
    print(f"operator {seconds['operator']:.1f} s, oracle {seconds['oracle']:.1f} s")
    print(f"engine {engine:.1f} s, {1e3 * engine / calls:.3f} ms per call")


if __name__ == "__main__":
    main()
