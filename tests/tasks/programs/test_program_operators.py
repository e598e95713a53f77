"""The classical operator: allowed children, made of the request alone."""

import os
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evodiverse.tasks.programs.operators.cost_model import estimate_work
from evodiverse.tasks.programs.operators.crossover import CROSSOVERS
from evodiverse.tasks.programs.operators.names import undefined_names
from evodiverse.tasks.programs.operators.operator import (
    CROSSOVER_RATE,
    EDITS,
    MAX_CHARACTERS,
    MAX_WORK,
    ProgramOperator,
)
from evodiverse.tasks.programs.operators.syntax import write_program
from evodiverse.tasks.programs.parsing import parse_program
from evodiverse.vocabulary import Hypothesis, Proposal, Request
from tests.tasks.programs.samples import BINS, GENERIC, SEED, grammar_of, moves_of, packing_programs, read, request

PACKING = ProgramOperator("construct_packing", grammar_of("circle_packing"))
SOLVE = ProgramOperator("solve", None)


def packing_requests(count: int) -> list[Request]:
    programs, rng = packing_programs(), np.random.default_rng(3)
    return [request(*(programs[i] for i in rng.permutation(len(programs))[:3]), slot=slot) for slot in range(count)]


def key(source: str, entry_point: str) -> str:
    hypothesis = parse_program(source, entry_point, 10_000)
    assert isinstance(hypothesis, Hypothesis)
    return hypothesis.key


def assert_allowed(child: str | None, parent: str, entry_point: str) -> None:
    assert child is not None
    compile(child, "child", "exec")
    assert key(child, entry_point) != key(parent, entry_point)
    assert not undefined_names(read(child))
    assert estimate_work(read(child), entry_point) <= MAX_WORK
    assert len(child) <= MAX_CHARACTERS


def test_children_of_packing_programs_are_allowed() -> None:
    requests = packing_requests(30)
    for one, proposal in zip(requests, PACKING.propose(requests), strict=True):
        assert_allowed(proposal.genotype, one.parents[0].genotype, "construct_packing")
        assert "\nN = 26\n" in str(proposal.genotype)


@given(seed=st.integers(0, 2**32), name=st.sampled_from(sorted(GENERIC)), n_parents=st.integers(1, 2))
@settings(deadline=None, derandomize=True)
def test_children_of_any_program_are_allowed(seed: int, name: str, n_parents: int) -> None:
    parents = [GENERIC[name], *(other for one, other in GENERIC.items() if one != name)][:n_parents]
    (proposal,) = SOLVE.propose([request(*parents, seed=seed)])
    assert_allowed(proposal.genotype, parents[0], "solve")


def test_a_long_line_of_descent_stays_within_the_limits() -> None:
    operator = ProgramOperator("construct_packing", grammar_of("circle_packing"), max_characters=6_000)
    source, works, lengths = SEED, [], []
    for slot in range(40):
        (proposal,) = operator.propose([request(source, slot=slot)])
        source = proposal.genotype or source
        works.append(estimate_work(read(source), "construct_packing"))
        lengths.append(len(source))
    assert 4_000 < max(lengths) <= 6_000
    assert 10_000 < max(works) <= MAX_WORK


def test_a_program_beyond_the_limits_has_children_that_are_no_worse() -> None:
    loop = "for i in range(1000000):\n        left = left + 0.5\n    "
    source = BINS.replace("score = -(", f"{loop}score = -(") + f"\n\nTEXT = {'x' * 10_000!r}\n"
    source = write_program(read(source))
    work = estimate_work(read(source), "solve")
    assert work > MAX_WORK
    for slot in range(10):
        (proposal,) = SOLVE.propose([request(source, slot=slot)])
        assert proposal.genotype is not None
        assert estimate_work(read(proposal.genotype), "solve") <= work
        assert len(proposal.genotype) <= len(source)


def test_a_smaller_limit_of_characters_is_kept() -> None:
    operator = ProgramOperator("construct_packing", grammar_of("circle_packing"), max_characters=len(SEED) + 200)
    proposals = operator.propose([request(SEED, slot=slot) for slot in range(20)])
    assert max(len(proposal.genotype or "") for proposal in proposals) <= len(SEED) + 200


def test_equal_requests_have_equal_children() -> None:
    requests = packing_requests(20)
    np.random.seed(0)  # noqa: NPY002 (the global generator must not matter)
    first = PACKING.propose(requests)
    np.random.seed(1)  # noqa: NPY002
    assert PACKING.propose(requests) == first


def test_the_order_of_a_batch_does_not_change_the_children() -> None:
    requests = packing_requests(20)
    alone = [ProgramOperator("construct_packing", grammar_of("circle_packing")).propose([one])[0] for one in requests]
    assert PACKING.propose(requests[::-1])[::-1] == alone


def test_other_streams_have_other_children() -> None:
    children = PACKING.propose([request(SEED, slot=slot) for slot in range(50)])
    assert len({child.genotype for child in children}) > 45


