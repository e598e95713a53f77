"""Crossover of programs: what is exchanged brings along what it needs, under names that mean the same."""

import ast
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evodiverse.tasks.programs.operators.crossover import (
    CROSSOVERS,
    Crossover,
    exchange_constants,
    exchange_function,
    exchange_statements,
    rename,
)
from evodiverse.tasks.programs.operators.names import (
    dead_names,
    missing_names,
    names_of,
    undefined_names,
    without_names,
)
from evodiverse.tasks.programs.operators.syntax import write_program
from tests.tasks.clock import MAX_SECONDS, cpu_seconds
from tests.tasks.programs.samples import GENERIC, SYNTAX, packing_programs, read, tried

EXCHANGES = {kind: cross for kind, (cross, _) in CROSSOVERS.items()}
KINDS = sorted(EXCHANGES)


def children(one: str, other: str, cross: Crossover, count: int = 30) -> set[str]:
    found = (tried(cross, read(one), read(other), np.random.default_rng(seed)) for seed in range(count))
    return {write_program(child) for child in found if child is not None}


def run(source: str, name: str = "main") -> object:
    names: dict[str, Callable[[], object]] = {}
    exec(source, names)  # noqa: S102 (written here)
    return names[name]()


@given(pair=st.sampled_from(list(combinations(range(20), 2))), seed=st.integers(0, 2**32), kind=st.sampled_from(KINDS))
@settings(deadline=None, derandomize=True)
def test_children_compile_and_the_parents_stay(pair: tuple[int, int], seed: int, kind: str) -> None:
    one, other = (read(packing_programs()[index]) for index in pair)
    before = ast.dump(one), ast.dump(other)
    child = tried(EXCHANGES[kind], one, other, np.random.default_rng(seed))
    assert (ast.dump(one), ast.dump(other)) == before
    if child is not None:
        compile(write_program(child), kind, "exec")
        assert "construct_packing" in write_program(child)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", [*GENERIC.values(), packing_programs()[0]])
def test_a_program_has_nothing_to_exchange_with_itself(source: str, kind: str) -> None:
    assert children(source, source, EXCHANGES[kind], 5) == set()


@pytest.mark.parametrize("kind", KINDS)
def test_unrelated_programs_have_little_to_exchange(kind: str) -> None:
    for child in children(SYNTAX, GENERIC["bins"], EXCHANGES[kind]):
        compile(child, kind, "exec")


ONE = """
A = 1


def help(x):
    return x + A


def main():
    y = help(10)
    return y
"""


def test_a_function_is_exchanged_for_its_namesake() -> None:
    other = ONE.replace("x + A", "x * A").replace("y = help(10)", "y = help(20)")
    assert {run(child) for child in children(ONE, other, exchange_function)} == {10, 21}


def test_a_missing_helper_is_added_with_what_it_needs() -> None:
    other = "import math\nB = 2\n\ndef deep(x):\n    return math.sqrt(x) * B\n\ndef main():\n    return deep(16)\n"
    (child,) = children(ONE, other, exchange_function)
    assert run(child) == 8
    assert dead_names(read(child), "main") == {"help", "A"}


def test_a_helper_of_another_arity_is_added_under_another_name() -> None:
    other = "def help(x, y):\n    return help(x, y - 1) if y else x\n\ndef main():\n    return help(3, 2)\n"
    one = ONE + "\n\ndef more():\n    return help(5)\n"
    (child,) = children(one, other, exchange_function)
    assert run(child) == 3
    assert run(child, "more") == 6
    assert "def help_2(x, y)" in child


def test_a_helper_of_the_same_arity_is_the_own_one() -> None:
    other = ONE.replace("A = 1", "A = 5").replace("y = help(10)", "y = help(20)")
    assert {run(child) for child in children(ONE, other, exchange_function)} == {21}


def test_functions_of_different_arity_are_not_exchanged() -> None:
    assert children(ONE, "def main(x):\n    return x\n", exchange_function) == set()


def body(*lines: str) -> str:
    return "def main():\n" + "".join(f"    {line}\n" for line in lines)


def test_statements_are_taken_from_either_or_both() -> None:
    one, other = body("x = 1", "x += 1", "return x"), body("x = 1", "x *= 9", "return x")
    assert children(one, other, exchange_statements) == {
        body("x = 1", "x *= 9", "return x"),
        body("x = 1", "x += 1", "x *= 9", "return x"),
    }


def test_each_place_of_difference_is_taken_by_itself() -> None:
    one = body("x = 1", "y = 1", "return x + y")
    other = body("x = 1", "x = 2", "y = 1", "y = 2", "return x + y")
    assert {run(child) for child in children(one, other, exchange_statements)} == {3, 4}


