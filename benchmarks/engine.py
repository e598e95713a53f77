"""The engine's own time per oracle call, and whether it grows over a run: python benchmarks/engine.py [CALLS].

The toy task's operator and oracle cost next to nothing, and the time that the loop's own clock measures for them is
subtracted. What remains is the engine: selection, attempts, exchange, the log. The time of each tenth of the run is the
best of three runs, as other work on the machine can only slow it down.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from evodiverse.ports import Snapshot
from evodiverse.runner.display import NoDisplay
from evodiverse.runner.ledger import Budget, Ledger
from evodiverse.runner.loop import Loop, Setup, draw_start
from evodiverse.runner.proposers import OperatorProposer
from evodiverse.runner.workers import Bench, Workers
from evodiverse.search.settings import MatingPool, Method, Search, Survivors, Swap
from evodiverse.search.streams import Streams
from evodiverse.store.run_directory import RunDirectory
from evodiverse.vocabulary import Prompt

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.toys.bits.operators import BitCrossover
from tests.toys.bits.task import BitTask

# The settings of `method=pt` for molecules. The bit strings (`BITS`) are long enough that offspring are new.
METHOD = Method(
    ladder=[0.8, 0.2],
    capacity=120,
    offspring=70,
    parents=2,
    elites=3,
    hot_prompt=Prompt.HOT,
    mating_pool=MatingPool(70, replacement=True, weight="score_floor"),
    survivors=Survivors("sample", "score_power"),
    swap=Swap("metropolis", "all", period=5, size=5, xi=2.5, target=0.4, tolerance=0.2, window=1),
)
SEARCH = Search(attempts=3, patience=20, early_stop=None)
BITS = 200
N_REPEATS = 3


class Stopwatch(NoDisplay):
    """A display that notes after every commit how many calls there were and how many seconds the engine took so far."""

    def __init__(self) -> None:
        self.loop: Loop | None = None
        self.marks: list[tuple[int, float]] = []

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        if self.loop is not None:
            seconds = self.loop.clock.seconds
            self.marks.append((snapshot().oracle_calls, seconds["wall"] - seconds["operator"] - seconds["oracle"]))


def engine_seconds(calls: int) -> list[tuple[int, float]]:
    """Return (calls, engine seconds) after every iteration of one run."""
    task, stopwatch = BitTask(BITS, 120), Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        store = RunDirectory(Path(folder) / "run", task.columns)
        workers = Workers(Bench(task, BitCrossover(), store.journal), 1)
        ledger = Ledger(Budget(), METHOD.n_pools)
        setup = Setup(
            method=METHOD,
            search=SEARCH,
            streams=Streams(0),
            oracle_calls=calls,
            draw_start=lambda: draw_start(task, Streams(0), METHOD.n_pools, 120),
            task=task,
            workers=workers,
            proposers=[OperatorProposer(workers, ledger)] * SEARCH.attempts,
            ledger=ledger,
            store=store,
            display=stopwatch,
            check=lambda: None,
            committed=lambda _: None,
        )
        stopwatch.loop = Loop(setup)
        stopwatch.loop.run()
    return stopwatch.marks


def ms_by_tenth(calls: int) -> list[float]:
    """Return the engine's milliseconds per oracle call in each tenth of one run."""
    marks = engine_seconds(calls)
    edges = [next(mark for mark in marks if mark[0] >= calls * tenth / 10) for tenth in range(1, 11)]
    starts = [marks[0], *edges[:-1]]
    return [1e3 * (end[1] - start[1]) / (end[0] - start[0]) for start, end in zip(starts, edges, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="?", type=int, default=50_000, help="oracle calls of the run (50,000)")
    calls = parser.parse_args().calls
    tenths = [min(times) for times in zip(*(ms_by_tenth(calls) for _ in range(N_REPEATS)), strict=True)]
    print(f"engine, ms per oracle call, by tenth of {calls:,} calls: {' '.join(f'{ms:.3f}' for ms in tenths)}")
    print(f"mean {sum(tenths) / 10:.3f}; last tenth over first {tenths[-1] / tenths[0]:.2f}")


if __name__ == "__main__":
    main()
