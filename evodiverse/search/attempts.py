"""One iteration's attempts: how each ends, whether it costs an oracle call, and which candidate joins which pool."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from evodiverse.search.archive import Archive
from evodiverse.search.exchange import Pools
from evodiverse.search.mating import Slot
from evodiverse.search.niches import Similarities
from evodiverse.search.sampling import IntArray
from evodiverse.search.screening import Answer, Forecast, InnerSearch
from evodiverse.search.state import Attempt, Screened
from evodiverse.vocabulary import Evaluation, Hypothesis, Outcome, Proposal, Reason, Rejection, Request

Reject: TypeAlias = Callable[[IntArray, Hypothesis], Rejection | None]
"""Why a proposal may not join a pool, given by its ``(n,)`` members; None if it may."""
_Settled: TypeAlias = tuple[Request, Proposal, Hypothesis | Rejection, Outcome, int | None, Forecast | None]
"""A request, its answer and the outcome; the oracle call counted for the answer, or the earlier call whose result is
reused for it, None if there is neither; and the forecast."""


class Attempts:
    """Decides the outcomes of the attempts of one iteration, round by round.

    A slot is the place for one offspring in a pool. In a round, each slot that is still empty gets one attempt. The
    answer to an attempt is a proposal, with its hypothesis or the reason why it was rejected. The loop of the run
    passes the answers to `settle`, which decides their outcomes, counts an oracle call for each new hypothesis, and
    returns these hypotheses. The loop evaluates them and passes the results to `close`. If a surrogate model chooses
    which proposals are evaluated (screening), an inner search collects the answers, there is a single round, and
    `screen` takes the place of `settle`.

    Args:
        slots: The slots to fill, sorted by the number of the slot within its pool, then by pool.
        pools: The members of each pool.
        archive: The archive of the run.
        reject: A function that rejects a new proposal for a pool, given by its members; None if all may join.

    Attributes:
        n_slots: The number of slots.
        n_pools: The number of pools.
        open_slots: The slots that are still empty, for the next round.
        records: The records of all attempts so far.
        screened: The proposals that screening did not choose.
    """

    def __init__(self, slots: Sequence[Slot], pools: Pools, archive: Archive, reject: Reject | None = None) -> None:
        self.n_slots, self.n_pools = len(slots), len(pools)
        self.open_slots = list(slots)
        self.records: list[Attempt] = []
        self.screened: list[Screened] = []
        self._archive = archive
        self._pools = pools
        self._reject = reject
        self._rejections: dict[tuple[int, str], Rejection | None] = {}
        self._members = [set(pool.tolist()) for pool in pools]
        self._held: list[dict[str, int]] = [{} for _ in pools]
        self._pending: list[Hypothesis] = []
        self._settled: list[_Settled] = []

    def settle(self, requests: Sequence[Request], answers: Sequence[Answer]) -> list[Hypothesis]:
        """Decide the outcome of each answer, and return the new hypotheses, which the caller must evaluate.

        Each new hypothesis is already counted as an oracle call. Requests and answers are sorted by slot number, then
        by pool. A slot is a place for one offspring; the slots of each pool are numbered.
        """
        for request, (proposal, parsed) in zip(requests, answers, strict=True):
            found = parsed if isinstance(parsed, Rejection) else self.find_rejection(request.pool, parsed) or parsed
            self._settled.append((request, proposal, found, *self._judge(request, found), None))
        return self._pending

    def find_rejection(self, pool: int, hypothesis: Hypothesis) -> Rejection | None:
        """Return why a hypothesis may not join a pool, or None; one that was evaluated before always may."""
        if self._reject is None or self._archive.call_of(hypothesis.key) is not None:
            return None
        if (pool, hypothesis.key) not in self._rejections:
            self._rejections[pool, hypothesis.key] = self._reject(self._pools[pool], hypothesis)
        return self._rejections[pool, hypothesis.key]

    def screen(self, search: InnerSearch) -> list[Hypothesis]:
        """Choose among the proposals of an inner search, count an oracle call for each, and return their hypotheses.

        For each pool, at most as many are chosen as it has slots. A proposal is a duplicate if the run has evaluated a
        hypothesis with the same key, if the library's part in the inner search has it, or if it came earlier in the
        inner search, no matter in which pool.

        Args:
            search: The inner search, after its last generation.
        """
        chosen = search.choose(Counter(slot.pool for slot in self.open_slots))
        self.open_slots = []
        for request, proposal, hypothesis, forecast, *_ in chosen:
            call = self._charge(request, hypothesis)
            self._settled.append((request, proposal, hypothesis, Outcome.EVALUATED, call, forecast))
        paid = {offer.hypothesis.key for offer in chosen}
        for request, (proposal, parsed) in search.answers:
            if isinstance(parsed, Rejection):
                self._settled.append((request, proposal, parsed, Outcome.REJECTED, None, None))
            elif (offer := search.offers.get(parsed.key)) is None or offer.request is not request:
                self._settled.append((request, proposal, parsed, Outcome.DUPLICATE, None, None))
            elif parsed.key not in paid:
                address = (request.iteration, request.pool, request.slot, request.attempt)
                self.screened.append(Screened(*address, parsed.key, *offer.forecast))
        return self._pending

    def close(self, evaluations: Sequence[Evaluation]) -> None:
        """Record the evaluation of each hypothesis that `settle` or `screen` returned, in order, and end the round."""
        for hypothesis, evaluation in zip(self._pending, evaluations, strict=True):
            self._archive.record(hypothesis, evaluation)
        records = [self._record(settled) for settled in self._settled]
        filled = {(record.slot, record.pool) for record in records if record.evaluation is not None}
        self.open_slots = [slot for slot in self.open_slots if slot not in filled]
        self.records += records
        self._pending, self._settled = [], []

    def offspring(self, pool: int) -> IntArray:
        """Return the new candidates for a pool, by the numbers of the oracle calls that evaluated them.

        The numbers are sorted and have shape ``(n,)``. Candidates that may not join a pool are left out.
        """
        calls = np.array(sorted(self._held[pool].values()), dtype=np.int64)
        return calls[self._archive.may_join(calls)]

    def initial(self, pool: int) -> IntArray:
        """Return the initial candidates of a pool, as `offspring` does; if none may join it, all that have a score."""
        found, calls = self.offspring(pool), np.array(sorted(self._held[pool].values()), dtype=np.int64)
        return found if found.size else calls[self._archive.has_score(calls)]

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
        return Outcome.EVALUATED, self._charge(request, parsed)

    def _charge(self, request: Request, hypothesis: Hypothesis) -> int:
        call = self._archive.reserve(hypothesis.key, request.pool if request.iteration else -1)
        self._held[request.pool][hypothesis.key] = call
        self._pending.append(hypothesis)
        return call

    def _record(self, settled: _Settled) -> Attempt:
        request, proposal, parsed, outcome, call, forecast = settled
        evaluation = None if call is None else self._archive.evaluation(call)
        if isinstance(parsed, Rejection):
            genotype, key, error = proposal.genotype, None, str(parsed)
        else:
            genotype, key, error = parsed.genotype, parsed.key, evaluation.error if evaluation else ""
        return Attempt(
            *(request.iteration, request.pool, request.slot, request.attempt, outcome),
            operator=proposal.operator,
            parents=request.ancestors,
            genotype=genotype,
            key=key,
            call=call if outcome is Outcome.EVALUATED else None,
            reused_call=call if outcome is Outcome.REUSED else None,
            evaluation=evaluation,
            error=error,
            llm_call=proposal.llm_call,
            forecast=forecast,
        )


def reject_similar(limit: float, archive: Archive, similarities: Similarities) -> Reject:
    """Return the function that rejects a proposal whose similarity to a member of its pool is at least ``limit``.

    Args:
        limit: The limit, above 0 and at most 1.
        archive: The archive, which holds the members.
        similarities: The task's similarities.
    """

    def reject(members: IntArray, hypothesis: Hypothesis) -> Rejection | None:
        if not members.size:
            return None
        found = similarities(hypothesis, [archive.hypothesis(call) for call in members.tolist()])
        nearest = int(np.argmax(found))
        if found[nearest] < limit - 1e-9:  # or else rounding might keep a copy from reaching a limit of 1
            return None
        return Rejection(Reason.TOO_SIMILAR, f"its similarity to call {members[nearest]} is {found[nearest]:.3f}")

    return reject
