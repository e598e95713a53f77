"""What a language model could answer to the toy's prompts: a function of the prompt alone."""

import hashlib

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
