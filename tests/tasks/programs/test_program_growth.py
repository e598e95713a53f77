"""Programs grow and shrink by arithmetic on names that are certainly bound."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evodiverse.tasks.programs.operators.growth import GROWTH
from evodiverse.tasks.programs.operators.names import undefined_names
from evodiverse.tasks.programs.operators.numeric import places_in
from evodiverse.tasks.programs.operators.operator import EDITS as ALL
from evodiverse.tasks.programs.operators.syntax import functions_of, write_program
from tests.runs import rows, run_here
from tests.tasks.programs.builders import write
from tests.tasks.programs.samples import GENERIC, SEED, read, tried

pytestmark = pytest.mark.slow

PROGRAMS = {**GENERIC, "packing": SEED}
EDITS = {kind: edit for kind, (edit, _) in GROWTH.items()}
LINE = "def priority(time, weight, now, until_next):\n    return time\n"


def children(source: str, kind: str, count: int = 60) -> Iterator[str]:
    tree = read(source)
    for seed in range(count):
        child = tried(EDITS[kind], tree, np.random.default_rng(seed))
        if child is not None:
            yield write_program(child)
    assert ast.dump(tree) == ast.dump(read(source))


def bodies(source: str, kind: str, count: int = 400) -> set[str]:
    """Return what children of a function have below its header, on one line each."""
    return {"; ".join(line.strip() for line in child.splitlines()[1:]) for child in children(source, kind, count)}


def names_at_hand(source: str, name: str = "f") -> dict[str, set[str]]:
    """Return the names at hand at each place of a function, by the text of the place."""
    tree = read(source)
    index = tree.body.index(functions_of(tree)[name])
    found = places_in(functions_of(tree)[name], ("body", index), tree)
    return {ast.unparse(place.node): {one for one, _ in place.names} for place in found}


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_children_compile_and_read_nothing_undefined(kind: str, name: str) -> None:
    made = list(children(PROGRAMS[name], kind))
    assert made
    for child in made:
        compile(child, "child", "exec")
        assert undefined_names(read(child)) <= undefined_names(read(PROGRAMS[name]))


@given(st.integers(0, 2**32 - 1), st.lists(st.sampled_from(sorted(EDITS)), min_size=4, max_size=12))
@settings(deadline=None)
def test_chains_read_nothing_undefined(seed: int, kinds: list[str]) -> None:
    rng, tree = np.random.default_rng(seed), read(GENERIC["bins"])
    before = undefined_names(tree)
    for kind in kinds:
        tree = tried(EDITS[kind], tree, rng) or tree
        compile(write_program(tree), "child", "exec")
        assert undefined_names(tree) <= before


def test_equal_generators_have_equal_children() -> None:
    assert [*children(SEED, "bind")] == [*children(SEED, "bind")]


def test_an_expression_is_joined_with_an_operand() -> None:
    made = bodies(LINE, "grow", 2000)
    assert {"return time / weight", "return weight / time", "return now - time", "return time * until_next"} <= made
    assert {"return min(time, now)", "return abs(time)", "return abs(time) ** 0.5"} <= made
    assert any(" if time < weight else " in one for one in made)
    numbers = [part.value for one in made for part in ast.walk(ast.parse(one[7:])) if isinstance(part, ast.Constant)]
    assert min(numbers) < 0.05
    assert max(numbers) > 50


def test_a_module_with_numpy_is_given_functions_of_arrays() -> None:
    made = "\n".join(children("import numpy as xp\n\n\ndef f(x, y):\n    return x\n", "grow", 600))
    assert all(name in made for name in ("xp.minimum(", "xp.maximum(", "xp.where(", "xp.exp(-", "xp.log1p(xp.abs("))
    assert not any(f" {name}(" in made or " if " in made for name in ("min", "max", "abs"))


def test_a_module_with_math_is_given_its_functions() -> None:
    made = "\n".join(children("import math\n\n\ndef f(x, y):\n    return x\n", "grow", 600))
    assert all(name in made for name in ("math.sqrt(abs(", "math.exp(-", "math.log1p(abs("))


def test_a_term_is_added_to_a_returned_value_alone() -> None:
    source = "def f(x, y):\n    z = x * 2\n    return z, [y]\n"
    for child in bodies(source, "term"):
        first, last = child.split("; ")
        assert first == "z = x * 2"
        assert last.startswith(("return (z + ", "return (z - ", "return (z, [y + ", "return (z, [y - "))


def test_a_new_name_is_bound_before_the_statement_that_reads_it() -> None:
    source = "def f(x, value_1):\n    if x > 1:\n        x = x - value_1\n    return x\n"
    for child in children(source, "bind"):
        compile(child, "child", "exec")
        names = [node for node in ast.walk(ast.parse(child)) if isinstance(node, ast.Name) and node.id == "value_2"]
        assert sum(isinstance(node.ctx, ast.Store) for node in names) == 1
        assert sum(isinstance(node.ctx, ast.Load) for node in names) >= 1


def test_an_operand_takes_the_place_of_another() -> None:
    made = bodies(LINE, "operand")
    assert {"return weight", "return now", "return until_next"} <= made
    assert "return time" not in made
    assert all(isinstance(ast.parse(one[7:], mode="eval").body, (ast.Name, ast.Constant)) for one in made)


def test_an_operand_takes_the_place_of_its_expression() -> None:
    source = "def f(a, b, c):\n    return min(a, b * c) if a < b else -c\n"
    assert bodies(source, "shrink") == {
        "return min(a, b * c)",
        "return -c",
        "return a if a < b else -c",
        "return b * c if a < b else -c",
        "return min(a, b) if a < b else -c",
        "return min(a, c) if a < b else -c",
        "return min(a, b * c) if a < b else c",
    }
    assert bodies(LINE, "shrink") == set()


def test_names_are_at_hand_where_they_are_certainly_bound() -> None:
    source = """
