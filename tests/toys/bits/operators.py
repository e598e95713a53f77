from collections.abc import Sequence

from evodiverse.vocabulary import Proposal, Request


class BitCrossover:
    """Takes each bit from a parent at random and flips one in twenty; one answer in ten is unusable."""

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        return [self._propose(request) for request in requests]

    def _propose(self, request: Request) -> Proposal:
        rng = request.stream.rng()
        draw = rng.random()
        if draw < 0.05:
            return Proposal(None, "bits", "no idea")
        parents = [parent.genotype for parent in request.parents]
        bits = [parents[choice][place] for place, choice in enumerate(rng.integers(len(parents), size=len(parents[0])))]
        for place in (rng.random(len(bits)) < 0.05).nonzero()[0].tolist():
            bits[place] = "10"[int(bits[place])]
        return Proposal("".join(bits) + ("?" if draw < 0.1 else ""), "bits")
