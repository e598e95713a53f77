"""Proposers, which make the proposals of a search: a classical operator in worker processes, or a language model.

In each iteration, the loop makes rounds of requests: first one request for each slot (the place for one offspring),
then one for each slot that is still empty, and so on. An iteration with screening, where a surrogate model chooses
which proposals are evaluated, has one round with several requests per slot.
"""

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from evodiverse.errors import InputError, ModelUnavailableError
from evodiverse.ports import LanguageModel, Prompts, Task
from evodiverse.runner import contracts
from evodiverse.runner.bandit import Bandit, Samplers
from evodiverse.runner.ledger import CallOutcome, Cap, Ledger
from evodiverse.runner.workers import Answer, Report, Workers
from evodiverse.search.streams import Purpose
from evodiverse.text import count_of, find_answers, one_line
from evodiverse.vocabulary import CostBound, Finish, Hypothesis, Proposal, Query, Reason, Rejection, Reply, Request


class Hooks(NamedTuple):
    """What a proposer calls while the answers to a round of requests arrive, all but `report` only if it asks a model.

    Attributes:
        report: A function that is called periodically, in any thread, with the number of new answers. It may raise to
            cancel the remaining requests.
        again: A function that returns the next request for the slot of a request, or None if the same proposer makes
            none. Once the answer to a request is rejected, the model gets that next request at once, while other
            answers are awaited; a later round has it, and then finds the answer here. It is not used where a cap could
            end the run between the two rounds.
        look: A function that is told what each answer was parsed to, as soon as it has arrived, in any thread.
    """

    report: Report
    again: Callable[[Request], Request | None] = lambda _: None
    look: Callable[[Request, Hypothesis | Rejection], object] = lambda _, __: None


Receive: TypeAlias = Callable[[Callable[[], object]], list[Answer]]
"""Waits for the answers to the requests of a round, which it returns in order; calls a function while it waits."""

_LOG = logging.getLogger("evodiverse.runner")
_MAX_SEED = 2**31
_REFUSAL = re.compile(
    r"\W*(?:(?:I['’]m |I am )?(?:so )?(?:sorry|unable|not able)|I (?:cannot|can['’]t|won['’]t)|as an AI)\b",
    re.IGNORECASE,
)


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

    def record_unused(self, show: Callable[[], object]) -> None:
        """Do nothing: no request is made before its answer is needed, and all answers come at once."""

    def is_for_model(self, request: Request) -> bool:  # noqa: ARG002
        """Return False: no request goes to a language model."""
        return False

    def begin(self, requests: Sequence[Request], seconds: float, hooks: Hooks) -> Receive | Cap:  # noqa: ARG002
        """Return a function that returns one answer per request, in order, or the cap on time if it is reached."""
        return self._ledger.find_cap((), seconds) or (lambda _: self._propose(requests))

    def _propose(self, requests: Sequence[Request]) -> list[Answer]:
        answers = self._workers.propose(requests)
        if not self._is_fallback:
            return answers
        return [(replace(made, operator=f"fallback_{made.operator}"), parsed) for made, parsed in answers]


