"""What the metrics of a run are computed from: its log, each part of it read once."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evodiverse.errors import InputError
from evodiverse.runlog.runs import Run

Pools = Sequence[Sequence[int]]
"""The calls in each pool, cold to hot."""

_EVALUATIONS = ("iteration", "pool", "outcome", "call", "key", "score", "valid", "parents", "llm_call", "seconds")
_SWAPS = ("iteration", "cold_pool", "hot_pool", "cold_call", "hot_call", "accepted", "blocked")
_LLM_CALLS = ("llm_call", "iteration", "prompt_tokens", "completion_tokens", "cost_usd", "seconds", "outcome")


@dataclass(frozen=True)
class Log:
    """The log of a complete run.

    Attributes:
        run: The run.
        attempts: The columns of ``evaluations`` by name, a value an attempt.
        states: The pools after each iteration, the initial ones first.
        swaps: The columns of ``swaps``.
        llm_calls: The columns of ``llm_calls``.
    """

    run: Run
    attempts: Mapping[str, Sequence[Any]]
    states: Sequence[Pools]
    swaps: Mapping[str, Sequence[Any]]
    llm_calls: Mapping[str, Sequence[Any]]

    @cached_property
    def charged(self) -> list[int]:
        """The places in ``attempts`` of the charged calls, in the order charged."""
        calls = self.attempts["call"]
        return sorted((at for at, call in enumerate(calls) if call is not None), key=calls.__getitem__)

    @cached_property
    def scores(self) -> dict[int, float]:
        """The score of every call that has one."""
        found = self.column("score")
        return {call: score for call, score in found.items() if score is not None}

    @cached_property
    def keys(self) -> dict[int, str]:
        """The key of every call."""
        return self.column("key")

    @property
    def n_calls(self) -> int:
        """Oracle calls charged."""
        return len(self.charged)

    @cached_property
    def final_union(self) -> list[int]:
        """The calls in the last iteration's pools, each once, sorted."""
        return union(self.states[-1])

    def final_places(self, calls: Sequence[int]) -> list[int]:
        """Return the places of some of these calls among them."""
        return [bisect_left(self.final_union, call) for call in calls]

    def column(self, name: str) -> dict[int, Any]:
        """Return a column of the charged calls, by call."""
        calls, values = self.attempts["call"], self.attempts[name]
        return {calls[at]: values[at] for at in self.charged}

    def top(self, calls: Sequence[int], count: int) -> list[int]:
        """Return the best of some calls, best first, the older first of two with one score."""
        scored = [call for call in calls if call in self.scores]
        return sorted(scored, key=lambda call: (-self.scores[call], call))[:count]


def union(pools: Pools) -> list[int]:
    """Return the calls in any of the pools, each once, sorted."""
    return sorted({call for members in pools for call in members})


def read_log(run: Run, *own: str) -> Log:
    """Return the log of a complete run, with the domain's own columns of ``evaluations``.

    Raises:
        InputError: A part is missing or damaged; names it.
    """
    states: dict[int, list[list[int]]] = {}
    rows = run.columns("populations", ["iteration", "members"])
    for iteration, members in zip(rows["iteration"], rows["members"], strict=True):
        states.setdefault(iteration, []).append(members)
    log = Log(
        run,
        run.columns("evaluations", [*_EVALUATIONS, *own]),
        [states[iteration] for iteration in sorted(states)],
        run.columns("swaps", _SWAPS),
        run.columns("llm_calls", _LLM_CALLS),
    )
    _check_whole(log)
    return log


def _check_whole(log: Log) -> None:
    """Check that no part of a log is missing, as far as other parts and the record say what there should be.

    Raises:
        InputError: One is.
    """
    totals, llm = log.run.record.get("totals", {}), log.run.record.get("llm", {})
    adaptation = log.run.columns("adaptation", ["tried"])["tried"]
    n_tried = log.swaps["blocked"].count(False)
    counts = {
        "oracle calls": (log.n_calls, totals.get("oracle_calls")),
        "iterations": (len(log.states) - 1, totals.get("iterations")),
        "requests to a model": (len(log.llm_calls["llm_call"]), llm.get("calls")),
        "swaps": (n_tried, sum(adaptation) if adaptation else n_tried),
    }
    for what, (found, expected) in counts.items():
        if expected is not None and found != expected:
            raise InputError(
                f"{log.run.path} has logged {found:,} of {expected:,} {what}, so that a part is missing; "
                "run it again with overwrite=true"
            )
