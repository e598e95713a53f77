"""The loop of a run: propose, evaluate, advance, commit."""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from evodiverse import ports
from evodiverse.errors import InputError, ServiceError, damaged
from evodiverse.kit.environment import cache_folder
from evodiverse.runner import contracts, rows
from evodiverse.runner.bandit import COLUMNS, Bandit, Shares
from evodiverse.runner.ledger import Cap, Ledger
from evodiverse.runner.proposers import Hooks, Proposer, Receive
from evodiverse.runner.view import Clock, View
from evodiverse.runner.workers import Answer, Workers
from evodiverse.search.advance import advance, start
from evodiverse.search.attempts import Attempts, reject_similar
from evodiverse.search.exchange import Pools, empty_pools
from evodiverse.search.mating import Slot, deal_slots, draw_mating_pools, make_requests
from evodiverse.search.repair import Repairs, place_repairs
from evodiverse.search.screening import InnerSearch
from evodiverse.search.settings import Method, Search
from evodiverse.search.state import IterationInfo, State
from evodiverse.search.stopping import StopReason, stop_reason
from evodiverse.search.streams import Purpose, Streams
from evodiverse.text import count_of, one_line
from evodiverse.vocabulary import Hypothesis, Outcome, Prompt, Proposal, Reason, Rejection, Request, Stream, Usage

if TYPE_CHECKING:
    from evodiverse.store.run_directory import RunDirectory

_LOG = logging.getLogger("evodiverse.runner")
# The shortest time between two updates of the files in best/, and the largest share of the time that updates may take.
BEST_SECONDS = 10.0
MAX_BEST_SHARE = 0.01


MakeRequests: TypeAlias = Callable[[int, Sequence[Slot]], list[Request]]
"""Makes the requests of an attempt at some slots; the first attempt is 1."""


class Start(NamedTuple):
    """The initial candidates of a run.

    Attributes:
        n_draws: The number of pools that they were drawn for; 1 if all pools start from the same ones.
        requests: The place of each candidate.
        answers: Each candidate as drawn and as parsed, at least one of them a hypothesis.
    """

    n_draws: int
    requests: Sequence[Request]
    answers: Sequence[Answer]


def draw_start(
    task: ports.Task, streams: Streams, n_draws: int, at_most: int, given: Sequence[str] | None = None
) -> Start:
    """Draw the initial candidates, unless they are given, and parse them.

    Args:
        task: The task that draws them.
        streams: The random streams of the run.
        n_draws: The number of pools to draw for; 1 if all pools start from the same candidates.
        at_most: The largest number of candidates for each of these pools.
        given: The genotypes of the candidates that all pools start from; None to draw them.

    Raises:
        InputError: No candidate can be parsed.
    """
    initial = [streams.at(Purpose.INITIAL, 0, pool=pool) for pool in range(n_draws)]
    drawn = [contracts.draw_initial(task, stream, at_most) for stream in initial] if given is None else [given]
    slots = sorted(Slot(slot, pool) for pool, genotypes in enumerate(drawn) for slot in range(len(genotypes)))
    requests = [Request(0, pool, slot, 1, (), Prompt.COLD, initial[pool]) for slot, pool in slots]
    genotypes = [drawn[pool][slot] for slot, pool in slots]
    parsed = contracts.parse(task, genotypes, are_initial=True)
    if not any(isinstance(one, Hypothesis) for one in parsed):
        raise InputError(
            f"no initial candidate can enter a pool ({_count_errors([str(one) for one in parsed])}); "
            "start from other candidates"
        )
    proposals = [Proposal(genotype, "initial") for genotype in genotypes]
    return Start(n_draws, requests, list(zip(proposals, parsed, strict=True)))


