"""What a language model could answer to the toy's prompts: a function of the prompt alone."""

import hashlib
from collections.abc import Callable

from tests.llm.servers import Answer, Body


def answer_bits(body: Body, number: int) -> Answer:
    """Take each bit from one of the parents and flip some; one answer in ten is none, one in ten is no bits."""
    prompt = body["messages"][-1]["content"]
    _, *words = prompt.split()
    parents = [word for word in words if set(word) <= {"0", "1"}]
    if not parents:
        return Answer("ready")
    digest = hashlib.sha256(prompt.encode()).digest()
    if digest[0] < 25:
        return Answer("I would rather not say.")
    if digest[0] < 50:
        return Answer("thus = none of them")
    bits = ""
    for place, byte in enumerate(hashlib.sha256(digest).digest()[: len(parents[0])]):
        bit = parents[byte % len(parents)][place]
        bits += "10"[int(bit)] if byte > 240 else bit
    return Answer(f"after some thought={bits}", usage=(len(prompt), len(bits)))


def improve_at(rates: dict[str, float]) -> Callable[[Body, int], Answer]:
    """Return a script by which each model adds a one to the best parent at its rate, and else takes one away."""

    def improve(body: Body, number: int) -> Answer:
        prompt = body["messages"][-1]["content"]
        _, *words = prompt.split()
        parents = [word for word in words if len(word) > 1 and set(word) <= {"0", "1"}]
        if not parents:
            return Answer("ready")
        best = max(parents, key=lambda bits: sum(place for place, bit in enumerate(bits, start=1) if bit == "1"))
        digest = hashlib.sha256(prompt.encode()).digest()
        old = "0" if digest[0] < 256 * rates[body["model"]] else "1"
        places = [place for place, bit in enumerate(best) if bit == old] or [0]
        place = places[int.from_bytes(digest[1:5], "big") % len(places)]
        return Answer(f"={best[:place]}{'10'[int(best[place])]}{best[place + 1 :]}", usage=(400, 50))

    return improve