@dataclass
class Watch:
    """Watches for a model that never gives a usable reply: warns about it, and then ends the run.

    It counts the requests before the first usable reply in the order of the log, so that neither the order in which
    replies arrive nor a resume makes a difference. The run ends at each multiple of ``give_up_after`` of them, unless
    all replies since the last multiple came from the cache. So a run that is resumed after its end goes on from there.

    Args:
        ledger: The ledger of the run, which counts the requests.
        models: The names of the models.
        warn_after: The number of requests after which a warning is printed, if they were made in more than one round;
            None for no warning.
        give_up_after: The number of requests after which the run ends; None if it never does.
    """

    ledger: Ledger
    models: Sequence[str]
    warn_after: int | None
    give_up_after: int | None
    _reasons: dict[Reason, Counter[str]] = field(default_factory=lambda: defaultdict(Counter), init=False)
    _examples: dict[str, str] = field(default_factory=dict, init=False)
    _was_asked: bool = field(default=False, init=False)

    def count_left(self) -> int | None:
        """Return how many more requests may be sent before `check` must be called; None for any number."""
        n = self.ledger.n_fruitless
        return None if n is None or self.give_up_after is None else self.give_up_after - n % self.give_up_after

    def note(self, reply: Reply, parsed: Hypothesis | Rejection) -> None:
        """Note a reply that the ledger has, and what was read from it, until the first usable reply."""
        if isinstance(parsed, Rejection) and self.ledger.n_fruitless is not None:
            self._was_asked |= not reply.cached
            why = one_line(str(parsed))
            self._reasons[parsed.reason][why] += 1
            self._examples[why] = one_line(reply.text, 80)

    def check(self, n_before: int | None) -> None:
        """Warn about a model that has not given a usable reply yet, or end the run.

        Args:
            n_before: The value of `Ledger.n_fruitless` before the round.

        Raises:
            ModelUnavailableError: The run ends.
        """
        n, left = self.ledger.n_fruitless, self.count_left()
        if n is None:
            return
        if left == self.give_up_after and self._was_asked:
            raise ModelUnavailableError(
                f"{self._describe(n)}; correct the model's server and resume, use another model, or set "
                "llm.give_up_after=null"
            )
        if self.warn_after is not None and n_before and n >= self.warn_after:
            self.warn_after = None
            ends = "" if left is None else f"; after {left:,} more such requests, the run ends"
            _LOG.warning("%s%s", self._describe(n), ends)

    def _describe(self, n: int) -> str:
        """Return a text about the first ``n`` requests, with the most frequent reason."""
        commonest = max(self._reasons.values(), key=Counter.total)
        (why, _), *_ = commonest.most_common(1)
        n_noted = sum(map(Counter.total, self._reasons.values()))
        example = f', such as "{self._examples[why]}"' if self._examples[why] else ""
        return (
            f"none of the first {count_of(n, 'request')} to {', '.join(dict.fromkeys(self.models))} brought a usable "
            f"reply (most often, "
            f"{commonest.total():,} of {n_noted:,} times: {why}{example})"
        )


_Asked: TypeAlias = tuple[Request, Query, CostBound]


class _EndedError(Exception):
    """The run has ended, so no more requests are sent."""


@dataclass(eq=False)
class _Round:
    """Requests that were made together; ``wait`` waits for their replies, and is None before they are sent."""

    asked: Sequence[_Asked]
    hooks: Hooks
    wait: Callable[[Callable[[], object]], None] | None = None