def test_functions_that_repeat_a_statement_without_end_are_compared_in_time() -> None:
    one, other = body(*["x = 1"] * 1_500, "return x"), body(*["x = 1", "x = 2", "x = 3"] * 500, "return x")
    assert cpu_seconds(lambda: children(one, other, exchange_statements, 1)) < MAX_SECONDS
    assert {run(child) for child in children(one, other, exchange_statements, 5)} == {1, 3}


def test_definitions_that_read_each_other_in_a_long_chain_are_told_apart_in_time() -> None:
    chain = "".join(f"a{at} = a{at + 1}\n" for at in range(1_500))
    tree = read(f"{chain}b = a7\ndef main():\n    return a1_000\n".replace("1_000", "1000"))
    assert cpu_seconds(lambda: [dead_names(tree, "main") for _ in range(10)]) < MAX_SECONDS
    assert dead_names(tree, "main") == {"b", *(f"a{at}" for at in range(1_000))}


def test_numbers_are_taken_or_lie_between() -> None:
    one, other = body("x = 1.0", "return x + 3"), body("x = 2.0", "return x + 8")
    found = [run(child) for child in children(one, other, exchange_constants, 200)]
    assert {5.0, 9.0, 10.0} <= set(found)
    assert len(found) > 20
    assert all(4 < value <= 5 or 9 <= value <= 10 for value in found)


def test_an_integer_is_not_a_twin_of_a_float() -> None:
    assert children(body("return 1"), body("return 2.0"), exchange_constants) == set()


NAMES = {
    "x = y": ({"y"}, {"x"}),
    "x += 1": ({"x"}, {"x"}),
    "x[i] = y": ({"x", "i", "y"}, set()),
    "for i in a:\n    b = i\nelse:\n    c = b": ({"a"}, {"i", "b", "c"}),
    "z = [p + q for p in r if p]": ({"q", "r"}, {"z"}),
    "z = {k: v for k, v in d}": ({"d"}, {"z"}),
    "f = lambda a, b=c: a + b + e": ({"c", "e"}, {"f"}),
    "import os.path as p, sys": (set(), {"p", "sys"}),
    "def f(a, *b, c=d, **e):\n    g = a\n    return g + h + f": ({"d", "h"}, {"f"}),
    "class C(B):\n    x = y\n    def m(self):\n        return z": ({"B", "y", "z"}, {"C"}),
    "with a as b:\n    pass": ({"a"}, {"b"}),
    "try:\n    a = 1\nexcept E as e:\n    b = e": ({"E"}, {"a", "e", "b"}),
    "if (n := m) > 1:\n    o = n": ({"m"}, {"n", "o"}),
    "match v:\n    case [h, *t]:\n        w = h": ({"v"}, {"h", "t", "w"}),
    "a: int = b": ({"b", "int"}, {"a"}),
}


@pytest.mark.parametrize("source", NAMES)
def test_names_are_read_and_bound_in_the_order_of_evaluation(source: str) -> None:
    names = names_of(ast.parse(source).body[0])
    assert (set(names.reads), set(names.binds)) == NAMES[source]


@pytest.mark.parametrize("source", [*GENERIC.values(), *packing_programs()[:5]])
def test_programs_that_run_read_nothing_undefined(source: str) -> None:
    assert undefined_names(read(source)) == set()


def test_what_is_bound_too_late_is_undefined() -> None:
    source = (
        "A = B\nB = 1\ndef f(x):\n    y = z + x + A\n    z = later()\n    return len(y)\ndef later():\n    return w\n"
    )
    assert undefined_names(read(source)) == {"B", "z", "w"}


def test_names_missing_from_a_block_depend_on_what_is_bound() -> None:
    block = ast.parse("a = b\nc = a + d\n").body
    assert missing_names(block, {"d"}) == {"b"}


def test_what_nothing_live_reads_is_dead() -> None:
    live = "C = D = 2\n\n\ndef f():\n    return g()\n\n\ndef g():\n    return C\n\n\nprint(C)\n"
    tree = read("A = 1\nB = A\n" + live.replace("print", "def h():\n    return h() + B\n\n\nprint"))
    dead = dead_names(tree, "f")
    assert dead == {"A", "B", "D", "h"}
    assert write_program(without_names(tree, dead)) == live


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f = lambda x, y: x + y + z", "f = lambda x, y: x + y + w"),
        ("f = lambda a=z: a + x", "f = lambda a=w: a + v"),
        ("def f(x):\n    return x + z", "def f(x):\n    return x + w"),
    ],
)
def test_parameters_keep_their_names(source: str, expected: str) -> None:
    renamed = rename(ast.parse(source), {"x": "v", "z": "w"})
    assert ast.unparse(renamed) == expected