@dataclass(frozen=True, slots=True)
class Setup:
    """The parts that a run is built from.

    Attributes:
        method: The settings of the method.
        search: The settings that do not depend on the method, such as when the search stops.
        streams: The random streams of the run.
        oracle_calls: The budget of oracle calls.
        draw_start: A function that returns the initial candidates.
        task: The task of the run.
        workers: The worker processes.
        proposers: One proposer for each attempt to fill a slot (the place for one offspring): the first one makes the
            proposals of all first attempts, the second one those of the second attempts, and so on.
        ledger: The ledger of the run.
        store: The open run directory, which keeps the log.
        display: The display of the run.
        check: A function that the loop calls at each point where the run may stop. If the run was asked to stop, the
            function raises `Interrupted`.
        committed: A function that the loop calls after each commit, to report the run to a tracker. Its argument, a
            function that returns the state of the run (`Snapshot`), is called only if the run is tracked.
        evaluator: The evaluator of the run; if it is None, the workers evaluate.
        bandit: What shares out requests among models; if it is None, their weights do.
        n_under_way: The largest number of requests to a language model that are under way at the same time.
    """

    method: Method
    search: Search
    streams: Streams
    oracle_calls: int
    draw_start: Callable[[], Start]
    task: ports.Task
    workers: Workers
    proposers: Sequence[Proposer]
    ledger: Ledger
    store: "RunDirectory"
    display: ports.Display
    check: Callable[[], None]
    committed: Callable[[Callable[[], ports.Snapshot]], None]
    evaluator: ports.Evaluator | None = None
    bandit: Bandit | None = None
    n_under_way: int = 0


class Planned(NamedTuple):
    """What an iteration reads of the state of the search.

    Attributes:
        pools: The pools.
        each: The number of slots for each pool (see `deal_slots`).
        most: The number of slots for all pools, at most.
        n_calls: The number of calls that the surrogate learns from, if there is one.
        n_rated: The number of calls by which it rates the library.
        shares: The shares of the models, if a bandit chooses among them.
        repairs: The candidates that failed and that a model is shown in it.
    """

    pools: Pools
    each: int
    most: int
    n_calls: int
    n_rated: int
    shares: Shares = ()
    repairs: Repairs = ()


class Begun(NamedTuple):
    """An iteration whose first requests are sent.

    Attributes:
        plan: What it read.
        slots: Its slots.
        fill: A function that waits for the answers and fills the slots.
    """

    plan: Planned
    slots: Sequence[Slot]
    fill: Callable[[Attempts], None]