RATE = 0.5
LABEL = "rate"
LATE = 2.0

def f(a, *rest, b=1, **options):
    LATE = a * 10
    c = a * 11
    if a > 12:
        d = a * 13
        e = a * 14
    elif b:
        d = a * 15
    else:
        return a * 16
    for g in range(3):
        h = a * 17
        i = [a * j for j in rest]
    del c
    return a * 18
"""
    found = names_at_hand(source)
    start = {"a", "b", "RATE"}
    assert found["a * 10"] == start
    assert found["a * 11"] == start | {"LATE"}
    assert found["a * 13"] == found["a * 15"] == found["a * 16"] == start | {"LATE"}
    assert found["a * 14"] == start | {"LATE", "d"}
    assert found["a * 17"] == start | {"LATE", "d", "g"}
    assert found["a * j"] == start | {"LATE", "d", "g", "h", "j"}
    assert found["a * 18"] == start | {"LATE", "d"}


def test_what_is_not_a_number_is_neither_an_operand_nor_a_place() -> None:
    source = """
def f(rng, items, x):
    text = "a" + str(x)
    names = []
    draw = rng.normal()
    table = {1: x}
    names.append(x)
    return text, x * draw
"""
    found = names_at_hand(source)
    assert found["x * draw"] == {"items", "x", "draw"}
    assert not {"text", "'a' + str(x)", "[]", "{1: x}"} & found.keys()


def test_names_that_are_computed_with_are_preferred() -> None:
    source = "def f(items, x, y):\n    for item in items:\n        x = x + item\n    return x\n"
    rate = Counter(
        body.split("; ")[-1] for body in (";".join(c.splitlines()[1:]) for c in children(source, "operand", 3000))
    )
    drawn = {name: sum(n for body, n in rate.items() if body.endswith(f"return {name}")) for name in ("items", "y")}
    assert drawn["y"] > 3 * drawn["items"]


def test_loops_with_while_sizes_indices_and_what_declares_its_scope_stay() -> None:
    source = """
import numpy as np

def f(n, values):
    while n > 1:
        n = n - 1
    size = n + 2
    grid = np.zeros((size, 3 + n))
    for k in range(n * 4):
        grid[k + 5] += 1

def g(x):
    global total
    total = x + 6
    return total
"""
    for kind in EDITS:
        for child in children(source, kind, 200):
            for text in ("while n > 1:\n        n = n - 1", "size = n + 2", "np.zeros((size, 3 + n))", "range(n * 4)"):
                assert text in child
            assert "grid[k + 5] += " in child
            assert "def g(x):\n    global total\n    total = x + 6\n    return total\n" in child


@pytest.mark.parametrize("source", ["x = 1\n", "def f():\n    pass\n", "def f(x):\n    return 'text'\n"])
@pytest.mark.parametrize("kind", EDITS)
def test_a_program_without_numbers_does_not_grow(source: str, kind: str) -> None:
    assert list(children(source, kind, 10)) == []


def test_all_kinds_are_mutations_of_any_program_and_none_of_them_is_most() -> None:
    share = sum(weight for _, weight in GROWTH.values())
    assert share < sum(weight for _, weight in ALL.values()) / 2


TARGET = """
    ENTRY_POINT = "priority"
    ROWS = [[1 + 7 * i % 11, 1 + 3 * i % 7, 5 * i % 13, 2 * i % 5] for i in range(30)]
    ARGUMENTS = [ROWS]

    def drive(priority, rows):
        return [priority(*row) for row in rows]

    def score(result):
        wanted = [time / weight + now for time, weight, now, _ in ROWS]
        errors = [abs(found - one) for found, one in zip(result, wanted, strict=True)]
        return 1 / (1 + sum(errors) / len(errors))
"""


def test_a_search_makes_progress_from_a_program_of_one_line(tmp_path: Path) -> None:
    evaluator, start = write(tmp_path, "evaluator.py", TARGET), write(tmp_path, "start.py", LINE)
    named = [f"task.evaluator={evaluator}", f"task.initial.path={start}", f"outputs={tmp_path}"]
    one_process = ["evaluator.workers=1", "task.score_timeout=null"]
    run = run_here("task=program", "method=graph_ga", "budget.oracle_calls=120", *one_process, *named)
    scores = [row["score"] for row in rows(run, "evaluations") if row["call"] is not None]
    assert len(scores) == 120
    assert max(scores) > 1.2 * scores[0] > 0
