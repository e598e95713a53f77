"""Who answers the requests of a round: worker processes with a classical operator, or a language model."""

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
    """Answers requests."""

    def propose(
        self, requests: Sequence[Request], seconds: float, report: Callable[[int], object]
    ) -> list[Answer] | Cap:
        """Return one answer per request, in order, or the cap that forbids to ask.

        Args:
            requests: A round of attempts.
            seconds: Wall time of the run so far.
            report: Is told now and then how many more answers are there; stops the rest by raising.
        """


class OperatorProposer:
    """Asks the classical operator, in the worker processes.

    Args:
        workers: Have the operator.
        ledger: Knows the caps.
        is_fallback: It fills slots that a language model left empty; then the log says so of every proposal.
    """

    def __init__(self, workers: Workers, ledger: Ledger, *, is_fallback: bool = False) -> None:
        self._workers = workers
        self._ledger = ledger
        self._is_fallback = is_fallback

    def propose(
        self,
        requests: Sequence[Request],
        seconds: float,
        report: Callable[[int], object],  # noqa: ARG002 (they come all at once)
    ) -> list[Answer] | Cap:
        """Return one answer per request, in order, or that the time is up."""
        cap = self._ledger.find_cap((), seconds)
        if cap is not None:
            return cap
        answers = self._workers.propose(requests)
        if not self._is_fallback:
            return answers
        return [(replace(proposal, operator=f"fallback_{proposal.operator}"), parsed) for proposal, parsed in answers]


class ModelProposer:
    """Asks a language model, for all pools and slots at once, and enters every request into the ledger.

    Args:
        model: Answers.
        samplers: What each pool asks, and how.
        prompts: The domain's.
        task: Parses what is proposed.
        ledger: Of the run.
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
        """Return one answer per request, in order, or the cap that they might pass at their worst."""
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
        """Return the genotype that a reply proposes, or why it proposes none."""
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
