"""Measure how `search.lag` uses the time of a model whose replies take log-normal times (sigma 1, median 2 s).

python benchmarks/lag.py [KEY=VALUE ...]

By default, each run asks for about 1,000 replies, 140 in an iteration, with at most 16 and 64 in progress. The limit is
the time that the same replies take if as many are always in progress.
"""

import math
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from model_server import completion, served

from evodiverse.api import run

WORDS = ["method=pt", "budget.oracle_calls=1240"]  # with 240 or so for the first population
UNITS = ("C", "N", "O", "CC", "C(C)C", "c1ccccc1", "C(=O)N", "C1CCNCC1", "c1ccncc1", "CC(F)(F)C")
RNG = np.random.default_rng(0)


def reply() -> bytes:
    """Return a molecule that no other reply has, most likely."""
    smiles = "".join(RNG.choice(UNITS, 7))
    return completion(f"Because. <box>{smiles}</box>", 320, 200)


def latency() -> float:
    return RNG.lognormal(math.log(2.0), 1.0)


def measure(address: str, concurrency: int, lag: int, folder: Path) -> None:
    model = ["llm=openai_compatible", "llm.model=toy", f"llm.api_base={address}", f"llm.concurrency={concurrency}"]
    places = [f"outputs={folder}/{concurrency}", f"llm.cache={folder}/{concurrency}-{lag}.sqlite"]
    done = run(["task=jnk3", *(sys.argv[1:] or WORDS), *model, *places, f"search.lag={lag}"])
    calls, pools = (pq.read_table(done.path / name) for name in ("llm_calls", "populations"))
    walls = [seconds["wall"] for seconds in pools["seconds"].to_pylist()]
    limit, taken = sum(calls["seconds"].to_pylist()) / concurrency, max(walls) - min(walls)
    told = f"{len(calls):,} calls in {taken:.1f} s, limit {limit:.1f} s, {limit / taken:.0%}"
    print(f"{concurrency} in progress, lag {lag}: {told}", flush=True)


def main() -> None:
    os.environ["OPENAI_API_KEY"] = "none"
    with served(reply, latency) as address, tempfile.TemporaryDirectory() as folder:
        for concurrency in (16, 64):
            for lag in (0, 1, 2):
                measure(address, concurrency, lag, Path(folder))


if __name__ == "__main__":
    main()