@dataclass
class ModelProposer:
    """A proposer that asks a language model for the offspring of all pools at once, and records requests in the ledger.

    Args:
        model: The language model.
        samplers: The samplers of each pool, in the order of the pools.
        prompts: The prompts of the domain.
        task: The task, which parses the proposals.
        ledger: The ledger of the run.
        watch: The watch over the model.
        bandit: What shares out the requests of a pool among its models; if it is None, their weights do.
    """

    model: LanguageModel
    samplers: Samplers
    prompts: Prompts
    task: Task
    ledger: Ledger
    watch: Watch
    bandit: Bandit | None = None
    _known: dict[Query, tuple[Request, Reply, str | None, Hypothesis | Rejection]] = field(
        default_factory=dict, init=False
    )
    _rounds: list[_Round] = field(default_factory=list, init=False)
    _is_useful: bool = field(default=False, init=False)
    _has_ended: bool = field(default=False, init=False)

    def is_for_model(self, request: Request) -> bool:  # noqa: ARG002
        """Return True: all requests go to the language model."""
        return True

    def begin(self, requests: Sequence[Request], seconds: float, hooks: Hooks) -> Receive | Cap:
        """Send requests, and return a function that receives one answer per request; or the cap that forbids them.

        A cap is a limit on the run: on the number of requests to models, on their tokens, on their cost or on the wall
        time. `Ledger.find_cap` decides whether a cap forbids the requests, together with those that are still open.

        Args:
            requests: The requests of one round.
            seconds: The wall time of the run so far.
            hooks: What is called while the answers arrive.
        """
        queries = [self._query(request) for request in requests]
        bounds = self.model.bound_costs(queries)
        still_open = [bound for begun in self._rounds for *_, bound in begun.asked]
        cap = self.ledger.find_cap([*still_open, *bounds], seconds)
        if cap is not None:
            return cap
        left = self.watch.count_left()
        if left is not None or not self._may_go_ahead(requests, bounds, hooks):
            hooks = Hooks(hooks.report, look=hooks.look)
        begun = _Round(list(zip(requests, queries, bounds, strict=True)), hooks)
        if left is None or len(still_open) + len(requests) <= left:
            begun.wait = self._ask(begun.asked, begun.hooks)
        self._rounds.append(begun)
        return partial(self._receive, begun)

    def _send_postponed(self) -> None:
        """Send what waits for a usable reply, which shows that the watch will not end the run, if there is one."""
        for begun in self._rounds if self._is_useful else ():
            if begun.wait is None:
                begun.wait = self._ask(begun.asked, begun.hooks)

    def _receive(self, begun: _Round, show: Callable[[], object]) -> list[Answer]:
        """Wait for the answers to the requests of a round, record these in the ledger, and return the answers.

        A model that has not given a usable reply yet is asked for no more than the watch allows at a time.
        """
        self._rounds.remove(begun)

        def look() -> None:
            show()
            self._send_postponed()

        n_before, answers, rest = self.ledger.n_fruitless, list[Answer](), begun.asked
        while rest:
            piece = rest if begun.wait else rest[: self.watch.count_left()]
            (begun.wait or self._ask(piece, begun.hooks))(look)
            self._send_postponed()
            answers += self._record(piece)
            self.watch.check(n_before)
            rest = rest[len(piece) :]
        return answers

    def record_unused(self, show: Callable[[], object]) -> None:
        """Send no more requests when the run ends; wait for the answers on their way, and record what they cost."""
        self._has_ended = True
        for begun in self._rounds:
            if begun.wait is not None:
                with suppress(_EndedError, InputError, ModelUnavailableError):  # other replies are not needed
                    begun.wait(show)
        queries = list(self._known)
        bounds = self.model.bound_costs(queries)
        self._record([(self._known[query][0], query, bound) for query, bound in zip(queries, bounds, strict=True)])

    def _may_go_ahead(self, requests: Sequence[Request], bounds: Sequence[CostBound], hooks: Hooks) -> bool:
        """Return whether no cap can end the run before all requests that may follow are made."""
        caps = self.ledger.spent(0.0)
        if not caps:
            return True
        if self._rounds or Cap.SECONDS in caps:
            return False
        later = list[Query]()
        for request in requests:
            following = hooks.again(request)
            while following is not None:
                later.append(self._query(following))
                following = hooks.again(following)
        return self.ledger.find_cap([*bounds, *self.model.bound_costs(later)], 0.0) is None

    def _ask(self, asked: Sequence[_Asked], hooks: Hooks) -> Callable[[Callable[[], object]], None]:
        """Send the queries whose replies are not known yet; return a function that waits for their replies."""
        places = {query: request for request, query, _ in asked if query not in self._known}
        queries = list(places)

        def follow(query: Query, reply: Reply) -> Query | None:
            self._note({query: reply}, places)
            parsed = self._known[query][-1]
            hooks.look(places[query], parsed)
            following = hooks.again(places[query]) if isinstance(parsed, Rejection) else None
            if following is None or self._has_ended:
                return None
            places[later := self._query(following)] = following
            return later

        def note(n: int) -> None:
            hooks.report(n)
            if self._has_ended:
                raise _EndedError

        def receive(show: Callable[[], object]) -> None:
            replies = dict(zip(queries, awaited(show), strict=True))
            self._note({query: reply for query, reply in replies.items() if query not in self._known}, places)

        hooks.report(len(asked) - len(queries))
        awaited = self.model.begin(queries, note, follow)
        return receive

    def _record(self, asked: Sequence[_Asked]) -> list[Answer]:
        """Record requests whose replies are known in the ledger, and return their answers, in order."""
        answers = []
        for request, query, bound in asked:
            _, reply, text, parsed = self._known.pop(query)
            number = self.ledger.record(request, query, bound, reply, _outcome(parsed))
            self.watch.note(reply, parsed)
            if self.bandit is not None:
                self.bandit.note(number, request, query.model, reply, bound)
            answers.append((Proposal(text, "llm", llm_call=number), parsed))
        return answers

    def _note(self, replies: Mapping[Query, Reply], places: Mapping[Query, Request]) -> None:
        """Note replies with the genotype that each proposes, if any, and what it was parsed to."""
        read = [self._read(places[query], reply) for query, reply in replies.items()]
        parsed = iter(contracts.parse(self.task, [text for text in read if isinstance(text, str)]))
        for (query, reply), text in zip(replies.items(), read, strict=True):
            known = (text, next(parsed)) if isinstance(text, str) else (None, text)
            self._is_useful |= isinstance(known[1], Hypothesis)
            self._known[query] = (places[query], reply, *known)

    def _query(self, request: Request) -> Query:
        """Return the query for a request, with one of the samplers of its pool, which is drawn by its share."""
        samplers = self.samplers[request.pool]
        sampler, *others = samplers
        if others:
            shares = [one.weight for one in samplers] if self.bandit is None else self.bandit.find_shares(request)
            weights = np.array(shares, dtype=np.float64)
            rng = request.stream._replace(purpose=Purpose.MODEL).rng()
            sampler = samplers[rng.choice(len(samplers), p=weights / weights.sum())]
        decoding = sampler.decoding
        if decoding.seed is not None:
            drawn = int(request.stream.rng().integers(_MAX_SEED))
            decoding = replace(decoding, seed=(decoding.seed + drawn) % _MAX_SEED)
        return Query(sampler.model, contracts.messages(self.prompts, request), decoding, request.stream)

    def _read(self, request: Request, reply: Reply) -> str | Rejection:
        if reply.finish is Finish.ERROR:
            return Rejection(Reason.MODEL_ERROR, reply.error)
        if reply.finish is Finish.LENGTH:
            instead = f" ({reply.error})" if reply.error else ""
            return Rejection(Reason.NO_ANSWER, f"the reply was cut at max_tokens{instead}")
        found = contracts.read(self.prompts, request, reply.text)
        if isinstance(found, Rejection) and found.reason is Reason.NO_ANSWER and (instead := _describe_instead(reply)):
            return Rejection(Reason.NO_ANSWER, f"the reply proposes nothing: {instead}")
        return found


