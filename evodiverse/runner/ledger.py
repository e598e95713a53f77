"""The ledger: every request to a language model, what it cost, and the caps that stop a run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import inf
from typing import Any

from evodiverse.ports import Row
from evodiverse.vocabulary import CostBound, Query, Reply, Request, Usage


class Cap(StrEnum):
    """What stopped a run that could have gone on (``stopped_by`` in ``run.json``)."""

    LLM_CALLS = "llm_calls"
    TOKENS = "tokens"
    USD = "usd"
    SECONDS = "seconds"


class CallOutcome(StrEnum):
    """How a request to a model ended (the column ``outcome`` of ``llm_calls``)."""

    PARSED = "parsed"
    NO_ANSWER = "no_answer"
    INVALID = "invalid"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Caps:
    """Hard limits of a run; None is none."""

    llm_calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


class Ledger:
    """Counts what is asked of language models, pool by pool, and numbers it in logical order.

    A reply counts as what it cost when it was bought, whether or not it came from the cache. One of unknown size or
    price counts against the caps as what it could have cost at most.

    Args:
        caps: Limits.
        n_pools: Pools that ask.
    """

    def __init__(self, caps: Caps, n_pools: int) -> None:
        self._caps = caps
        self._pools = [Usage()] * n_pools
        self._tokens = 0
        self._usd = 0.0
        self._rows: list[Row] = []

    @property
    def pools(self) -> tuple[Usage, ...]:
        """What each pool used."""
        return tuple(self._pools)

    @property
    def total(self) -> Usage:
        """What all pools used."""
        return sum(self._pools, Usage())

    def find_cap(self, bounds: Sequence[CostBound], seconds: float) -> Cap | None:
        """Return which cap forbids a round, None if it fits under all of them even at its worst.

        Args:
            bounds: What each request of the round costs at most.
            seconds: Wall time of the run so far.
        """
        caps = self._caps
        worst_usd = sum(inf if bound.usd is None else bound.usd for bound in bounds)
        needs = {
            Cap.LLM_CALLS: (self.total.calls + len(bounds), caps.llm_calls),
            Cap.TOKENS: (self._tokens + sum(bound.tokens for bound in bounds), caps.tokens),
            Cap.USD: (self._usd + worst_usd, caps.usd),
        }
        if caps.seconds is not None and seconds >= caps.seconds:
            return Cap.SECONDS
        return next(
            (cap for cap, (need, limit) in needs.items() if limit is not None and bounds and need > limit), None
        )

    def record(self, request: Request, query: Query, bound: CostBound, reply: Reply, outcome: CallOutcome) -> int:
        """Count a request and its reply, and return its number."""
        self._pools[request.pool] += Usage(1, reply.prompt_tokens, reply.completion_tokens, reply.cost_usd)
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            self._tokens += bound.tokens
        else:
            self._tokens += reply.prompt_tokens + reply.completion_tokens
        self._usd += (bound.usd or 0.0) if reply.cost_usd is None else reply.cost_usd
        number = self.total.calls
        self._rows.append(
            {
                "llm_call": number,
                "iteration": request.iteration,
                "pool": request.pool,
                "slot": request.slot,
                "attempt": request.attempt,
                "model": query.model,
                "prompt_tokens": reply.prompt_tokens,
                "completion_tokens": reply.completion_tokens,
                "cost_usd": reply.cost_usd,
                "seconds": reply.seconds,
                "cached": reply.cached,
                "retries": reply.retries,
                "outcome": outcome,
                "prompt": _prompt_text(query),
                "reply": reply.text or None,
                "error": reply.error or None,
            }
        )
        return number

    def take_rows(self) -> list[Row]:
        """Return the rows of ``llm_calls`` since the last time."""
        rows, self._rows = self._rows, []
        return rows

    def saved(self) -> dict[str, object]:
        """Return how the ledger stands, for people and for `resume`."""
        return {
            **asdict(self.total),
            "pools": [asdict(usage) for usage in self._pools],
            "counted_tokens": self._tokens,
            "counted_usd": self._usd,
        }

    def resume(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `saved` gave in an earlier process."""
        self._pools = [Usage(**usage) for usage in saved["pools"]]
        self._tokens, self._usd = saved["counted_tokens"], saved["counted_usd"]


def _prompt_text(query: Query) -> str:
    """Return all messages as one text; who says what is told where there are several."""
    if len(query.messages) == 1:
        return query.messages[0].content
    return "\n\n".join(f"{message.role}: {message.content}" for message in query.messages)
