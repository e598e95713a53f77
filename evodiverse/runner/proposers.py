"""Proposers, which make the proposals of a search: a classical operator in worker processes, or a language model.

In each iteration, the loop makes rounds of requests: first one request for each slot (the place for one offspring),
then one for each slot that is still empty, and so on. An iteration with screening, where a surrogate model chooses
which proposals are evaluated, has one round with several requests per slot.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from evodiverse.errors import ContractError
from evodiverse.ports import LanguageModel, Prompts, Task
from evodiverse.runner import contracts
from evodiverse.runner.ledger import CallOutcome, Cap, Ledger
from evodiverse.runner.workers import Answer, Workers
from evodiverse.vocabulary import (
    Finish,
    Hypothesis,
    Proposal,
    Query,
    Reason,
    Rejection,
    Reply,
    Request,
    Sampler,
)

MODEL_OPERATOR = "llm"
_MAX_SEED = 2**31


class Proposer(Protocol):
    """Makes the proposals of a search. The loop calls it once for each round, with all requests of the round."""

    def propose(
        self, requests: Sequence[Request], seconds: float, report: Callable[[int], object]
    ) -> list[Answer] | Cap:
        """Return one answer per request, in order.

        If a limit of the run (a cap) forbids these requests, the result is this limit instead, and the run ends.

        Args:
            requests: The requests of one round.
            seconds: The wall time of the run so far.
            report: A function that is called periodically with the number of new answers. It may raise to cancel the
                remaining requests.
        """


class OperatorProposer:
    """A proposer that asks the classical operator, in the worker processes.

    Args:
        workers: The worker processes, which hold the operator.
        ledger: The ledger of the run, which knows the hard limits of the run (caps). Only the limit on the wall time
            matters here.
        is_fallback: Whether the proposer makes the offspring for which a language model gave no usable proposal. If so,
            the name of the operator in the log begins with ``fallback_``.
    """

    def __init__(self, workers: Workers, ledger: Ledger, *, is_fallback: bool = False) -> None:
        self._workers = workers
        self._ledger = ledger
        self._is_fallback = is_fallback

    def propose(
        self,
        requests: Sequence[Request],
        seconds: float,
        report: Callable[[int], object],  # noqa: ARG002 (all answers come at once)
    ) -> list[Answer] | Cap:
        """Return one answer per request, in order, or the cap on time if it is reached."""
        cap = self._ledger.find_cap((), seconds)
        if cap is not None:
            return cap
        answers = self._workers.propose(requests)
        if not self._is_fallback:
            return answers
        return [(replace(proposal, operator=f"fallback_{proposal.operator}"), parsed) for proposal, parsed in answers]


class ModelProposer:
    """A proposer that asks a language model for the offspring of all pools at once, and records requests in the ledger.

    Args:
        model: The language model.
        samplers: The model and the decoding parameters of each pool, in the order of the pools.
        prompts: The prompts of the domain.
        task: The task, which parses the proposals.
        ledger: The ledger of the run.
    """

    def __init__(
        self, model: LanguageModel, samplers: Sequence[Sampler], prompts: Prompts, task: Task, ledger: Ledger
    ) -> None:
        self._model = model
        self._samplers = samplers
        self._prompts = prompts
        self._task = task
        self._ledger = ledger

    def propose(
        self, requests: Sequence[Request], seconds: float, report: Callable[[int], object]
    ) -> list[Answer] | Cap:
        """Return one answer per request, in order, or only the cap that forbids the requests, if there is one.

        A cap is a limit on the run: on the number of requests to models, on their tokens, on their cost or on the wall
        time. `Ledger.find_cap` decides whether a cap forbids the requests.
        """
        queries = [self._query(request) for request in requests]
        bounds = self._model.bound_costs(queries)
        cap = self._ledger.find_cap(bounds, seconds)
        if cap is not None:
            return cap
        replies = self._model.complete(queries, report)
        if len(replies) != len(queries):
            raise ContractError(f"the language model returned {len(replies)} replies to {len(queries)} queries")
        read = [self._read(request, reply) for request, reply in zip(requests, replies, strict=True)]
        parsed = iter(contracts.parse(self._task, [text for text in read if isinstance(text, str)]))
        answers = []
        for request, query, bound, reply, text in zip(requests, queries, bounds, replies, read, strict=True):
            hypothesis = next(parsed) if isinstance(text, str) else text
            number = self._ledger.record(request, query, bound, reply, _outcome(hypothesis))
            proposed = text if isinstance(text, str) else None
            answers.append((Proposal(proposed, MODEL_OPERATOR, llm_call=number), hypothesis))
        return answers

    def _query(self, request: Request) -> Query:
        sampler = self._samplers[request.pool]
        decoding = sampler.decoding
        if decoding.seed is not None:
            drawn = int(request.stream.rng().integers(_MAX_SEED))
            decoding = replace(decoding, seed=(decoding.seed + drawn) % _MAX_SEED)
        return Query(sampler.model, contracts.messages(self._prompts, request), decoding, request.stream)

    def _read(self, request: Request, reply: Reply) -> str | Rejection:
        if reply.finish is Finish.ERROR:
            return Rejection(Reason.MODEL_ERROR, reply.error)
        if reply.finish is Finish.LENGTH:
            return Rejection(Reason.NO_ANSWER, "the reply was cut at max_tokens")
        return contracts.read(self._prompts, request, reply.text)


_OUTCOMES: Mapping[Reason, CallOutcome] = {
    Reason.MODEL_ERROR: CallOutcome.ERROR,
    Reason.NO_ANSWER: CallOutcome.NO_ANSWER,
}


def _outcome(parsed: Hypothesis | Rejection) -> CallOutcome:
    if isinstance(parsed, Hypothesis):
        return CallOutcome.PARSED
    return _OUTCOMES.get(parsed.reason, CallOutcome.INVALID)