class Loop:
    """One run, from its start, or from the last committed iteration of an earlier process, to its end.

    Attributes:
        unused: What the replies cost that came after the end of the search.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._archive = rows.empty_archive(setup.search)
        self._seconds: dict[int, float] = {}
        self._journalled: dict[str, ports.Row] = {}
        self.clock = Clock()
        facts = (setup.method, setup.oracle_calls, setup.task, self._archive, self.clock, setup.ledger)
        self._view = View(*facts, setup.n_under_way, setup.search.objectives)
        self._state: State | None = None
        self._cap: Cap | None = None
        self._best_due = time.perf_counter() + BEST_SECONDS
        task = setup.task
        self._similarities = partial(contracts.similarities, task) if isinstance(task, ports.Comparable) else None
        self.unused = Usage()
        self._begun: deque[Begun] = deque()
        self._arrived: dict[Stream, Hypothesis | Rejection] = {}
        self._evaluated: dict[str, ports.TimedEvaluation] = {}
        self._replies: deque[int] = deque()
        self._surrogate = None
        if setup.method.screen is not None and self._similarities is not None:
            from evodiverse.runner.surrogate import Surrogate  # it imports scipy, which takes long

            folder = cache_folder() / "libraries"
            self._surrogate = Surrogate(
                task, setup.workers, self._archive, setup.streams, setup.method, self._similarities, folder
            )
        self._reject = None
        if setup.search.novelty is not None and self._similarities is not None:
            self._reject = reject_similar(setup.search.novelty, self._archive, self._similarities)

    def run(self) -> ports.Snapshot:
        """Run to the end and return the last snapshot, which says why the run ended.

        Raises:
            InputError: All initial candidates failed, or no proposal could be evaluated. The log is written first.
        """
        try:
            ended = self._run()
        except BaseException:
            self._setup.store.write(seconds=None if self._state is None else self.clock.seconds)
            raise
        self._setup.store.write(journalled=(), seconds=self.clock.seconds)
        return ended

    def _run(self) -> ports.Snapshot:
        self._journalled = {str(record["key"]): record for record in self._setup.store.journal.read()}
        state = self._state = self._resume() or self._start()
        self._journalled = {key: one for key, one in self._journalled.items() if self._archive.call_of(key) is None}
        if state.iteration == 0:
            self._check_start(state)
        while (reason := self._stop_reason(state)) is None:
            state = self._iterate(state)
        self._receive_unused()
        if reason in (StopReason.PATIENCE, StopReason.EARLY_STOP):
            self._check_offspring()
        self._show_best()
        ended = self._view.snapshot(state, stopped_by=reason)
        self._setup.display.finish(ended)
        return ended

    def _stop_reason(self, state: State) -> StopReason | Cap | None:
        best = self._archive.best()
        score = None if best is None else best.score
        return self._cap or stop_reason(state.progress, self._calls_left, score, self._setup.search)

    @property
    def _calls_left(self) -> int:
        return self._setup.oracle_calls + self._archive.n_free - self._archive.n_calls

    def _iterate(self, state: State) -> State:
        """Run and commit an iteration, and return the next state.

        It is the same state if the user's limit on requests, tokens, cost or time forbids even the first proposals.
        """
        setup = self._setup
        self._begin_iterations(state)
        if self._begun:
            begun = self._begun.popleft()
            attempts = Attempts(begun.slots, state.pools, self._archive, self._reject)
            begun.fill(attempts)
            state, info = advance(
                state, attempts, self._archive, setup.method, setup.search, setup.streams, self._similarities
            )
            self._commit(state, info)
        return state

    def _plan(self, state: State, n_open: int, repairs: Repairs) -> Planned:
        """Return the plan of an iteration that reads a state, while ``n_open`` slots of others are not filled yet."""
        method, n_calls = self._setup.method, self._archive.n_calls
        size = method.size(n_calls + n_open)
        each = method.offspring if method.screen is None else size
        most = min(size, self._calls_left - n_open)
        n_rated = 0 if self._surrogate is None else self._surrogate.count_rated(n_calls)
        bandit = self._setup.bandit
        shares = () if bandit is None else bandit.share_out(most)
        return Planned(state.pools, each, most, n_calls, n_rated, shares, repairs)

    def _begin_iterations(self, state: State) -> None:
        """Begin the next iteration, and those after it that read the same state if there is a lag.

        No other begins while open slots use up the budget. An iteration does not begin if the user's limit on requests,
        tokens, cost or time forbids it. Only the first of several is to repair what failed, which is shown once.
        """
        repairs = state.repairs
        while len(self._begun) <= self._setup.search.lag:
            n_open = sum(len(begun.slots) for begun in self._begun)
            if self._begun and n_open >= self._calls_left:
                break
            if not self._begin(state.iteration + len(self._begun) + 1, self._plan(state, n_open, repairs)):
                break
            repairs = ()

    def _begin(self, iteration: int, plan: Planned) -> bool:
        """Send the first requests of an iteration; return False if a cap forbids them."""
        setup = self._setup
        if setup.bandit is not None:
            setup.bandit.begin(iteration, plan.shares)
        slots = deal_slots(plan.pools, plan.each, plan.most)
        again: MakeRequests | None = None
        if self._surrogate is None:
            mating_pools = draw_mating_pools(iteration, plan.pools, self._archive, setup.method, setup.streams)

            def request(attempt: int, slots: Sequence[Slot]) -> list[Request]:
                return make_requests(
                    iteration, attempt, slots, mating_pools, plan.pools, self._archive, setup.method, setup.streams
                )

            is_for_model = setup.proposers[0].is_for_model
            requests = place_repairs(request(1, slots), plan.repairs, self._archive, setup.method, is_for_model)
            again, fill = request, partial(self._run_rounds, request)
        else:
            search = self._surrogate.begin(iteration, plan.pools, plan.n_calls, plan.n_rated)
            requests, fill = search.breed(1), partial(self._run_inner_search, search)
        receive = self._send(setup.proposers[0], requests, again)
        if receive is not None:
            self._begun.append(Begun(plan, slots, partial(fill, requests, receive)))
        return receive is not None

    def _run_rounds(
        self, request: MakeRequests, requests: Sequence[Request], receive: Receive, attempts: Attempts
    ) -> None:
        """Fill the slots of an iteration in rounds: each slot that is still empty gets one attempt in a round.

        Args:
            request: A function that returns the requests of an attempt at some of the slots.
            requests: The requests of the first attempt.
            receive: A function that waits for the answers to these.
            attempts: The slots.
        """
        for attempt, proposer in enumerate(self._setup.proposers, start=1):
            if not attempts.open_slots:
                break
            if attempt > 1:
                requests = request(attempt, attempts.open_slots)
                sent = self._send(proposer, requests, request)
                if sent is None:
                    break
                receive = sent
            self._evaluate(attempts, attempts.settle(requests, self._receive(receive, requests, attempts)))

    def _run_inner_search(
        self, search: InnerSearch, requests: Sequence[Request], receive: Receive, attempts: Attempts
    ) -> None:
        """Fill the slots of an iteration with the best of an inner search, whose first requests are sent."""
        for generation in range(1, search.n_generations + 1):
            if generation > 1:
                requests = search.breed(generation)
                sent = self._send(self._setup.proposers[0], requests)
                if sent is None:
                    break
                receive = sent
            search.add(requests, self._receive(receive, requests, attempts))
        self._evaluate(attempts, attempts.screen(search))

    def _send(
        self, proposer: Proposer, requests: Sequence[Request], request: MakeRequests | None = None
    ) -> Receive | None:
        """Begin a round of requests; ``request`` makes the requests of the rounds that may follow.

        If a cap forbids the round, the result is None, and the cap ends the run, unless other iterations have begun,
        whose replies are paid for and come first.
        """

        def again(asked: Request) -> Request | None:
            later = self._setup.proposers[asked.attempt : asked.attempt + 1]
            if request is None or not later or later[0] is not proposer:
                return None
            return request(asked.attempt + 1, [Slot(asked.slot, asked.pool)])[0]

        hooks = Hooks(self._note_reply, again)
        # Screening evaluates only the best of all proposals, and other evaluators get a whole round at once.
        if request is not None and self._setup.evaluator is None:
            hooks = hooks._replace(look=self._note_arrival)
        receive = proposer.begin(requests, self.clock.seconds["wall"], hooks)
        if isinstance(receive, Cap):
            self._cap = self._cap if self._begun else receive
            return None
        self._view.n_awaited += len(requests)
        return receive

    def _receive(self, receive: Receive, requests: Sequence[Request], attempts: Attempts) -> list[Answer]:
        """Wait for the answers to requests. Meanwhile, what they propose is evaluated."""
        began, oracle = time.perf_counter(), self.clock.oracle
        awaited = deque(requests)

        def use_wait() -> None:
            self._show_replies()
            self._evaluate_early(awaited, attempts)

        answers = receive(use_wait)
        self.clock.operator += time.perf_counter() - began - (self.clock.oracle - oracle)
        self._show_replies()
        for request in requests:
            self._arrived.pop(request.stream, None)
        self._view.n_awaited -= len(requests)
        self._view.n_replies = max(self._view.n_replies - len(requests), 0)  # an operator reports no replies
        self._setup.check()
        return answers

    def _receive_unused(self) -> None:
        """Wait for the replies that iterations still await when the run ends, and count what they cost."""
        self._setup.proposers[0].record_unused(self._show_replies)
        asked: list[Any] = self._setup.ledger.take_rows()
        for row in asked:
            self.unused += Usage(1, row["prompt_tokens"], row["completion_tokens"], row["cost_usd"])
        if n := self.unused.calls:
            _LOG.info(
                "%s came after the run had ended; they are paid for but not used", count_of(n, "reply", "replies")
            )

    def _evaluate(self, attempts: Attempts, charged: Sequence[Hypothesis], *, is_start: bool = False) -> None:
        """Evaluate the new hypotheses of a round of proposals, record the results in ``attempts``, and end the round.

        Each hypothesis in ``charged`` has already been counted as an oracle call. One that an earlier process of this
        run evaluated is not evaluated again. Its evaluation is read from the journal, which keeps the evaluations that
        are not part of the written log yet.
        """
        keys = [hypothesis.key for hypothesis in charged]
        self._view.n_evaluated += sum(key in self._journalled for key in keys)
        self._evaluate_all([hypothesis for hypothesis in charged if not self._is_evaluated(hypothesis.key)])
        timed = list(map(self._take, keys))
        first_call = self._archive.n_calls - len(timed) + 1
        self._seconds.update({first_call + index: seconds for index, (_, seconds) in enumerate(timed)})
        evaluations = [evaluation for evaluation, _ in timed]
        if is_start:
            self._refuse_raised([evaluation.error for evaluation in evaluations])
            if isinstance(task := self._setup.task, ports.Tracing):
                evaluations = [
                    contracts.trace(task, task.columns, *pair) for pair in zip(charged, evaluations, strict=True)
                ]
        attempts.close(evaluations)
        self._setup.check()

    def _evaluate_early(self, awaited: deque[Request], attempts: Attempts) -> None:
        """Evaluate the first proposals of a round while its other replies are awaited.

        They are those that will be charged: the answers before them in the order of the slots are known.
        """
        fresh: dict[str, Hypothesis] = {}
        while awaited and awaited[0].stream in self._arrived:
            request = awaited.popleft()
            parsed = self._arrived[request.stream]
            if isinstance(parsed, Rejection) or self._is_evaluated(parsed.key):
                continue
            if self._archive.call_of(parsed.key) is None and not attempts.find_rejection(request.pool, parsed):
                fresh.setdefault(parsed.key, parsed)
        if fresh:
            self._evaluate_all(list(fresh.values()))

    def _is_evaluated(self, key: str) -> bool:
        return key in self._evaluated or key in self._journalled

    def _evaluate_all(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Evaluate hypotheses, and keep the results until `_take`."""
        began = time.perf_counter()
        self._view.note_evaluating()
        evaluated = (self._setup.evaluator or self._setup.workers).evaluate(hypotheses, self._note_finished)
        self.clock.oracle += time.perf_counter() - began
        self._view.note_evaluating(is_evaluating=False)
        self._evaluated.update(zip([one.key for one in hypotheses], evaluated, strict=True))

    def _take(self, key: str) -> ports.TimedEvaluation:
        """Return the evaluation of a hypothesis, made now or, if the journal has it, by an earlier process."""
        return rows.read_record(self._journalled.pop(key)) if key in self._journalled else self._evaluated.pop(key)

    def _note_reply(self, n: int) -> None:
        """Note ``n`` more replies of a language model; this may be called in any thread."""
        self._replies.append(n)
        self._setup.check()

    def _note_arrival(self, request: Request, parsed: Hypothesis | Rejection) -> None:
        """Note what an answer was parsed to; this may be called in any thread."""
        self._arrived[request.stream] = parsed

    def _show_replies(self) -> None:
        while self._replies:
            self._view.n_replies += self._replies.popleft()
        self._update_display()

    def _note_finished(self, finished: Sequence[ports.TimedEvaluation]) -> None:
        """Note evaluations that have finished, if any."""
        if finished:
            self._view.note_finished([evaluation for evaluation, _ in finished])
        self._update_display()
        self._setup.check()

    def _start(self) -> State:
        """Evaluate the initial candidates and commit them as iteration 0."""
        # The user may have corrected a function that raised an exception.
        kept = {key: one for key, one in self._journalled.items() if not _has_raised(str(one["error"]))}
        self._journalled = kept
        drawn = self._setup.draw_start()
        if isinstance(task := self._setup.task, ports.KnowsScores):
            for parsed in [parsed for _, parsed in drawn.answers if isinstance(parsed, Hypothesis)]:
                known = contracts.known(task, task.columns, parsed)
                if known is not None:
                    self._evaluated[parsed.key] = known, 0.0
        slots = [Slot(request.slot, request.pool) for request in drawn.requests]
        attempts = Attempts(slots, empty_pools(drawn.n_draws), self._archive)
        self._evaluate(attempts, attempts.settle(drawn.requests, drawn.answers), is_start=True)
        state, info = start(attempts, self._archive, self._setup.method)
        self._commit(state, info)
        return state

    def _refuse_raised(self, errors: Sequence[str]) -> None:
        """Refuse to search if these errors are that the user's function raised an exception for every candidate.

        Nothing is logged then, so that the corrected function is called for all of them.

        Raises:
            ServiceError: It did. The message has the first exception.
        """
        if errors and all(map(_has_raised, errors)):
            self._journalled = {}
            self._setup.store.journal.replace([])
            first = errors[0].removeprefix(f"{Reason.RAISED}: ")
            raise ServiceError(
                f"{first}, and an exception for each of {count_of(len(errors), 'initial candidate')}; correct it and "
                "run the same command again; for a candidate that it cannot score, it may return NaN, which fails the "
                "evaluation"
            )

    def _check_start(self, state: State) -> None:
        """Refuse to search if no initial candidate can enter a pool, or if all failed.

        A failed candidate can enter a pool if it has a score. If all failed but some have a score, the search is
        refused unless `Search.on_failed_start` is ``continue``. The decision depends only on the committed state and
        the settings, so a run that ended here gives the same error when resumed.

        Raises:
            InputError: The search is refused. The message says why the first initial candidate failed.
        """
        members = [call for pool in state.pools for call in pool.tolist()]
        if any(self._archive.evaluation(call).valid for call in members):
            return
        self._setup.store.write()
        attempts = self._setup.store.rows("evaluations", ["outcome", "error"])
        errors = [str(row["error"] or "no reason given") for row in attempts if row["outcome"] != Outcome.DUPLICATE]
        counted = _count_errors(errors)
        if not members:
            raise InputError(f"no initial candidate can enter a pool ({counted}); the log has the reason for each")
        if self._setup.search.on_failed_start == "stop":
            raise InputError(
                f"every initial candidate failed ({counted}); start from one that does not fail, "
                "or search anyway with search.on_failed_start=continue"
            )
        _LOG.warning("every initial candidate failed (%s); the search continues from them", counted)

    def _check_offspring(self) -> None:
        """Refuse to mark a run as complete if it stopped before it could evaluate a single offspring.

        The decision depends only on the log, so a run that ended here gives the same error when started again.

        Raises:
            InputError: Only initial candidates were evaluated. The message says what became of the proposals.
        """
        if (self._archive.pools >= 0).any():
            return
        store = self._setup.store
        store.write()
        attempts = [row for row in store.rows("evaluations", ["iteration", "outcome", "error"]) if row["iteration"]]
        if not attempts:
            return
        ends = [(row["error"] if row["outcome"] == Outcome.REJECTED else None) or row["outcome"] for row in attempts]
        counted = _count_kinds(ends)
        (often, n_often), *_ = Counter(one_line(end) for end in ends).most_common(1)
        raise InputError(
            f"no offspring of the initial candidates could be evaluated ({counted}; most often, in {n_often} of "
            f"{count_of(len(ends), 'attempt')}: {often}); start from other candidates, or use another operator or model"
        )

    def _resume(self) -> State | None:
        """Refill the archive from the log and return the last committed state, or None if nothing was committed."""
        store = self._setup.store
        saved = store.checkpoint()
        if saved is None:
            return None
        n_calls: int = saved["oracle_calls"] + saved.get("n_free", 0)
        details = list(self._setup.task.columns)
        try:
            for attempts in store.batches("evaluations", [*rows.EVALUATION_COLUMNS, *details]):
                rows.refill_archive(self._archive, attempts, details)
                self._check_keys(attempts)
                self._view.note(attempts)
        except ValueError as error:
            raise damaged("the dataset evaluations", error) from error
        if (n_found := self._archive.n_calls) != n_calls:
            raise damaged("the dataset evaluations", f"it has {n_found} charged calls, the checkpoint {n_calls}")
        self.clock.resume(saved["seconds"])
        outcomes = (row["outcome"] for requests in store.batches("llm_calls", ["outcome"]) for row in requests)
        self._setup.ledger.resume(saved["ledger"], outcomes)
        self._cap = None if saved["cap"] is None else Cap(saved["cap"])
        self._view.resume(store.rows("swaps", rows.SWAP_COLUMNS))
        if self._setup.bandit is not None:
            self._setup.bandit.resume(store.rows("choices", COLUMNS))
        state = rows.restore(saved)
        for pools, *others in saved.get("begun", []):
            plan = Planned(tuple(np.array(pool, dtype=np.int64) for pool in pools), *others)
            if not self._begin(state.iteration + len(self._begun) + 1, plan):
                break
        if self._surrogate is not None:
            self._surrogate.rate(saved["n_rated"])
        return state

    def _check_keys(self, attempts: Sequence[ports.Row]) -> None:
        """Refuse to continue a run whose first candidate has another key by now; its log would mix two kinds of keys.

        Raises:
            InputError: The key differs.
        """
        first = [(str(row["genotype"]), row["key"]) for row in attempts if row["call"] == 1]
        parsed = contracts.parse(self._setup.task, [genotype for genotype, _ in first], are_initial=True)
        if [one.key for one in parsed if isinstance(one, Hypothesis)] != [key for _, key in first]:
            raise InputError(
                f"{self._setup.store.path} was started by a version that told candidates apart in another way; "
                "continue with that version (see versions in run.json), or use overwrite=true to start over"
            )

    def _commit(self, state: State, info: IterationInfo) -> None:
        ledger, bandit = self._setup.ledger, self._setup.bandit
        times = self.clock.end_iteration()
        added = rows.log_rows(info, self._setup.method.ladder, self._seconds, times)
        added["llm_calls"] = ledger.take_rows()
        if bandit is not None:
            added["choices"] = bandit.end(info, self._archive.scores)
        self._seconds.clear()
        saved = rows.checkpoint(state, self._archive, times)
        n_rated = 0 if self._surrogate is None else self._surrogate.n_rated
        plans = [([pool.tolist() for pool in begun.plan.pools], *begun.plan[1:]) for begun in self._begun]
        saved |= {"ledger": ledger.saved(), "cap": self._cap, "n_rated": n_rated, "begun": plans}
        self._setup.store.commit(state.iteration, added, saved, list(self._journalled.values()))
        self._state = state
        self._view.note(added["evaluations"], info.trials)
        self._setup.committed(lambda: self._view.snapshot(self._state))
        self._update_display()
        self._show_improvements()
        if time.perf_counter() > self._best_due:
            self._show_best()

    def _update_display(self) -> None:
        self._setup.display.update(lambda: self._view.snapshot(self._state))

    def _show_best(self) -> None:
        """Rewrite the files about the best candidates, and set the earliest time of the next rewrite.

        This time is at least `BEST_SECONDS` away, and further if the rewrite took long, so that rewrites take only a
        small share of the run's time.
        """
        task = self._setup.task
        if isinstance(task, ports.ShowsBest | ports.Choosing) or self._setup.search.objectives:
            began = time.perf_counter()
            found = self._view.best_discoveries() if isinstance(task, ports.ShowsBest) else []
            files = contracts.present(task.show_best, found) if isinstance(task, ports.ShowsBest) else {}
            self._setup.store.write_best({**files, **self._view.list_front()}, self._view.headline())
            ended = time.perf_counter()
            self._best_due = ended + max(BEST_SECONDS, (ended - began) / MAX_BEST_SHARE)

    def _show_improvements(self) -> None:
        """Write the files about each new candidate that was better than all before it."""
        if isinstance(self._setup.task, ports.ShowsImprovements):
            for discovery in self._view.new_improvements():
                self._setup.store.write_best(contracts.present(self._setup.task.show_improvement, discovery))


def _has_raised(error: str) -> bool:
    return error.startswith(f"{Reason.RAISED}:")


def _count_errors(errors: Sequence[str]) -> str:
    """Return how often each kind of error came, and the first error."""
    if not errors:
        return "the task has none"
    lines = [one_line(error) for error in errors]
    return f"{_count_kinds(lines)}; the first: {lines[0]}"


def _count_kinds(errors: Sequence[str]) -> str:
    """Return how often each kind of error came."""
    counts = Counter(error.split(":")[0] for error in errors)
    return ", ".join(f"{kind} {n}" for kind, n in sorted(counts.items()))
