"""Compare EvoDiverse with bare litellm: the time of calls that take the server one second each, and the CPU per call.

python benchmarks/model_calls.py

Each comparison sends the same molecule prompts in two ways, which take turns: by a bare `asyncio.gather` of litellm's
calls, and by a round of a run (proposals that are requested together), with prompts, bounds on the cost, the reply
cache, parsing and the ledger of what was spent. The limit on calls in progress is the same for both. The server has a
process of its own.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from model_server import completion, served

from evodiverse.llm.cache import ReplyCache
from evodiverse.llm.chat import ChatClient
from evodiverse.llm.client import sent_parameters
from evodiverse.llm.library import load_litellm
from evodiverse.llm.model import CachedModel
from evodiverse.runner.ledger import Budget, Cap, Ledger
from evodiverse.runner.proposers import Hooks, ModelProposer, Watch
from evodiverse.tasks.molecules.initial import Library
from evodiverse.tasks.molecules.prompts import build
from evodiverse.tasks.molecules.settings import MoleculeSettings, Oracle
from evodiverse.tasks.molecules.task import MoleculeTask
from evodiverse.vocabulary import Candidate, Decoding, Prompt, Request, Sampler, Stream

SECONDS = 1.0
SAMPLER = Sampler("toy", Decoding(1.3, None, 2048))
SETTINGS = MoleculeSettings(Oracle("jnk3"))
PARENTS = (
    Candidate(1, "CC(C)Nc1ncc2c(n1)-c1cc(F)ccc1C(=O)N2", "", 0.25, None),
    Candidate(2, "COc1ccc(-c2cc(C(N)=O)c3[nH]ccc3n2)cc1", "", 0.5, None),
)
REPLY = completion("Because. " * 60 + "<box>Cc1ccc(O)cc1</box>.", 320, 200)


def reply() -> bytes:
    return REPLY


def make_requests(n: int, repeat: int) -> list[Request]:
    return [
        Request(repeat, slot % 2, slot // 2, 1, PARENTS, Prompt.COLD, Stream(0, 4, repeat, slot % 2, slot // 2))
        for slot in range(n)
    ]


def gather_bare(address: str, n: int, bound: int, repeat: int) -> float:
    """Return the seconds that bare litellm takes for ``n`` calls, at most ``bound`` of them in progress."""
    litellm, prompts = load_litellm(), build(SETTINGS)
    gate = asyncio.Semaphore(bound)

    async def ask(request: Request) -> None:
        (message,) = prompts.messages(request)
        async with gate:
            await litellm.acompletion(
                model="openai/toy",
                messages=[message._asdict()],
                api_base=address,
                api_key="none",
                max_retries=0,
                **sent_parameters(SAMPLER.decoding, "max_tokens"),
            )

    async def main() -> float:
        began = time.perf_counter()
        await asyncio.gather(*map(ask, make_requests(n, repeat)))
        seconds = time.perf_counter() - began
        await litellm.close_litellm_async_clients()
        return seconds

    return asyncio.run(main())


def propose(address: str, n: int, bound: int, repeat: int) -> float:
    """Return the seconds that EvoDiverse takes for a round of ``n`` proposals, at most ``bound`` calls in progress."""
    task = MoleculeTask(lambda smiles: [0.0] * len(smiles), Library(()), 1, 80)
    client = ChatClient({"toy": "openai/toy"}, address, "none", 100.0)
    with (
        tempfile.TemporaryDirectory() as folder,
        ReplyCache(Path(folder) / "replies.sqlite") as cache,
        CachedModel(cache, client, bound, 0) as model,
    ):
        ledger = Ledger(Budget(), 2)
        watch = Watch(ledger, ["toy"], None, None)
        proposer = ModelProposer(model, [[SAMPLER], [SAMPLER]], build(SETTINGS), task, ledger, watch)
        began = time.perf_counter()
        receive = proposer.begin(make_requests(n, repeat), 0.0, Hooks(lambda _: None))
        if not isinstance(receive, Cap):
            receive(lambda: None)
        return time.perf_counter() - began


WAYS: dict[str, Callable[[str, int, int, int], float]] = {"bare litellm": gather_bare, "EvoDiverse": propose}


def rest() -> None:
    """Wait until litellm's threads, which keep running after the last reply, have nothing to do."""
    busy = True
    while busy:
        before = time.process_time()
        time.sleep(0.5)
        busy = time.process_time() - before > 0.01


def compare_cpu(address: str, n: int, bound: int, repeats: int) -> None:
    """Compare the CPU time per call of this process, with a server that answers at once."""
    ms: dict[str, list[float]] = {}
    for repeat in range(repeats):
        for way, run in WAYS.items():
            rest()
            before = time.process_time()
            run(address, n, bound, repeat)
            ms.setdefault(way, []).append(1000 * (time.process_time() - before) / n)
    ratio = statistics.median(ours / bare for bare, ours in zip(*ms.values(), strict=True))
    shown = ", ".join(f"{way} {statistics.median(values):.2f} ms" for way, values in ms.items())
    print(f"CPU per call, {n} calls, {bound} under way: {shown}, ratio {ratio:.3f}", flush=True)


def compare(name: str, address: str, n: int, bound: int, repeats: int) -> None:
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for repeat in range(repeats):
        for way, run in WAYS.items():
            rest()
            seconds[way].append(run(address, n, bound, repeat))
    ratio = statistics.median(ours / bare for bare, ours in zip(*seconds.values(), strict=True))
    shown = ", ".join(f"{way} {statistics.median(values):.2f} s" for way, values in seconds.items())
    print(f"{name}: {shown}, ratio {ratio:.3f}, throughput {1 / ratio:.3f}", flush=True)


def main() -> None:
    with served(reply) as address:
        gather_bare(address, 1, 1, 0)  # loads what is loaded only once
        compare_cpu(address, 500, 64, 5)
    with served(reply, lambda: SECONDS) as address:
        compare("2 x 70 proposals, all at once", address, 140, 140, 7)
        compare("3,000 proposals, all at once", address, 3000, 3000, 3)
        compare("160 proposals, 16 under way", address, 160, 16, 3)


if __name__ == "__main__":
    main()
