"""The attempts of one iteration: how each proposal ends, what is charged, who joins which pool."""

from collections.abc import Sequence

import numpy as np

from evodiverse.search.archive import Archive
from evodiverse.search.exchange import Pools
from evodiverse.search.mating import Slot
from evodiverse.search.sampling import IntArray
from evodiverse.search.state import Attempt
from evodiverse.vocabulary import Evaluation, Hypothesis, Outcome, Proposal, Rejection, Request

Answer = tuple[Proposal, Hypothesis | Rejection]


class Attempts:
    """Settles the attempts of one iteration, round by round.

    A round is `settle`, which decides how each answer ends and charges what must be evaluated, then `close` with those
    evaluations. `open_slots` are those the next round may try again.
    """

    def __init__(self, slots: Sequence[Slot], pools: Pools, archive: Archive) -> None:
        self.open_slots = list(slots)
        self.records: list[Attempt] = []
        self._archive = archive
        self._members = [set(pool.tolist()) for pool in pools]
        self._held: list[dict[str, int]] = [{} for _ in pools]
        self._pending: list[Hypothesis] = []
        self._settled: list[tuple[Request, Proposal, Hypothesis | Rejection, Outcome, int | None]] = []

    @property
    def n_pools(self) -> int:
        """Number of pools that offspring may join."""
        return len(self._members)

    def settle(self, requests: Sequence[Request], answers: Sequence[Answer]) -> list[Hypothesis]:
        """Decide how each answer ends, in the order (slot, pool), and return what must be evaluated, as charged."""
        for request, (proposal, parsed) in zip(requests, answers, strict=True):
            outcome, call = self._judge(request, parsed)
            self._settled.append((request, proposal, parsed, outcome, call))
        return self._pending

    def close(self, evaluations: Sequence[Evaluation]) -> None:
        """Take the evaluations of what `settle` returned, in that order, and finish the round."""
        for hypothesis, evaluation in zip(self._pending, evaluations, strict=True):
            self._archive.record(hypothesis, evaluation)
        self.open_slots = [Slot(request.slot, request.pool) for request, _, _, _, call in self._settled if call is None]
        self.records += [self._record(*settled) for settled in self._settled]
        self._pending, self._settled = [], []

    def offspring(self, pool: int) -> IntArray:
        """Return the calls that join ``pool`` this iteration; a failed evaluation joins none."""
        calls = sorted(self._held[pool].values())
        return np.array([call for call in calls if self._archive.candidate(call).score is not None], dtype=np.int64)

    def _judge(self, request: Request, parsed: Hypothesis | Rejection) -> tuple[Outcome, int | None]:
        if isinstance(parsed, Rejection):
            return Outcome.REJECTED, None
        held = self._held[request.pool]
        known = self._archive.call_of(parsed.key)
        if parsed.key in held or known in self._members[request.pool]:
            return Outcome.DUPLICATE, None
        if known is not None:
            held[parsed.key] = known
            return Outcome.REUSED, known
        call = self._archive.reserve(parsed.key)
        held[parsed.key] = call
        self._pending.append(parsed)
        return Outcome.EVALUATED, call

    def _record(
        self,
        request: Request,
        proposal: Proposal,
        parsed: Hypothesis | Rejection,
        outcome: Outcome,
        call: int | None,
    ) -> Attempt:
        rejected = isinstance(parsed, Rejection)
        evaluation = None if call is None else self._archive.evaluation(call)
        error = evaluation.error if evaluation else ""
        return Attempt(
            iteration=request.iteration,
            pool=request.pool,
            slot=request.slot,
            attempt=request.attempt,
            outcome=outcome,
            operator=proposal.operator,
            parents=tuple(parent.call for parent in request.parents),
            genotype=proposal.genotype if isinstance(parsed, Rejection) else parsed.genotype,
            key=None if isinstance(parsed, Rejection) else parsed.key,
            call=call if outcome is Outcome.EVALUATED else None,
            reused_call=call if outcome is Outcome.REUSED else None,
            evaluation=evaluation,
            error=str(parsed) if rejected else error,
            llm_call=proposal.llm_call,
        )
