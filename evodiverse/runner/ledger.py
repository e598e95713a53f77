"""The ledger: every request to a language model, what it cost, and the caps that stop a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import inf
from typing import Any, Final

from evodiverse.kit.documented import setting
from evodiverse.ports import Row
from evodiverse.vocabulary import CostBound, Query, Reply, Request, Usage

_LOGGED: Final = ("prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd", "seconds", "cached", "retries")


class Cap(StrEnum):
    """The cap that stopped a run before its search was over (``stopped_by`` in ``run.json``)."""

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


@dataclass
class Budget:
    """The keys of ``budget``: hard limits of a run; null means no limit.

    Attributes:
        oracle_calls: limit on oracle calls (evaluations of new candidates)
        llm_calls: limit on requests to language models
        tokens: limit on the tokens of all prompts and replies
        usd: limit on the cost of all replies, at litellm's prices
        seconds: limit on wall time; if the run is repeated, it may stop at another point
    """

    oracle_calls: int = setting(unit="calls", least=1)
    llm_calls: int | None = setting(default=None, unit="requests", above=0)
    tokens: int | None = setting(default=None, unit="tokens", above=0)
    usd: float | None = setting(default=None, unit="USD", above=0)
    seconds: float | None = setting(default=None, unit="s", above=0)


class Ledger:
    """The record of all requests to language models: the usage of each pool, and the rows of ``llm_calls``.

    A reply from the cache counts at the cost that was paid for it when it was requested from the model. A reply of
    unknown size or price counts against the caps at the most that it could have cost.

    Args:
        budget: The hard limits of the run; that on oracle calls is enforced elsewhere.
        n_pools: The number of pools that ask a model.

    Attributes:
        pools: The number of requests to a language model, and their tokens and cost, for each pool.
    """

    def __init__(self, budget: Budget, n_pools: int) -> None:
        self._budget = budget
        self.pools = [Usage()] * n_pools
        self._tokens = 0
        self._usd = 0.0
        self._rows: list[Row] = []
        self._is_fruitful = False

    @property
    def n_fruitless(self) -> int | None:
        """The number of requests so far if none of them had a usable reply, otherwise None."""
        return None if self._is_fruitful else self.total.calls

    @property
    def total(self) -> Usage:
        """The usage of all pools together."""
        return sum(self.pools, Usage())

    def find_cap(self, bounds: Sequence[CostBound], seconds: float) -> Cap | None:
        """Return the cap that forbids a round of requests, or None if the round may begin.

        The cap on time forbids a round once that time has passed. Any other cap forbids a round that might exceed it.

        Args:
            bounds: The most that each request of the round can cost; empty for a round that asks no model.
            seconds: The wall time of the run so far.
        """
        worst = {
            Cap.LLM_CALLS: len(bounds),
            Cap.TOKENS: sum(bound.tokens for bound in bounds),
            Cap.USD: sum(inf if bound.usd is None else bound.usd for bound in bounds),
        }
        spent = self.spent(seconds)
        if Cap.SECONDS in spent and seconds >= spent[Cap.SECONDS][1]:
            return Cap.SECONDS
        fits = {cap: spent[cap][0] + most <= spent[cap][1] for cap, most in worst.items() if cap in spent}
        return next((cap for cap, is_enough in fits.items() if bounds and not is_enough), None)

    def spent(self, seconds: float) -> dict[str, tuple[float, float]]:
        """Return what counts against each cap that is set so far, and the cap itself.

        Args:
            seconds: The wall time of the run so far.
        """
        spent = {Cap.LLM_CALLS: self.total.calls, Cap.TOKENS: self._tokens, Cap.USD: self._usd, Cap.SECONDS: seconds}
        limits = {cap: getattr(self._budget, cap) for cap in Cap}
        return {cap: (spent[cap], limit) for cap, limit in limits.items() if limit is not None}

    def record(self, request: Request, query: Query, bound: CostBound, reply: Reply, outcome: CallOutcome) -> int:
        """Count a request and its reply, and return the number of the request in the run, from 1.

        If the size or the price of the reply is unknown, ``bound``, the most that the request can cost, counts instead.
        """
        self.pools[request.pool] += Usage(1, reply.prompt_tokens, reply.completion_tokens, reply.cost_usd)
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            self._tokens += bound.tokens
        else:
            self._tokens += reply.prompt_tokens + reply.completion_tokens
        self._usd += (bound.usd or 0.0) if reply.cost_usd is None else reply.cost_usd
        self._is_fruitful |= outcome is CallOutcome.PARSED
        number = self.total.calls
        texts = [message.content for message in query.messages]
        if len(texts) > 1:
            texts = [f"{message.role}: {message.content}" for message in query.messages]
        self._rows.append(
            {
                "llm_call": number,
                **{name: getattr(request, name) for name in ("iteration", "pool", "slot", "attempt")},
                "model": query.model,
                **{name: getattr(reply, name) for name in _LOGGED},
                "outcome": outcome,
                "prompt": "\n\n".join(texts),
                "reply": reply.text or None,
                "reasoning": reply.reasoning or None,
                "error": reply.error or None,
            }
        )
        return number

    def take_rows(self) -> list[Row]:
        """Return the rows of ``llm_calls`` that were added since this was last called."""
        rows, self._rows = self._rows, []
        return rows

    def saved(self) -> dict[str, object]:
        """Return the usage and the amounts counted against the caps. The checkpoint stores them for `resume`."""
        return {
            **asdict(self.total),
            "pools": [asdict(usage) for usage in self.pools],
            "counted_tokens": self._tokens,
            "counted_usd": self._usd,
        }

    def resume(self, saved: Mapping[str, Any], outcomes: Iterable[str] = ()) -> None:
        """Continue from the totals in ``saved``, which the method `saved` returned in an earlier process.

        Args:
            saved: The totals.
            outcomes: The outcomes of the requests so far; those after the first usable reply are not read.
        """
        self._is_fruitful = CallOutcome.PARSED in outcomes
        self.pools = [Usage(**usage) for usage in saved["pools"]]
        self._tokens, self._usd = saved["counted_tokens"], saved["counted_usd"]
