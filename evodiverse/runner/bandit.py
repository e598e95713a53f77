"""The choice among the models of a run by their gains per dollar (``llm.choose=bandit``)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from math import fsum
from typing import Any, TypeAlias

from evodiverse.ports import Row
from evodiverse.search.bandit import Arm, find_indices, gained, learn, share_out
from evodiverse.search.sampling import FloatArray
from evodiverse.search.state import IterationInfo
from evodiverse.vocabulary import CostBound, Reply, Request, Sampler

COLUMNS = ("iteration", "model", "requests", "gains", "full_cost_usd")
"""The columns of ``choices`` from which a resumed run learns."""

Samplers: TypeAlias = Sequence[Sequence[Sampler]]
"""The samplers of each pool, in the order of the pools."""

Shares: TypeAlias = Sequence[Sequence[float]]
"""The share of its requests that each pool sends to each of its models, in the order of its samplers."""


class Bandit:
    """Shares out the requests of each pool among its models, and learns from what they bring and cost.

    What is known of a model comes from all pools that have a choice, since one pool may have few requests. All that it
    learns is read from completed iterations, so that neither the order of replies nor a resume makes a difference.

    Args:
        samplers: The samplers of each pool, in the order of the pools.
        costs: For each model, a function that returns the cost in USD of a number of tokens of prompts, of one of
            replies, and of one of those tokens of prompts that the provider had in its cache.
    """

    def __init__(self, samplers: Samplers, costs: Mapping[str, Callable[[int, int, int], float]]) -> None:
        self._samplers = samplers
        self._costs = costs
        self._arms = {one.model: Arm() for used in samplers if len(used) > 1 for one in used}
        self._open: dict[int, Shares] = {}
        self._noted: dict[str, list[tuple[int, float]]] = {model: [] for model in self._arms}

    def share_out(self, n_requests: int) -> Shares:
        """Return the shares of an iteration of about so many requests that reads what is known now."""
        return [
            share_out([self._arms.get(one.model, Arm()) for one in used], [one.weight for one in used], n_requests)
            for used in self._samplers
        ]

    def begin(self, iteration: int, shares: Shares) -> None:
        """Note the shares of an iteration, which `find_shares` returns until `end`."""
        self._open[iteration] = shares

    def find_shares(self, request: Request) -> Sequence[float]:
        """Return the share of each model of a request's pool; this may be called in any thread."""
        return self._open[request.iteration][request.pool]

    def note(self, number: int, request: Request, model: str, reply: Reply, bound: CostBound) -> None:
        """Note the request with this number in the run. A reply of unknown size counts at the most that it can cost."""
        if len(self._samplers[request.pool]) == 1:
            return
        cost = self._costs[model]
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            usd = max(cost(bound.tokens, 0, 0), cost(0, bound.tokens, 0))
        else:
            usd = cost(reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens or 0)
        self._noted[model].append((number, usd))

    def end(self, info: IterationInfo, scores: FloatArray) -> list[Row]:
        """Learn from the requests of an iteration, and return its rows of ``choices``.

        Args:
            info: The record of the iteration.
            scores: ``(n,)`` scores of all candidates, in the order of their calls.
        """
        if self._open.pop(info.iteration, None) is None:  # the initial candidates
            return []
        gains = {attempt.llm_call for attempt in info.attempts if gained(attempt, scores)}
        seen = {
            model: Arm(len(noted), sum(number in gains for number, _ in noted), fsum(usd for _, usd in noted))
            for model, noted in self._noted.items()
        }
        self._noted = {model: [] for model in self._arms}
        self._arms = learn(self._arms, seen)
        known = {model: arm for model, arm in self._arms.items() if arm.requests}
        indices = dict(zip(known, find_indices(list(known.values()), [0] * len(known)), strict=True))
        rows = [(info.iteration, model, *new, indices.get(model)) for model, new in seen.items()]
        return [dict(zip((*COLUMNS, "index"), row, strict=True)) for row in rows]

    def resume(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Learn from all rows of ``choices`` that earlier processes logged, with the `COLUMNS`."""
        seen: dict[int, dict[str, Arm]] = defaultdict(dict)
        for iteration, model, *known in ([row[name] for name in COLUMNS] for row in rows):
            seen[iteration][model] = Arm(*known)
        self._arms = reduce(learn, (seen[iteration] for iteration in sorted(seen)), self._arms)
