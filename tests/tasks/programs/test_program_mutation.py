"""Mutations of syntax trees: they apply where they should, and leave Python that means what they say."""

import ast
import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evodiverse.tasks.programs.operators.cost_model import estimate_work, trips
from evodiverse.tasks.programs.operators.mutation import (
    MAX_INTEGER,
    MUTATIONS,
    change_loop,
    change_operator,
    constants_of,
    delete_statement,
    duplicate_statement,
    perturb_constant,
    perturb_float,
    perturb_integer,
    swap_statements,
)
from evodiverse.tasks.programs.operators.syntax import blocks_of, parts_of, read_program, replace, write_program
from tests.tasks.programs.samples import BINS, GENERIC, SEED, SYNTAX, packing_programs, read, tried

PROGRAMS = {**GENERIC, "packing": SEED}
EDITS = {kind: edit for kind, (edit, _) in MUTATIONS.items()}
KINDS = sorted(EDITS)


def children(source: str, edit: Callable[..., ast.Module], count: int = 20) -> Iterator[str]:
    tree = read(source)
    for seed in range(count):
        child = tried(edit, tree, np.random.default_rng(seed))
        if child is not None:
            yield write_program(child)


@pytest.mark.parametrize("source", [*PROGRAMS.values(), *packing_programs()[1:6]])
def test_what_is_written_is_what_was_read(source: str) -> None:
    assert ast.dump(ast.parse(write_program(read(source)))) == ast.dump(ast.parse(source))


@pytest.mark.parametrize("source", ["x = (1\n", "def f(:\n", "x = 1\0", f"x = 0x{'f' * 5000}"])
def test_what_cannot_be_read_or_written_is_not_a_program(source: str) -> None:
    assert read_program(source) is None


def test_equal_statements_are_one_node() -> None:
    one, other = (read(f"def {name}():\n    x = 1\n    return x\n") for name in "fg")
    assert one.body[0].body[0] is other.body[0].body[0]


@pytest.mark.parametrize("mark", ["\f", "\x1c", "\x85", "\u2028"])
def test_only_line_ends_of_python_end_a_line(mark: str) -> None:
    source = f"def f():\n    y = 'a{mark}b'\n    x = 1\n    z = 2\n    return x\n"
    assert ast.dump(read(source)) == ast.dump(ast.parse(source))


def test_statements_that_share_a_line_are_read_as_they_are() -> None:
    source = "def f(): x = 1; return x\n"
    assert ast.dump(read(source)) == ast.dump(ast.parse(source))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_children_compile_and_differ_and_the_parent_stays(name: str, kind: str) -> None:
    source, edit = PROGRAMS[name], EDITS[kind]
    source += (
        "\nfrom random import Random\n\n\ndef pad():\n    return [Random(k) for k in range(9)]\n"  # a loop, and a seed
    )
    before = ast.dump(read(source))
    found = list(children(source, edit))
    assert len(found) > 10
    for child in found:
        compile(child, name, "exec")
    assert len(set(found) - {write_program(read(source))}) > 4
    assert ast.dump(read(source)) == before


