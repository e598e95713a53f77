"""Compare `llm.choose=bandit` with equal weights at the same cost: python benchmarks/bandit.py [SEEDS].

A scripted server stands for two models, whose task is the toy of the tests, bit strings: each model improves on the
best parent at a rate of its own. Their prices are those of gpt-4o and gpt-4o-mini, 16.7 to 1, or equal. Each run ends
by `budget.usd`. Its score is the mean of its ten best candidates.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

sys.path.insert(0, str(Path(__file__).parents[1]))
from evodiverse.api import run
from tests.llm.servers import ModelServer, serving
from tests.toys.bits.model import improve_at

ROOT = Path(__file__).parents[1]
FIRST, SECOND = "gpt-4o", "gpt-4o-mini"
EQUAL = ["llm.price={input:2.5,output:10}"]
CASES = {
    "rates 0.6 and 0.2, prices 16.7 to 1": (0.6, 0.2, ()),
    "rates 0.6 and 0.1, equal prices": (0.6, 0.1, EQUAL),
    "rates 0.6 and 0.01, prices 16.7 to 1": (0.6, 0.01, ()),
}
USD = 0.4


def measure(address: str, settings: Sequence[str], folder: Path) -> tuple[float, float, float]:
    """Return the score of a run, the share of the first model among its requests, and its cost."""
    models = f"models=[{{model:openai/{FIRST},weight:1}},{{model:openai/{SECOND},weight:1}}]"
    asked = ["llm=litellm", f"llm.pools.cold.{models}", f"llm.pools.hot.{models}", f"llm.api_base={address}"]
    places = [f"llm.cache={folder}/cache", f"outputs={folder}", "evaluator.workers=1"]
    limits = [f"budget.usd={USD}", "budget.oracle_calls=100000", "search.patience=1000"]
    task = ["task=bits", "task.length=200", "method=pt"]
    done = run([*task, *asked, *places, *limits, *settings], config_dir=ROOT / "tests/toys/conf")
    scores = sorted(score for score in done.table().column("score").to_pylist() if score is not None)
    to = done.table("llm_calls").column("model").to_pylist()
    return fmean(scores[-10:]), to.count(f"openai/{FIRST}") / len(to), done.record["llm"]["cost_usd"]


def main(n_seeds: int = 8) -> None:
    """Measure and print."""
    os.environ |= {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"}
    for case, (first, second, prices) in CASES.items():
        for choose in ("weights", "bandit"):
            script = improve_at({FIRST: first, SECOND: second})
            with serving(ModelServer(script)) as server, tempfile.TemporaryDirectory() as folder:
                settings = [*prices, f"llm.choose={choose}"]
                found = [measure(server.url, [*settings, f"seed={seed}"], Path(folder)) for seed in range(n_seeds)]
            scores, shares, costs = zip(*found, strict=True)
            told = f"score {fmean(scores):.3f} ± {stdev(scores):.3f}, first {fmean(shares):.0%}, ${fmean(costs):.3f}"
            print(f"{case}: {choose}: {told}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
