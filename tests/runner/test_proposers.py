"""What a reply without a proposal has instead, and the end of a run whose model never gives a usable one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from evodiverse.errors import ModelUnavailableError
from evodiverse.runner.ledger import Budget, CallOutcome, Cap, Ledger
from evodiverse.runner.proposers import Hooks, ModelProposer, OperatorProposer, SplitProposer, Watch
from evodiverse.runner.workers import Answer
from evodiverse.vocabulary import (
    Candidate,
    CostBound,
    Decoding,
    Finish,
    Hypothesis,
    Prompt,
    Proposal,
    Query,
    Rejection,
    Reply,
    Request,
    Sampler,
    Stream,
)
from tests.toys.bits.prompts import BitPrompts
from tests.toys.bits.task import BitTask

PARENT = Candidate(1, "0101", "0101", 0.5, -0.5)
NOTHING = Reply("no idea", Finish.STOP)


class ToldModel:
    """A model that remembers its replies, and answers a new query with what ``script`` says about its number."""

    def __init__(self, script: Callable[[int], Reply] = lambda number: NOTHING) -> None:
        self.script = script
        self.kept: dict[Stream, Reply] = {}

    def bound_costs(self, queries: Sequence[Query]) -> list[CostBound]:
        return [CostBound(1, None)] * len(queries)

    def begin(
        self, queries: Sequence[Query], report: Callable[[int], object], follow: object = None
    ) -> Callable[[Callable[[], object]], list[Reply]]:
        return lambda show: [self._answer(query.stream) for query in queries]

    def _answer(self, stream: Stream) -> Reply:
        if stream in self.kept:
            return replace(self.kept[stream], cached=True)
        return self.kept.setdefault(stream, self.script(len(self.kept) + 1))


def proposer(model: ToldModel, ledger: Ledger | None = None) -> ModelProposer:
    sampler, ledger = Sampler("toy", Decoding(1.0, None, 50)), ledger or Ledger(Budget(), 1)
    watch = Watch(ledger, ["toy"], warn_after=15, give_up_after=25)
    return ModelProposer(model, [[sampler]], BitPrompts(), BitTask(4, 1), ledger, watch)


MODELS = ("dear", "cheap", "free")


def draw(weights: Sequence[float], requests: Sequence[Request]) -> list[str]:
    """Return the models that get requests if these are the weights of the three models, by order of the requests."""
    told: list[Query] = []

    class Listener(ToldModel):
        def bound_costs(self, queries: Sequence[Query]) -> list[CostBound]:
            told.extend(queries)
            return super().bound_costs(queries)

    used = [Sampler(name, Decoding(1.0, None, 50, 7), weight) for name, weight in zip(MODELS, weights, strict=True)]
    replace(proposer(Listener()), samplers=[used]).begin(requests, 0.0, Hooks(lambda n: None))
    return [query.model for query in told]


def chi_square(models: Sequence[str], weights: Sequence[float]) -> float:
    """Return the probability of shares at least as far from the weights as those of these models."""
    expected = np.array(weights) / sum(weights) * len(models)
    return float(chisquare([models.count(name) for name in MODELS], expected).pvalue)


def make_round(iteration: int, n: int = 10) -> list[Request]:
    streams = [Stream(0, 4, iteration, slot=slot) for slot in range(n)]
    return [Request(iteration, 0, stream.slot, 1, (PARENT,), Prompt.COLD, stream) for stream in streams]


def propose(asking: ModelProposer | OperatorProposer | SplitProposer, requests: Sequence[Request]) -> list[Answer]:
    """Return the answers to a round of requests, which no cap forbids."""
    receive = asking.begin(requests, 0.0, Hooks(lambda n: None))
    assert not isinstance(receive, Cap)
    return receive(lambda: None)


def ask(asking: ModelProposer, *iterations: int) -> int:
    """Ask one round per iteration, and return the number of answers."""
    return sum(len(propose(asking, make_round(iteration))) for iteration in iterations)


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (NOTHING, "the reply proposes nothing"),
        (replace(NOTHING, text=" "), "the reply proposes nothing: it is empty"),
        (replace(NOTHING, text="", error="only a tool call"), "the reply proposes nothing: only a tool call"),
        (replace(NOTHING, text="<think>01?"), "the reply proposes nothing: only reasoning"),
        (replace(NOTHING, text="<thinking>01</thinking>"), "the reply proposes nothing: only reasoning"),
        (replace(NOTHING, text="Hm.</think>\n"), "the reply proposes nothing: only reasoning"),
        (replace(NOTHING, text="<think>01</think>\nI’m sorry, but no."), "the reply proposes nothing: a refusal"),
        (replace(NOTHING, text="No. I cannot say."), "the reply proposes nothing"),
        (Reply("", Finish.LENGTH, "only reasoning"), "the reply was cut at max_tokens (only reasoning)"),
        (Reply("01", Finish.LENGTH), "the reply was cut at max_tokens"),
    ],
)
def test_a_reply_without_a_proposal_is_rejected_with_what_it_has_instead(reply: Reply, detail: str) -> None:
    ((_, rejection),) = propose(proposer(ToldModel(lambda number: reply)), make_round(1, 1))
    assert isinstance(rejection, Rejection)
    assert rejection.detail == detail


def test_a_model_without_a_usable_reply_is_warned_about_in_its_second_round_and_then_ends_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ToldModel()
    asking = proposer(model)
    ask(asking, 1)
    assert caplog.text == ""
    ask(asking, 2)
    told = 'most often, 20 of 20 times: no_answer: the reply proposes nothing, such as "no idea"'
    assert f"none of the first 20 requests to toy brought a usable reply ({told}); after 5 more" in caplog.text
    with pytest.raises(ModelUnavailableError, match=r"^none of the first 25 requests .* set llm\.give_up_after=null$"):
        ask(asking, 3)
    assert len(model.kept) == 25
    assert len(caplog.records) == 1


def test_the_commonest_reason_is_the_one_that_is_told() -> None:
    texts = {1: "=01", 2: "=2222", 3: "=2222"}
    model = ToldModel(lambda number: replace(NOTHING, text=texts.get(number % 5, "no idea")))
    with pytest.raises(ModelUnavailableError, match='15 of 25 times: unparsable: 4 characters, such as "=2222"'):
        ask(proposer(model), 1, 2, 3)


def test_a_usable_reply_ends_the_watch(caplog: pytest.LogCaptureFixture) -> None:
    model = ToldModel(lambda number: Reply("=0110", Finish.STOP) if number == 25 else NOTHING)
    assert ask(proposer(model), 1, 2, 3, 4, 5, 6) == 60
    assert len(caplog.records) == 1


def test_the_end_does_not_depend_on_where_the_run_was_resumed() -> None:
    for logged in (0, 1):  # the rounds that were written to the log before the run was killed in the second
        model, ledger = ToldModel(), Ledger(Budget(), 1)
        ask(proposer(model, ledger), *range(1, logged + 1))
        saved = ledger.saved()
        ask(proposer(model, ledger), *range(logged + 1, 3))
        resumed = Ledger(Budget(), 1)
        resumed.resume(saved, [CallOutcome.NO_ANSWER] * 10 * logged)
        with pytest.raises(ModelUnavailableError, match="none of the first 25 requests"):
            ask(proposer(model, resumed), *range(logged + 1, 4))
        assert len(model.kept) == 25


def test_a_run_that_ended_asks_as_many_again_when_it_is_resumed() -> None:
    model = ToldModel()
    for n in (25, 50):
        with pytest.raises(ModelUnavailableError, match=f"none of the first {n} requests"):
            ask(proposer(model), *range(1, 9))
        assert len(model.kept) == n
    model.script = lambda number: Reply("=0110", Finish.STOP)
    assert ask(proposer(model), *range(1, 9)) == 80


def test_a_run_with_a_usable_reply_in_its_log_is_not_watched_after_a_resume() -> None:
    ledger, resumed = Ledger(Budget(), 1), Ledger(Budget(), 1)
    resumed.resume(ledger.saved(), [CallOutcome.INVALID, CallOutcome.PARSED])
    assert ask(proposer(ToldModel(), resumed), *range(1, 6)) == 50


def test_the_shares_of_models_are_those_of_their_weights() -> None:
    weights, wrong = [3.0, 1.5, 0.5], [3.0, 1.3, 0.7]
    for seed in range(3):
        requests = [replace(one, stream=one.stream._replace(seed=seed)) for one in make_round(1, 2500)]
        assert chi_square(draw(weights, requests), weights) > 0.01
        assert chi_square(draw(wrong, requests), weights) < 1e-4  # so the test would see a wrong weight


def test_the_model_of_a_request_depends_on_its_address_alone() -> None:
    requests = make_round(1, 60)
    assert draw([1, 2, 3], requests[::-1]) == draw([1, 2, 3], requests)[::-1]
    assert draw([1, 2, 3], requests[40:]) == draw([1, 2, 3], requests)[40:]
    assert draw([1, 2, 3], make_round(2, 60)) != draw([1, 2, 3], requests)
    again = [replace(one, attempt=2, stream=one.stream._replace(attempt=2)) for one in requests]
    assert draw([1, 2, 3], again) != draw([1, 2, 3], requests)


def test_a_mixture_leaves_the_seeds_of_requests_as_they_are() -> None:
    request = make_round(1, 1)[0]
    one = replace(proposer(ToldModel()), samplers=[[Sampler("dear", Decoding(1.0, None, 50, 7))]])
    mixed = replace(one, samplers=[[Sampler(name, Decoding(1.0, None, 50, 7)) for name in MODELS]])
    assert mixed._query(request).decoding == one._query(request).decoding


class Operator:
    """Workers whose operator always proposes the same bits."""

    def propose(self, requests: Sequence[Request]) -> list[Answer]:
        return [(Proposal("1111", "bits"), Hypothesis("1111", f"{request.slot}")) for request in requests]


def test_the_name_of_an_operator_is_left_as_it_is() -> None:
    class Name(str, Enum):  # noqa: UP042 (its text is another than its value)
        BITS = "bits"

    class Named(Operator):
        def propose(self, requests: Sequence[Request]) -> list[Answer]:
            return [(replace(made, operator=Name.BITS), parsed) for made, parsed in super().propose(requests)]

    asking = OperatorProposer(Named(), Ledger(Budget(), 1))  # type: ignore[arg-type]
    ((proposal, _),) = propose(asking, make_round(1, 1))
    assert proposal.operator is Name.BITS


def split(share: float, budget: Budget | None = None) -> SplitProposer:
    ledger = Ledger(budget or Budget(), 1)
    by_model = proposer(ToldModel(lambda number: Reply("=0110", Finish.STOP)), ledger)
    return SplitProposer(by_model, OperatorProposer(Operator(), ledger), share)  # type: ignore[arg-type]


def operators(asking: SplitProposer, requests: Sequence[Request]) -> list[str]:
    """Return the operator of each answer, after checking that the answers are in order."""
    answers = propose(asking, requests)
    for request, (proposal, parsed) in zip(requests, answers, strict=True):
        assert isinstance(parsed, Hypothesis)
        assert parsed.key == (f"{request.slot}" if proposal.operator == "bits" else "0110")
        assert (proposal.llm_call is None) == (proposal.operator == "bits")
    return [proposal.operator for proposal, _ in answers]


def test_slots_are_split_by_their_shares() -> None:
    for share in (0.7, 0.2):
        n = operators(split(share), make_round(1, 2000)).count("llm")
        assert binomtest(n, 2000, share).pvalue > 0.01
        assert binomtest(n, 2000, share + 0.1).pvalue < 1e-6  # so the test would see a wrong share


def test_the_kind_of_a_slot_depends_on_its_address_alone_and_stays_in_later_attempts() -> None:
    requests = make_round(1, 60)
    kinds = operators(split(0.5), requests)
    assert operators(split(0.5), requests[::-1]) == kinds[::-1]
    assert operators(split(0.5), requests[40:]) == kinds[40:]
    assert operators(split(0.5), make_round(2, 60)) != kinds
    later = [replace(one, attempt=2, stream=one.stream._replace(attempt=2)) for one in requests]
    assert operators(split(0.5), later) == kinds


def test_a_cap_on_requests_counts_those_to_the_model_alone() -> None:
    requests = make_round(1, 60)
    n = operators(split(0.5), requests).count("llm")
    assert len(operators(split(0.5, Budget(llm_calls=n)), requests)) == 60
    assert split(0.5, Budget(llm_calls=n - 1)).begin(requests, 0.0, Hooks(lambda n: None)) is Cap.LLM_CALLS
