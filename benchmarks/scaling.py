"""Measure how the cost of a search grows if one of its sizes grows: python benchmarks/scaling.py.

The runs search the toy task, whose operator and oracle cost next to nothing, so EvoDiverse itself is measured. Prints
milliseconds per call, without start-up, for more pools, larger pools and more offspring. Then prints, for slow
evaluations with 1, 4 and 16 workers, how long they take relative to the least time that so many workers need.
"""

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from million import TOY, start

CALLS = 20_000
PAUSE, N_SLOW = 0.05, 1_000
CASES = {
    "pools": {n: [f"method.ladder=[{','.join(str(0.8 / 2**at) for at in range(n))}]"] for n in (1, 2, 4, 8)},
    "candidates a pool": {n: [f"method.capacity={n}"] for n in (120, 1_200, 12_000)},
    "offspring of a pool and iteration": {n: [f"method.offspring={n}"] for n in (7, 70, 700)},
}


def seconds(words: Sequence[str], calls: int) -> float:
    """Return how long a run of the toy task with these settings takes; raise an error if it makes fewer calls."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        if start(Path(folder), calls, [*TOY, *words]).wait():
            raise RuntimeError("the run failed")
        took = time.perf_counter() - began
        made = json.loads((Path(folder) / "million" / "run.json").read_text())["totals"]["oracle_calls"]
    if made != calls:
        raise RuntimeError(f"expected {calls} calls, got {made}")
    return took


def main() -> None:
    for what, cases in CASES.items():
        for n, words in cases.items():
            took = seconds(words, 2 * CALLS) - seconds(words, CALLS)
            print(f"{n:,} {what}: {took / CALLS * 1e3:.3f} ms a call", flush=True)
    for workers in (1, 4, 16):
        own = [f"task.pause={PAUSE}", f"evaluator.workers={workers}"]
        took = seconds(own, N_SLOW * workers) - seconds([f"evaluator.workers={workers}"], N_SLOW * workers)
        print(
            f"evaluations of {PAUSE:g} s, {workers} workers: {took / (N_SLOW * PAUSE):.2f} times the least", flush=True
        )


if __name__ == "__main__":
    main()