@dataclass(frozen=True)
class SplitProposer:
    """A proposer that fills some slots (places for one offspring) by a language model and others by an operator.

    Which of the two is drawn by the address of a slot, that is its iteration, pool and number. So all attempts at a
    slot are made in the same way, and neither the order of requests nor a resume makes a difference.

    Args:
        by_model: The proposer that asks the model.
        by_operator: The proposer that asks the classical operator.
        model_share: The probability that a slot is filled by the model, from 0 to 1.
    """

    by_model: ModelProposer
    by_operator: OperatorProposer
    model_share: float

    def record_unused(self, show: Callable[[], object]) -> None:
        """Wait for the answers of the model that no round has received when the run ends, and record what they cost."""
        self.by_model.record_unused(show)

    def begin(self, requests: Sequence[Request], seconds: float, hooks: Hooks) -> Receive | Cap:
        """Return a function that receives one answer per request, in order; or the cap that forbids the requests.

        See `ModelProposer.begin`. A cap that forbids the requests to the model forbids the round. The operator works
        while the replies of the model are awaited.
        """
        split = [(request, self.is_for_model(request)) for request in requests]
        to_model = [request for request, is_for_model in split if is_for_model]
        to_operator = [request for request, is_for_model in split if not is_for_model]
        make = self.by_operator.begin(to_operator, seconds, hooks)
        if not to_model or isinstance(make, Cap):
            return make
        await_model = self.by_model.begin(to_model, seconds, hooks)
        if isinstance(await_model, Cap):
            return await_model

        def receive(show: Callable[[], object]) -> list[Answer]:
            made = make(show)
            hooks.report(len(made))
            for request, (_, parsed) in zip(to_operator, made, strict=True):
                hooks.look(request, parsed)
            by_kind = {True: iter(await_model(show)), False: iter(made)}
            return [next(by_kind[is_for_model]) for _, is_for_model in split]

        return receive

    def is_for_model(self, request: Request) -> bool:
        """Return whether the language model gets a request, which is the same for all attempts at a slot."""
        stream = request.stream._replace(purpose=Purpose.SHARE, attempt=0)
        return bool(stream.rng().random() < self.model_share)


def _describe_instead(reply: Reply) -> str:
    """Return what a reply that proposes nothing has instead of a proposal in any domain; empty if that is unclear."""
    _, answer, _ = find_answers(reply.text)
    if answer.strip():
        return "a refusal" if _REFUSAL.match(answer) else ""
    return reply.error or ("only reasoning" if reply.text.strip() else "it is empty")


def _outcome(parsed: Hypothesis | Rejection) -> CallOutcome:
    if isinstance(parsed, Hypothesis):
        return CallOutcome.PARSED
    known = {Reason.MODEL_ERROR: CallOutcome.ERROR, Reason.NO_ANSWER: CallOutcome.NO_ANSWER}
    return known.get(parsed.reason, CallOutcome.INVALID)


Proposer: TypeAlias = OperatorProposer | ModelProposer | SplitProposer
"""Makes the proposals of a search. The loop calls it once for each round, with all requests of the round."""