@given(seed=st.integers(0, 2**32), kind=st.sampled_from(KINDS), name=st.sampled_from(sorted(PROGRAMS)))
@settings(deadline=None, derandomize=True)
def test_chains_of_mutations_compile(seed: int, kind: str, name: str) -> None:
    rng = np.random.default_rng(seed)
    tree = read(PROGRAMS[name])
    for edit in [*EDITS.values(), EDITS[kind]]:
        tree = tried(edit, tree, rng) or tree
    source = write_program(tree)
    compile(source, name, "exec")
    assert write_program(read(source)) == source


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_without_anything_to_change_has_no_child(kind: str) -> None:
    assert tried(EDITS[kind], read("import os\n"), np.random.default_rng(0)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_while_loops_stay(kind: str) -> None:
    (loop,) = (ast.unparse(node) for node in ast.walk(ast.parse(SYNTAX)) if isinstance(node, ast.While))
    for child in children(SYNTAX, EDITS[kind]):
        found = {ast.unparse(node) for node in ast.walk(ast.parse(child)) if isinstance(node, ast.While)}
        assert found <= {loop}
        assert found or kind == "delete"


def test_fixed_constants_stay() -> None:
    found = list(children(SEED, partial(perturb_constant, fixed=frozenset({"N"})), 200))
    assert all("\nN = 26\n" in child for child in found)
    assert any("\nN = 26\n" not in child for child in children(SEED, EDITS["constant"], 200))


@pytest.mark.parametrize(
    "definition", ["N = 26", "N: int = 26", "N, M = 26, 27", "N = M = 26", "(M, [N]) = 27, [26]", "M = (N := 26)"]
)
def test_a_fixed_constant_stays_however_it_is_defined(definition: str) -> None:
    tree = read(f"{definition}\nA = 5.5\n")
    assert [value for (_, value), _ in constants_of(tree, frozenset({"N"}))] == [5.5]


def test_indices_axes_bounds_and_patterns_are_not_perturbed() -> None:
    source = "def f(x):\n    for i in range(7):\n        x[3] += x.sum(axis=4) * 5.5\n"
    source += "    match x:\n        case 6:\n            pass\n"
    assert [value for (_, value), _ in constants_of(read(source), frozenset())] == [5.5]


def test_named_constants_count_more_and_small_integers_less() -> None:
    tree = read("A = 0.5\ndef f():\n    return 9 + 1 + 3.0 ** 8\n")
    assert [(value, weight) for (_, value), weight in constants_of(tree, frozenset())] == [
        (0.5, 3.0),
        (9, 1.0),
        (1, 0.1),
        (3.0, 1.0),
        (8, 0.1),
    ]


def test_floats_are_perturbed_on_several_scales() -> None:
    rng = np.random.default_rng(0)
    changes = np.array([abs(perturb_float(0.3, rng) - 0.3) for _ in range(4000)])
    shares = [float(np.mean((changes > low) & (changes <= 10 * low))) for low in (1e-3, 1e-2, 1e-1)]
    assert min(shares) > 0.15


@given(value=st.floats(allow_nan=False, allow_infinity=False), seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True)
def test_perturbed_floats_are_finite(value: float, seed: int) -> None:
    assert math.isfinite(perturb_float(value, np.random.default_rng(seed)))


@pytest.mark.parametrize(("value", "expected"), [(6, {5, 7, 12, 3}), (0, {-1, 1, 0}), (800, {799, 801, 400, 800})])
def test_integers_are_stepped_doubled_or_halved(value: int, expected: set[int]) -> None:
    rng = np.random.default_rng(0)
    assert {perturb_integer(value, rng) for _ in range(100)} == expected


def test_integers_do_not_grow_beyond_the_limit() -> None:
    rng = np.random.default_rng(0)
    value, seen = 3, set()
    for _ in range(2000):
        value = perturb_integer(value, rng)
        seen.add(abs(value))
    assert max(seen) <= MAX_INTEGER


def test_negative_numbers_keep_their_meaning() -> None:
    tree = read("def f(x):\n    return x ** 2.5\n")
    found = [tried(perturb_constant, tree, np.random.default_rng(seed)) for seed in range(300)]
    negative = [child for child in found if child and "USub" in ast.dump(child)]
    assert negative
    assert all(ast.dump(ast.parse(write_program(child))) == ast.dump(child) for child in negative)


def test_loops_grow_and_shrink() -> None:
    source = "def f():\n    for i in range(30):\n        print(i, 0.5, 7)\n"
    source += "    for j in np.linspace(0.5, 1, 20):\n        print(j)\n"
    found = [
        [trips(node.iter, {}) for node in ast.walk(ast.parse(child)) if isinstance(node, ast.For)]
        for child in children(source, change_loop, 200)
    ]
    first, second = ({bounds[index] for bounds in found} for index in (0, 1))
    assert min(first) == 15
    assert 150 < max(first) <= 180
    assert min(second) == 10
    assert 90 < max(second) <= 120


def test_operators_have_siblings() -> None:
    source = "def f(a, b):\n    return min(a + b, 1) if a < b else np.maximum(a, b)\n"
    found = Counter(child.split("return ")[1].strip() for child in children(source, change_operator, 200))
    assert set(found) == {
        "max(a + b, 1) if a < b else np.maximum(a, b)",
        "min(a - b, 1) if a < b else np.maximum(a, b)",
        "min(a + b, 1) if a <= b else np.maximum(a, b)",
        "min(a + b, 1) if a > b else np.maximum(a, b)",
        "min(a + b, 1) if a < b else np.minimum(a, b)",
    }


def bodies(source: str, edit: Callable[..., ast.Module]) -> set[tuple[str, ...]]:
    return {tuple(line.strip() for line in child.splitlines()[1:]) for child in children(source, edit, 100)}


def test_a_statement_is_left_out_but_not_the_last_return() -> None:
    source = "def f(x):\n    a = 1\n    b = 2\n    return a + b\n"
    assert bodies(source, delete_statement) == {("b = 2", "return a + b"), ("a = 1", "return a + b")}


def test_pass_takes_the_place_of_the_only_statement() -> None:
    source = "def f(x):\n    if x:\n        x = 1\n    return x\n"
    assert ("if x:", "pass", "return x") in bodies(source, delete_statement)


def test_a_statement_is_repeated_at_once_or_later() -> None:
    source = "def f(x):\n    a = 1\n    b = 2\n    return a + b\n"
    assert bodies(source, duplicate_statement) == {
        ("a = 1", "a = 1", "b = 2", "return a + b"),
        ("a = 1", "b = 2", "a = 1", "return a + b"),
        ("a = 1", "b = 2", "b = 2", "return a + b"),
    }


def test_statements_of_one_block_are_exchanged() -> None:
    source = "def f(x):\n    a = 1\n    b = 2\n    if x:\n        x = 3\n    return a + b\n"
    assert bodies(source, swap_statements) == {
        ("b = 2", "a = 1", "if x:", "x = 3", "return a + b"),
        ("if x:", "x = 3", "b = 2", "a = 1", "return a + b"),
        ("a = 1", "if x:", "x = 3", "b = 2", "return a + b"),
    }


def test_functions_with_scope_declarations_keep_their_statements_in_place() -> None:
    texts = {ast.unparse(statement) for _, block in blocks_of(read(SYNTAX)) for statement in block}
    assert not any("nonlocal" in text for text in texts)
    assert "steps = 0" in texts


def test_a_path_leads_to_what_it_replaces() -> None:
    statement = read(BINS).body[6].body[1]
    for path, node in parts_of(statement):
        marked = replace(statement, path, ast.Name("MARK", ast.Load())) if isinstance(node, ast.expr) else None
        assert marked is None or ast.dump(marked).count("MARK") == 1
    assert "MARK" not in ast.dump(statement)


WORK = {
    "for i in range(10):\n        f(i)": 10,
    "for i in range(3, 10, 2):\n        f(i)": 4,
    "for i in range(K * 2):\n        f(i)": 8,
    "k = 5\n    for i in range(k):\n        f(i)": 5,
    "for i in range(n):\n        f(i)": 32,
    "for i in np.linspace(0, 1, 12):\n        f(i)": 12,
    "for i in (1, 2):\n        for j in enumerate(range(7)):\n            f(i)": 14,
    "[f(i) for i in range(6) for j in range(6)]": 36,
    "while n:\n        f(n)": 32,
    "if n:\n        f(1)\n    else:\n        f(2)": 2,
    "f(1)": 1,
}


@pytest.mark.parametrize("body", WORK)
def test_work_is_the_product_of_the_trips(body: str) -> None:
    heavy = "def f(x):\n    for i in range(1000):\n        x += 1\n"
    program = f"{heavy}K = 4\ndef main(n=3):\n    {body}\n"
    once = estimate_work(read(program), "f")
    assert estimate_work(read(program), "main") == pytest.approx(WORK[body] * once, rel=0.05)


def test_work_of_a_recursion_is_finite() -> None:
    assert 0 < estimate_work(read(SYNTAX), "fibonacci") < 1e4


def test_work_of_monstrous_loops_is_large() -> None:
    loops = "".join(f"{'    ' * depth}for i{depth} in range(10 ** 9 * {10**30}):\n" for depth in range(1, 20))
    assert estimate_work(read(f"def main():\n{loops}{'    ' * 20}pass\n"), "main") >= 1e12
