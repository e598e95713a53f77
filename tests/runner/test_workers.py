from collections.abc import Sequence

import pytest

from evodiverse.errors import ContractError, ServiceError
from evodiverse.runner.workers import Workers
from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import (
    Candidate,
    Evaluation,
    Hypothesis,
    Prompt,
    Proposal,
    Reason,
    Rejection,
    Request,
)
from tests.toys.bits.operators import BitCrossover
from tests.toys.bits.task import BitTask

KEYS = [f"{number:06b}" for number in range(1, 40)]
HYPOTHESES = [Hypothesis(key, key) for key in KEYS]


def requests(count: int) -> list[Request]:
    parents = (Candidate(1, "000111", "000111", 0.5, -0.5), Candidate(2, "101010", "101010", 0.4, -0.4))
    return [
        Request(1, 0, slot, 1, parents, Prompt.COLD, Streams(7).at(Purpose.OPERATOR, 1, slot=slot))
        for slot in range(count)
    ]


class ShortTask(BitTask):
    """Forgets its last answer."""

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        return super().evaluate(hypotheses)[:-1]


class ShortOperator(BitCrossover):
    """Forgets its last answer."""

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        return super().propose(requests)[:-1]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_evaluations_come_in_the_order_of_the_hypotheses(n: int) -> None:
    task = BitTask(6, 1)
    with Workers(task, BitCrossover(), n) as workers:
        answers = [evaluation for evaluation, _ in workers.evaluate(HYPOTHESES)]
    assert answers == task.evaluate(HYPOTHESES)


@pytest.mark.parametrize("n", [1, 3])
def test_proposals_come_in_the_order_of_the_requests(n: int) -> None:
    with Workers(BitTask(6, 1), BitCrossover(), n) as workers:
        answers = [proposal for proposal, _ in workers.propose(requests(50))]
    assert answers == BitCrossover().propose(requests(50))


@pytest.mark.parametrize("n", [1, 2])
def test_an_empty_batch_has_no_answers(n: int) -> None:
    with Workers(BitTask(6, 1), BitCrossover(), n) as workers:
        assert workers.propose([]) == workers.evaluate([]) == []


def test_a_proposal_without_a_genotype_is_a_rejection_that_says_why() -> None:
    with Workers(BitTask(6, 1), BitCrossover(), 1) as workers:
        answers = workers.propose(requests(200))
    refused = [read for proposal, read in answers if proposal.genotype is None]
    assert refused
    assert set(refused) == {Rejection(Reason.NO_OFFSPRING, "no idea")}


def test_seconds_of_a_batch_are_shared_evenly() -> None:
    with Workers(BitTask(6, 1), BitCrossover(), 1) as workers:
        seconds = {seconds for _, seconds in workers.evaluate(HYPOTHESES)}
    assert len(seconds) == 1
    assert min(seconds) > 0


@pytest.mark.parametrize("n", [1, 2])
def test_a_task_that_does_not_answer_each_hypothesis_breaks_its_contract(n: int) -> None:
    with (
        Workers(ShortTask(6, 1), BitCrossover(), n) as workers,
        pytest.raises(ContractError, match=r"the task returned"),
    ):
        workers.evaluate(HYPOTHESES)


def test_an_operator_that_does_not_answer_each_request_breaks_its_contract() -> None:
    with (
        Workers(BitTask(6, 1), ShortOperator(), 1) as workers,
        pytest.raises(ContractError, match=r"the operator returned 2 proposals for 3 items"),
    ):
        workers.propose(requests(3))


def test_a_dead_worker_is_a_service_that_failed() -> None:
    with (
        Workers(BitTask(6, 1, spoiled="worker"), BitCrossover(), 2) as workers,
        pytest.raises(ServiceError, match="a worker process died"),
    ):
        workers.evaluate(HYPOTHESES)
