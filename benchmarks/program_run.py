"""What a run adds to bare litellm and the bare sandbox: python benchmarks/program_run.py [EVALUATIONS ...].

Each run is `evodiverse task=program method=pt`, as a user starts it, with a language model that answers at once and
programs that do nothing. Afterwards the very calls of its log are made again in the same turns, two prompts by litellm,
then two programs in the sandbox, with nothing between. The server has a process of its own.
"""

import asyncio
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from evodiverse.llm.library import load_litellm
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Job, Limits

SIZES = (1_000, 10_000)
AT_ONCE = 2  # one offspring a pool, two pools
EVALUATOR = 'ENTRY_POINT = "main"\n\n\ndef score(result):\n    return result * 7919 % 1000 / 1000\n'
START = "def main():\n    return 0\n"
NUMBERS = count(1)


def reply() -> bytes:
    content = f"```python\ndef main():\n    return {next(NUMBERS)}\n```"
    message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 0, "model": "toy", "choices": [message], "usage": usage}
    ).encode()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
            body = reply()
            writer.write(
                f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def serve(port: Connection) -> None:
    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def search(address: str, evaluations: int, folder: Path) -> tuple[float, Path]:
    """Return the seconds of a run, by its own clock, and its directory."""
    (folder / "evaluator.py").write_text(EVALUATOR)
    (folder / "start.py").write_text(START)
    overrides = [
        *("task=program", "method=pt", "llm=openai_compatible", "llm.model=toy", "task.prompts.mode=rewrite"),
        *("task.evaluator=evaluator.py", "task.initial.path=start.py", "display=none", "llm.cache=replies.sqlite"),
        *(f"llm.api_base={address}", f"budget.oracle_calls={evaluations}", f"outputs={folder}"),
    ]
    subprocess.run([sys.executable, "-m", "evodiverse", *overrides], cwd=folder, check=True, capture_output=True)
    (record,) = folder.rglob("run.json")
    return json.loads(record.read_text())["seconds"]["wall"], record.parent


def column(run: Path, dataset: str, name: str) -> list[Any]:
    parts = sorted((run / dataset).glob("part-*.parquet"))
    return [value for part in parts for value in pq.read_table(part, columns=[name])[name].to_pylist()]


def repeat_bare(address: str, prompts: list[str], programs: list[str]) -> dict[str, float]:
    """Return the seconds that litellm and the sandbox take for the same calls, in the same turns."""
    litellm = load_litellm()
    jobs = [Job(program, "main", (), None, Limits(30.0)) for program in programs]
    sandboxes = [ProcessSandbox() for _ in range(AT_ONCE)]
    seconds = {"bare litellm": 0.0, "bare sandbox": 0.0}

    async def ask(prompt: str) -> None:
        messages = [{"role": "user", "content": prompt}]
        settings = {"temperature": 0.7, "top_p": 0.8, "max_tokens": 8192, "max_retries": 0, "timeout": 300.0}
        await litellm.acompletion(model="openai/toy", messages=messages, api_base=address, api_key="none", **settings)

    async def ask_together(some: list[str]) -> None:
        await asyncio.gather(*map(ask, some))

    with ThreadPoolExecutor(AT_ONCE) as threads, asyncio.Runner() as loop:

        def run_together(some: list[Job]) -> None:
            list(threads.map(lambda pair: pair[0].run([pair[1]]), zip(sandboxes, some, strict=False)))

        run_together(jobs[:1] * AT_ONCE)  # they start
        loop.run(ask_together(prompts[:AT_ONCE]))
        for at in range(0, len(prompts), AT_ONCE):
            began = time.perf_counter()
            loop.run(ask_together(prompts[at : at + AT_ONCE]))
            asked = time.perf_counter()
            run_together(jobs[at : at + AT_ONCE])
            seconds["bare litellm"] += asked - began
            seconds["bare sandbox"] += time.perf_counter() - asked
        loop.run(litellm.close_litellm_async_clients())
    return seconds


def main() -> None:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    address = f"http://127.0.0.1:{ours.recv()}/v1"
    beyond = []
    for evaluations in [int(word) for word in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            seconds, run = search(address, evaluations, Path(folder))
            programs = [program for program in column(run, "evaluations", "genotype") if program]
            bare = repeat_bare(address, column(run, "llm_calls", "prompt"), programs)
        each = {"run": seconds, **bare, "beyond both": seconds - sum(bare.values())}
        shown = ", ".join(f"{name} {value / evaluations * 1e3:.2f}" for name, value in each.items())
        beyond.append(seconds / evaluations)
        print(f"{evaluations:,} evaluations, ms each: {shown}", flush=True)
    if len(beyond) > 1:
        print(f"an evaluation of the longest run costs {beyond[-1] / beyond[0]:.2f} times one of the shortest")
    server.terminate()


if __name__ == "__main__":
    main()