def test_a_pickled_operator_has_the_same_children() -> None:
    requests = packing_requests(10)
    assert pickle.loads(pickle.dumps(PACKING)).propose(requests) == PACKING.propose(requests)


@pytest.mark.parametrize("step", [1, -1])
def test_a_program_of_functions_that_call_each_other_in_a_long_chain_has_a_child(step: int) -> None:
    chain = "".join(f"def f{at}(): return f{at + step}()\n" for at in range(1, 280))
    source = f"{chain}def f0(): return 0\ndef f280(): return 0\ndef solve(): return f{140 - 139 * step}()\n"
    (proposal,) = SOLVE.propose([request(source)])
    assert_allowed(proposal.genotype, source, "solve")


def test_no_requests_give_no_proposals() -> None:
    assert PACKING.propose([]) == []


@pytest.mark.parametrize(
    ("source", "error"), [("def f(:\n", "the parent is not Python"), ("def f():\n    pass\n", "no allowed child in 10")]
)
def test_a_failed_attempt_is_an_answer(source: str, error: str) -> None:
    (proposal,) = ProgramOperator("f", None).propose([request(source)])
    assert proposal == Proposal(None, "mutation", proposal.error)
    assert error in proposal.error


def test_a_child_without_the_entry_point_is_not_allowed() -> None:
    (proposal,) = ProgramOperator("missing", None).propose([request(BINS)])
    assert proposal.genotype is None


@pytest.mark.slow
def test_the_operator_names_what_was_done() -> None:
    names = Counter(name for child in PACKING.propose(packing_requests(300)) for name in child.operator.split("+"))
    kinds = {f"mutation_{kind}" for kind in EDITS} | {f"move_{kind}" for kind in moves_of("circle_packing")}
    assert names.keys() == kinds | {f"crossover_{kind}" for kind in CROSSOVERS}


def test_crossovers_come_at_their_rate() -> None:
    requests = [request(MIXED, MIXED.replace("1", "4"), slot=slot) for slot in range(400)]
    rate = sum("crossover" in child.operator for child in ProgramOperator("main", None).propose(requests)) / 400
    assert rate == pytest.approx(CROSSOVER_RATE, abs=4 * (CROSSOVER_RATE * (1 - CROSSOVER_RATE) / 400) ** 0.5)


def test_without_a_grammar_there_are_no_moves() -> None:
    operator = ProgramOperator("construct_packing", None)
    assert not any("move_" in child.operator for child in operator.propose(packing_requests(50)))


def test_a_single_parent_is_only_mutated() -> None:
    children = PACKING.propose([request(packing_programs()[9], slot=slot) for slot in range(50)])
    assert not any("crossover" in child.operator for child in children)


MIXED = "def main():\n    x = 1\n    x = x * 2.5\n    return x\n"
MINE = "def main():\n    return 'mine'\n"
BETTER = "def main():\n    return 'better' * 2\n"
GOOD = "def main():\n    return 'good' * 2\n"


def texts(scores: tuple[float, ...], *parents: str) -> set[str]:
    proposals = ProgramOperator("main", None).propose(
        [request(*parents, slot=slot, scores=scores) for slot in range(40)]
    )
    children = [str(proposal.genotype) for proposal in proposals]
    return {word for word in ("mine", "better", "good") if any(word in child for child in children)}


def test_the_first_parent_is_changed_and_the_best_of_the_others_gives() -> None:
    assert texts((0.9, 0.2, 0.5), MINE, GOOD, BETTER) == {"mine", "better"}


def test_a_failed_parent_gives_way_and_gives_nothing() -> None:
    assert texts((0.0, 0.5), MINE, GOOD) == {"good"}
    assert texts((0.5, 0.0), GOOD, MINE) == {"good"}


def test_a_failed_parent_is_changed_when_all_have_failed() -> None:
    assert texts((0.0, 0.0), GOOD, BETTER) == {"good"}


def test_what_a_child_no_longer_reads_is_removed() -> None:
    spare = "SPARE = 1\n\n\n"
    helped = "A = 'a'\n\n\ndef help():\n    return A\n\n\ndef main():\n    return help()\n"
    requests = [request(spare + helped, MINE, slot=slot) for slot in range(40)]
    children = {child.genotype for child in ProgramOperator("main", None).propose(requests)}
    assert spare + MINE in children


def grandchildren() -> str:
    first = [str(child.genotype) for child in PACKING.propose([request(SEED, slot=slot) for slot in range(6)])]
    return repr(PACKING.propose([request(*first[slot:], slot=slot) for slot in range(5)]))


def test_children_do_not_depend_on_the_hash_seed() -> None:
    script = "from tests.tasks.programs.test_program_operators import grandchildren; print(grandchildren())"
    environment = os.environ | {"PYTHONHASHSEED": "4242", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == grandchildren()
