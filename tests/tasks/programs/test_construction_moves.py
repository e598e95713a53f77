"""The moves of the tasks that construct an object: each keeps a program running and its result valid."""

import ast
import re
from functools import cache

import numpy as np
import pytest

from evodiverse.tasks.programs import domain
from evodiverse.tasks.programs.operators.cost_model import estimate_work
from evodiverse.tasks.programs.operators.moves import insert_move
from evodiverse.tasks.programs.operators.names import undefined_names
from evodiverse.tasks.programs.operators.operator import MAX_WORK, ProgramOperator
from evodiverse.tasks.programs.operators.syntax import functions_of, write_program
from evodiverse.tasks.programs.settings import ProgramSettings
from tests.tasks.programs.samples import blocks_of, grammar_of, moves_of, read, request, start_of

# Each task with its `task.n`, if it has one: small, where the task has dimensions.
TASKS = [
    ("minimum_overlap", None),
    ("autocorrelation", 1),
    ("autocorrelation", 2),
    ("autocorrelation", 3),
    ("sums_differences", None),
    ("kissing", 5),
    ("cap_set", 5),
]
MOVES = [(task, n, name) for task, n in TASKS for name in moves_of(task)]
FIRST = dict(reversed(TASKS))


def evaluator_of(task, n):
    return domain._find_task(ProgramSettings(evaluator=task))(ProgramSettings(n=n, reference=1))


def insert(task, n, name, seed):
    grammar = grammar_of(task)
    return insert_move(read(start_of(task, n)), np.random.default_rng(seed), grammar.moves[name], grammar.blocks)


@cache
def score(task, n, source):
    """Return the score of a program, which is one of ours."""
    evaluator, names = evaluator_of(task, n), {}
    exec(source, names)  # noqa: S102
    result = names[evaluator.entry_point]()
    scored = evaluator.score(list(result) if isinstance(result, tuple) else result.tolist())
    return scored.score


@pytest.mark.parametrize(("task", "n", "name"), MOVES)
def test_a_move_keeps_a_program_valid_and_those_that_compare_never_make_it_worse(task, n, name):
    before = score(task, n, start_of(task, n))
    compares = "if " in moves_of(task)[name].template or name in {"polish", "climb"}
    for seed in range(2):
        after = score(task, n, write_program(insert(task, n, name, seed)))
        assert after >= before * (1 - 1e-12) if compares else after > 0


@pytest.mark.parametrize(("task", "n", "name"), MOVES)
def test_the_work_of_a_move_is_bounded_and_all_that_it_reads_is_there(task, n, name):
    for seed in range(4):
        child = insert(task, n, name, seed)
        assert undefined_names(child) == set()
        assert 0 < estimate_work(child, evaluator_of(task, n).entry_point) < MAX_WORK


@pytest.mark.parametrize("task", FIRST)
def test_the_operator_makes_every_move(task):
    start = start_of(task, FIRST[task])
    operator = ProgramOperator(evaluator_of(task, FIRST[task]).entry_point, grammar_of(task))
    proposals = [operator.propose([request(start, slot=slot)])[0] for slot in range(200)]
    made = {part for proposal in proposals for part in proposal.operator.split("+")}
    assert {f"move_{name}" for name in moves_of(task)} <= made


@pytest.mark.parametrize("task", FIRST)
def test_no_building_block_or_move_holds_a_result(task):
    for function in functions_of(blocks_of(task)).values():
        numbers = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant)]
        assert sum(type(value) is float for value in numbers) <= 8
        assert max([len(node.elts) for node in ast.walk(function) if isinstance(node, ast.List)], default=0) <= 3
    assert all(len(re.findall(r"\d", move.template)) < 20 for move in moves_of(task).values())


@pytest.mark.parametrize(("task", "n"), TASKS)
def test_a_model_is_told_what_to_return_and_what_scores(task, n):
    evaluator = evaluator_of(task, n)
    for words in (f"`{evaluator.entry_point}()`", "The score is", "30 seconds"):
        assert words in evaluator.description
    assert "$" not in evaluator.description
