"""Measure what a run adds to bare litellm and the bare sandbox: python benchmarks/program_run.py [EVALUATIONS ...].

Each argument is the number of evaluations of one run. A number may be given several times; the medians of its runs are
printed last. A run is `evodiverse task=program method=pt`, as a user starts it, with a language model that answers at
once and programs that do nothing. The run is paused every other second. Meanwhile, calls like those of the run are made
bare, with nothing in between: two prompts by litellm, then two programs in the sandbox. Other work on the machine
therefore slows down both alike. The server of the model has a process of its own.
"""

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
from model_server import completion, served

from evodiverse.llm.library import load_litellm
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Job, Limits

SIZES = (1_000,) * 5 + (10_000,)
N_CALLS = 1_000
TURN_SECONDS = 1.0
AT_ONCE = 2  # one offspring a pool, two pools
EVALUATOR = 'ENTRY_POINT = "main"\n\n\ndef score(result):\n    return result * 7919 % 1000 / 1000\n'
START = "def main():\n    return 0\n"
NUMBERS = count(1)


def reply() -> bytes:
    return completion(f"```python\ndef main():\n    return {next(NUMBERS)}\n```", 300, 20)


def start(address: str, evaluations: int, folder: Path) -> subprocess.Popen[bytes]:
    (folder / "evaluator.py").write_text(EVALUATOR)
    (folder / "start.py").write_text(START)
    overrides = [
        *("task=program", "method=pt", "llm=openai_compatible", "llm.model=toy", "task.prompts.mode=rewrite"),
        *("task.evaluator=evaluator.py", "task.initial.path=start.py", "display=none", "llm.cache=replies.sqlite"),
        *(f"llm.api_base={address}", f"budget.oracle_calls={evaluations}", f"outputs={folder}"),
    ]
    return subprocess.Popen([sys.executable, "-m", "evodiverse", *overrides], cwd=folder, stdout=subprocess.DEVNULL)


def record(folder: Path) -> dict[str, Any]:
    """Return the content of ``run.json`` of the run in a folder, an empty dictionary before the run begins."""
    return next((json.loads(path.read_text()) for path in folder.rglob("run.json")), {})


def find_calls(address: str) -> tuple[list[str], list[str]]:
    """Make a run and return its prompts and its programs, which `Bare` repeats."""
    with tempfile.TemporaryDirectory() as name:
        if start(address, N_CALLS, Path(name)).wait() != 0:
            raise SystemExit("the run failed")
        (path,) = Path(name).rglob("run.json")
        programs = [program for program in column(path.parent, "evaluations", "genotype") if program]
        return column(path.parent, "llm_calls", "prompt"), programs


def column(run: Path, dataset: str, name: str) -> list[Any]:
    parts = sorted((run / dataset).glob("part-*.parquet"))
    return [value for part in parts for value in pq.read_table(part, columns=[name])[name].to_pylist()]


class Bare:
    """Bare calls of litellm and of the sandbox, with nothing in between.

    Attributes:
        n: The number of evaluations so far.
        seconds: The seconds that litellm and the sandbox each took for them.
    """

    def __init__(self, address: str, prompts: list[str], programs: list[str]) -> None:
        self._litellm = load_litellm()
        self._address = address
        self._prompts = cycle(prompts)
        self._jobs = cycle([Job(program, "main", (), None, Limits(30.0)) for program in programs])
        self._sandboxes = [ProcessSandbox() for _ in range(AT_ONCE)]
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._loop = asyncio.Runner()
        for _ in range(2):  # the first turn starts the processes and connections, and does not count
            self.n = 0
            self.seconds = {"bare litellm": 0.0, "bare sandbox": 0.0}
            self.turn()

    async def _ask(self, prompt: str) -> None:
        system, _, user = prompt.removeprefix("system: ").partition("\n\nuser: ")
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        settings = {"temperature": 0.7, "top_p": 0.8, "max_tokens": 8192, "max_retries": 0, "timeout": 300.0}
        base = {"api_base": self._address, "api_key": "none"}
        await self._litellm.acompletion(model="openai/toy", messages=messages, **base, **settings)

    async def _ask_together(self, prompts: list[str]) -> None:
        await asyncio.gather(*map(self._ask, prompts))

    def turn(self) -> None:
        """Make the calls of one iteration: `AT_ONCE` prompts, then as many programs."""
        began = time.perf_counter()
        self._loop.run(self._ask_together(list(islice(self._prompts, AT_ONCE))))
        asked = time.perf_counter()
        list(self._threads.map(lambda sandbox, job: sandbox.run([job]), self._sandboxes, self._jobs))
        self.n += AT_ONCE
        self.seconds["bare litellm"] += asked - began
        self.seconds["bare sandbox"] += time.perf_counter() - asked

    def close(self) -> None:
        self._loop.run(self._litellm.close_litellm_async_clients())
        self._loop.close()
        self._threads.shutdown()


def measure(address: str, evaluations: int, prompts: list[str], programs: list[str]) -> dict[str, float]:
    """Return milliseconds per evaluation: of a run by its own clock, of the bare calls, and of the run beyond both."""
    bare = Bare(address, prompts, programs)
    halted = 0.0
    with tempfile.TemporaryDirectory() as name:
        run = start(address, evaluations, Path(name))
        while run.poll() is None and not record(Path(name)):
            time.sleep(0.01)
        while run.poll() is None:
            time.sleep(TURN_SECONDS)
            run.send_signal(signal.SIGSTOP)
            began = time.perf_counter()
            time.sleep(0.02)  # until programs in progress have ended
            while time.perf_counter() < began + TURN_SECONDS:
                bare.turn()
            if record(Path(name))["status"] == "running":
                halted += time.perf_counter() - began
            run.send_signal(signal.SIGCONT)
        seconds = record(Path(name))["seconds"]["wall"] - halted
    bare.close()
    each = {"run": seconds / evaluations, **{name: value / bare.n for name, value in bare.seconds.items()}}
    each["beyond both"] = 2 * each["run"] - sum(each.values())
    return {name: value * 1e3 for name, value in each.items()}


def show(title: str, milliseconds: dict[str, float]) -> None:
    shown = ", ".join(f"{name} {value:.2f}" for name, value in milliseconds.items())
    print(f"{title}, ms each: {shown}", flush=True)


def main() -> None:
    taken: dict[int, list[dict[str, float]]] = {}
    with served(reply) as address:
        prompts, programs = find_calls(address)
        for evaluations in [int(word) for word in sys.argv[1:]] or SIZES:
            taken.setdefault(evaluations, []).append(measure(address, evaluations, prompts, programs))
            show(f"{evaluations:,} evaluations", taken[evaluations][-1])
    medians = {
        evaluations: {name: median(each[name] for each in pairs) for name in pairs[0]}
        for evaluations, pairs in taken.items()
    }
    for evaluations, pairs in taken.items():
        show(f"{evaluations:,} evaluations, median of {len(pairs)}", medians[evaluations])
    if len(medians) > 1:
        ratio = medians[max(medians)]["run"] / medians[min(medians)]["run"]
        print(f"an evaluation of the longest run costs {ratio:.2f} times one of the shortest")


if __name__ == "__main__":
    main()
