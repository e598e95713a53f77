"""Graph GA as an operator: a function of the request alone, and failures that are values."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from evodiverse.tasks.molecules.operators import GraphGA
from evodiverse.vocabulary import Candidate, Prompt, Proposal, Request, Stream
from tests.tasks.molecules.drugs import DRUGS


def request(*parents: str, slot: int = 0, seed: int = 0) -> Request:
    candidates = tuple(Candidate(call, smiles, smiles, None, None) for call, smiles in enumerate(parents, start=1))
    return Request(1, 0, slot, 1, candidates, Prompt.COLD, Stream(seed, 7, 1, 0, slot, 1))


def pairs(n_requests: int) -> list[Request]:
    n = len(DRUGS)
    return [request(DRUGS[i % n], DRUGS[(7 * i + 1) % n], slot=i) for i in range(n_requests)]


def test_no_requests_give_no_proposals() -> None:
    assert GraphGA(mutation_rate=0.5).propose([]) == []


@given(
    first=st.sampled_from(DRUGS),
    second=st.sampled_from(DRUGS),
    rate=st.sampled_from([0.0, 0.067, 1.0]),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, derandomize=True)
def test_an_answer_is_a_canonical_molecule_or_an_error(first: str, second: str, rate: float, seed: int) -> None:
    (proposal,) = GraphGA(mutation_rate=rate).propose([request(first, second, seed=seed)])
    assert proposal.operator == "graph_ga"
    assert (proposal.genotype is None) == bool(proposal.error)
    assert proposal.genotype is None or Chem.CanonSmiles(proposal.genotype) == proposal.genotype


def test_equal_requests_have_equal_children() -> None:
    operator = GraphGA(mutation_rate=0.5)
    assert operator.propose(pairs(20)) == operator.propose(pairs(20))


def test_other_streams_have_other_children() -> None:
    children = GraphGA(mutation_rate=0).propose([request(DRUGS[7], DRUGS[8], slot=slot) for slot in range(20)])
    assert len({child.genotype for child in children}) > 10


def test_the_order_of_a_batch_does_not_change_the_children() -> None:
    operator, requests = GraphGA(mutation_rate=0.5), pairs(20)
    assert operator.propose(requests[::-1])[::-1] == [operator.propose([one])[0] for one in requests]


def test_the_parents_before_do_not_change_a_child() -> None:
    parent = DRUGS[15]
    fresh = GraphGA(mutation_rate=1).propose([request(parent)])
    GraphGA(mutation_rate=1).propose([request(parent, DRUGS[3], slot=slot) for slot in range(30)])
    assert GraphGA(mutation_rate=1).propose([request(parent)]) == fresh


def test_a_single_parent_is_always_mutated() -> None:
    children = GraphGA(mutation_rate=0).propose([request("CCCCCCN", slot=slot) for slot in range(30)])
    n_atoms = {Chem.MolFromSmiles(child.genotype).GetNumAtoms() for child in children}
    assert n_atoms == {6, 7, 8}
    assert "CCCCCCN" not in {child.genotype for child in children}


def test_children_of_two_parents_are_mutated_at_the_rate() -> None:
    plain, mutated = (GraphGA(mutation_rate=rate).propose(pairs(400)) for rate in (0, 0.3))
    share = sum(one != other for one, other in zip(plain, mutated, strict=True)) / 400
    assert share == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / 400) ** 0.5)


def test_parents_beyond_the_second_are_left_alone() -> None:
    operator = GraphGA(mutation_rate=0.5)
    assert operator.propose([request(*DRUGS[:3])]) == operator.propose([request(*DRUGS[:2])])


@pytest.mark.parametrize(
    ("parents", "error"),
    [
        (("CC",), "no allowed mutation"),
        (("CC", "CCO"), "no allowed crossover"),
        (("C1CCCCC1", "CCCCO"), "no allowed crossover"),
    ],
)
def test_a_failed_attempt_is_an_answer(parents: tuple[str, ...], error: str) -> None:
    assert GraphGA(mutation_rate=1).propose([request(*parents)]) == [Proposal(None, "graph_ga", error)]


def test_a_failed_mutation_of_a_child_is_an_answer() -> None:
    sevens = (
        "C1CCCCCC1CCC1CCCCCC1",
        "C1CCCCCC1COC1CCCCCC1",
    )  # rings that no mutation may leave, in both sides of the cuts
    answers = GraphGA(mutation_rate=1).propose([request(*sevens, slot=slot) for slot in range(20)])
    assert "no allowed mutation of the crossover's child" in {answer.error for answer in answers}


def test_refused_children_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    GraphGA(mutation_rate=1).propose(pairs(30))
    assert capfd.readouterr() == ("", "")


SCRIPT = """
from evodiverse.tasks.molecules.operators import GraphGA
from tests.tasks.molecules.test_operators import pairs
print([proposal.genotype for proposal in GraphGA(mutation_rate=0.5).propose(pairs(20))])
"""


@pytest.mark.slow
def test_children_do_not_depend_on_the_hash_seed() -> None:
    def children(hash_seed: str) -> str:
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert children("0") == children("1") == children("4242")
