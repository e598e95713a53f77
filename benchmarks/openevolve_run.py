"""Compare a run of 1,000 trivial programs with OpenEvolve: python benchmarks/openevolve_run.py PYTHON.

PYTHON is the interpreter of an environment with openevolve==0.4.0. Both get the same program task, whose programs
return a number, and a language model that answers at once. Each run is a process of its own, and the two take turns.
OpenEvolve runs programs without confining them.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from statistics import median

N = 1_000
TURNS = 3
NUMBERS = count(1)
START = "# EVOLVE-BLOCK-START\ndef main():\n    return 0\n# EVOLVE-BLOCK-END\n"
EVALUATOR = """import importlib.util

ENTRY_POINT = "main"


def score(result):
    return result * 7919 % 1000 / 1000


def evaluate(path):
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"combined_score": score(module.main())}
"""


def reply() -> bytes:
    from model_server import completion

    return completion(f"```python\n{START.replace('0', str(next(NUMBERS)))}```", 300, 20)


def time_both(address: str, python: str) -> tuple[float, float]:
    """Return the seconds that EvoDiverse takes, and those that OpenEvolve takes."""
    ours = [
        *("task=program", "method=pt", "method.offspring=16", "llm=openai_compatible", "llm.model=toy", "display=none"),
        *("task.prompts.mode=rewrite", "task.evaluator=evaluator.py", "task.initial.path=start.py", "outputs=outputs"),
        *(f"llm.api_base={address}", "llm.cache=replies.sqlite", f"budget.oracle_calls={N}"),
    ]
    seconds = []
    for command in ([sys.executable, "-m", "evodiverse", *ours], [python, __file__, "--inside", address]):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "evaluator.py").write_text(EVALUATOR)
            Path(folder, "start.py").write_text(START)
            began = time.perf_counter()
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1]


def run_openevolve(address: str) -> None:
    """Make the run of OpenEvolve, in its own environment."""
    from openevolve import Config, OpenEvolve
    from openevolve.config import LLMModelConfig

    config = Config()
    config.checkpoint_interval, config.diff_based_evolution, config.log_level = 10**6, False, "ERROR"
    config.llm.models = [LLMModelConfig(name="toy", api_base=address, api_key="none", timeout=60, retries=0)]
    config.evaluator.cascade_evaluation, config.evaluator.parallel_evaluations = False, 2
    asyncio.run(OpenEvolve("start.py", "evaluator.py", config=config, output_dir="out").run(iterations=N))


def main(python: str) -> None:
    """Measure and print."""
    from model_server import served

    with served(reply) as address:
        turns = [time_both(address, python) for _ in range(TURNS)]
    ours, theirs = zip(*turns, strict=True)
    ratio = median(their / our for our, their in turns)
    print(f"EvoDiverse {median(ours):.1f} s, OpenEvolve {median(theirs):.1f} s, ratio {ratio:.1f}")


if __name__ == "__main__":
    run_openevolve(sys.argv[2]) if sys.argv[1] == "--inside" else main(sys.argv[1])
