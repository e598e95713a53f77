"""Compare a run whose requests go out in batches with one that sends each by itself: python benchmarks/batches.py.

A scripted server takes both. The task is the toy of the tests, and the prices are those of gpt-4o-mini.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from evodiverse.api import run
from tests.llm.batch_server import BatchServer
from tests.llm.servers import serving
from tests.toys.bits.model import answer_bits

ROOT = Path(__file__).parents[1]
N_CALLS = 1000


def main() -> None:
    """Measure and print."""
    os.environ |= {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"}
    for batch in (False, True):
        with serving(BatchServer(answer_bits)) as server, tempfile.TemporaryDirectory() as folder:
            model = ["llm=litellm", "llm.model=openai/gpt-4o-mini", f"llm.api_base={server.url}", f"llm.batch={batch}"]
            places = [f"llm.cache={folder}/cache", f"outputs={folder}"]
            limits = [f"budget.llm_calls={N_CALLS}", "budget.oracle_calls=100000", "search.early_stop=null"]
            began = time.perf_counter()
            done = run(
                ["task=bits", "method.offspring=70", *model, *places, *limits], config_dir=ROOT / "tests/toys/conf"
            )
            seconds = time.perf_counter() - began
            llm = done.record["llm"]
            told = (
                f"{llm['calls']} calls for ${llm['cost_usd']:.5f}, {len(server.paths)} HTTP requests, {seconds:.1f} s"
            )
            print(f"llm.batch={batch}: {told}", flush=True)


if __name__ == "__main__":
    main()
