"""How fast the oracle's random forests are, on one core: ``python benchmarks/forest.py``.

Prints molecules per second for 10,000 given fingerprints, the time of a usual batch of 140, and the rate from SMILES to
score. Each figure is the best of several repeats, as other work on the machine can only slow it down.
"""

import os
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from rdkit import Chem

from evodiverse.data.cache import artifact_path
from evodiverse.tasks.molecules.forest import Forest, morgan_fingerprints
from evodiverse.tasks.molecules.oracle import PUBLISHED, open_published

N_MOLECULES = 10_000
N_BATCH = 140
N_REPEATS = 5


def best_seconds(work: Callable[[], object], n_repeats: int = N_REPEATS) -> float:
    seconds = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lines = artifact_path("zinc250k").read_text().splitlines()
    smiles = [lines[i] for i in np.linspace(0, len(lines) - 1, N_MOLECULES).astype(int)]
    fingerprints = morgan_fingerprints([Chem.MolFromSmiles(text) for text in smiles])
    print(f"{'forest':8}{'nodes':>9}{'fingerprints/s':>16}{'batch of 140':>15}{'SMILES/s':>10}")
    for name in PUBLISHED:
        oracle = open_published(name, artifact_path(name))
        forest = oracle.classifier
        if not isinstance(forest, Forest):
            continue
        whole = best_seconds(partial(forest.predict, fingerprints))
        batch = best_seconds(partial(forest.predict, fingerprints[:N_BATCH]), 20)
        end_to_end = best_seconds(partial(oracle, smiles), 2)
        rates = f"{N_MOLECULES / whole:16,.0f}{batch * 1e3:12.1f} ms{N_MOLECULES / end_to_end:10,.0f}"
        print(f"{name:8}{len(forest.feature):9,}{rates}")


if __name__ == "__main__":
    main()
