from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import (
    Kind,
    Node,
    build_product,
    build_total,
    call,
    number,
    parameter,
    read_tree,
    variable,
    write_infix,
    write_tree,
)
from evodiverse.tasks.equations.parsing import find_terms, parse_equation
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.skeleton import read_skeleton
from evodiverse.vocabulary import Hypothesis

XV = ("x", "v")
GOLDEN = Path(__file__).parents[2] / "golden"
GRAMMAR = Grammar(XV, frozenset({"x"}))


def one_form(expression: str) -> str:
    return read_skeleton(f"def equation(x, v, params):\n    return {expression}\n", XV).source


def draw(seed: int) -> Node:
    """A random tree whose parameters are numbered as they come."""
    tree = GRAMMAR.draw(Kind.REAL, 6, 0, np.random.default_rng(seed))
    return tree if tree.n_parameters() <= 10 else variable("x")


def values(tree: Node, params: Any, inputs: Any) -> Any:
    scope: dict[str, Any] = {"np": np}
    exec(write_tree(tree, XV), scope)  # noqa: S102
    with np.errstate(all="ignore"):
        return np.broadcast_to(scope["equation"](*inputs, params), inputs.shape[1]).astype(float)


def simplified(expression: str) -> str:
    source = write_tree(simplify(read_tree(one_form(expression))), XV)
    return read_skeleton(source, XV).source.partition("return ")[2].strip()


@pytest.mark.parametrize(
    "expression",
    [
        "-params[0] * x ** 2 / (v - 1.5)",
        "np.where((x > 0) & ~(v <= params[0]), np.hypot(x, v), np.pi)",
        "np.clip(x, -1, params[0]) % 2",
    ],
)
def test_a_tree_is_written_as_it_was_read(expression: str) -> None:
    tree = read_tree(one_form(expression))
    assert read_tree(read_skeleton(write_tree(tree, XV), XV).source) == tree


def test_every_law_can_be_read_and_written() -> None:
    for name in PROBLEMS:
        names = tuple(variable.name for variable in PROBLEMS[name].variables)
        source = read_skeleton(PROBLEMS[name].skeleton, names).source
        assert read_skeleton(write_tree(read_tree(source), names), names).source == source, name


def test_locals_are_put_in_where_they_are_used() -> None:
    source = read_skeleton("def equation(x, v, params):\n    y = params[0] * x\n    return y + np.sin(y)\n", XV).source
    assert read_tree(source) == read_tree(one_form("params[0] * x + np.sin(params[0] * x)"))


def test_places_tell_conditions_and_exponents_from_numbers() -> None:
    tree = read_tree(one_form("np.where(x > 0, x ** 2, v)"))
    assert [kind for _, _, kind in tree.places()] == [
        *(Kind.REAL, Kind.CONDITION, Kind.REAL, Kind.REAL),
        *(Kind.REAL, Kind.REAL, Kind.EXPONENT, Kind.REAL),
    ]
    for path, node, _ in tree.places():
        assert tree.put(path, node) == tree


def test_another_trees_parameters_are_made_different() -> None:
    tree = call("add", parameter(0), parameter(3))
    assert tree.next_parameter() == 4
    assert tree.shift_parameters(4) == call("add", parameter(4), parameter(7))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("params[0] * (params[1] * x)", "params[0] * x"),
        ("x / params[0]", "params[0] * x"),
        ("-(params[0] * x) - v", "-v + params[0] * x"),
        ("params[0] * x + params[1] * x + x", "params[0] * x"),
        ("params[0] + np.exp(params[1]) * 3", "params[0]"),
        ("params[0] * (params[1] * x + params[2] * v)", "params[0] * v + params[1] * x"),
        ("params[0] * (x + params[1]) + params[2] * (x + params[3])", "params[0] * x + params[1]"),
        ("params[0] * np.exp(params[1] * x + params[2])", "params[0] * np.exp(params[1] * x)"),
        ("params[0] * x / (params[1] + params[2] * x)", "params[0] * x / (x + params[1])"),
        ("params[0] * (params[1] * x + params[2]) ** 2", "params[0] * (x + params[1]) ** 2"),
        ("-2 * (params[0] * x + params[1]) ** 3", "(params[0] * x + params[1]) ** 3"),
        ("x * v / x + x - x", "v"),
        ("2 * (x + v) - x", "2 * v + x"),
        ("x * x ** 2 * v ** -1", "x ** 3 / v"),
        ("np.abs(np.exp(x))", "np.exp(x)"),
        ("0 * x + v", "v"),
        ("x ** 0 + np.sin(v) ** 1", "np.sin(v) + 1"),
        ("v * (-x) ** 2", "x ** 2 * v"),
        ("v * (-x) ** 3", "-(x ** 3 * v)"),
        ("v / (-x) ** 2", "v / x ** 2"),
        ("1 / 0 + x", "1 / 0 + x"),
    ],
)
def test_what_a_fit_cannot_tell_apart_is_said_once(expression: str, expected: str) -> None:
    assert simplified(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "params[0] * v + params[0] * x",  # one parameter in two places is a constraint
        "params[0] * (v + x)",
        "(v + params[0]) * (x + params[1])",
        "params[0] * np.sin(params[1] * x)",
        "-(params[0] * x + params[1]) ** 2",  # is nowhere above zero
    ],
)
def test_what_a_fit_can_tell_apart_stays(expression: str) -> None:
    assert simplified(expression) == expression


@given(st.integers(0, 2**32))
def test_simplifying_once_is_enough(seed: int) -> None:
    tree = simplify(draw(seed))
    assert simplify(tree) == tree
    assert tree.n_parameters() <= draw(seed).n_parameters()


@example(12721)
@given(st.integers(0, 2**32))
def test_without_parameters_the_values_stay(seed: int) -> None:
    tree = draw(seed)
    for path, node, _ in list(tree.places()):
        if node.operation == "parameter":
            tree = tree.put(path, number(1.25))
    inputs = np.random.default_rng(seed).uniform(0.5, 2, (2, 8))
    try:
        before = values(tree, np.ones(0), inputs)
    except ZeroDivisionError:  # constants alone, of which Python makes no infinity: it has no values to keep
        reject()
    after = values(simplify(tree), np.ones(0), inputs)
    known = np.isfinite(before) & (np.abs(before) < 1e6)
    scale = 1 + np.abs(before[known]).max(initial=0)
    assert np.all(np.abs(after[known] - before[known]) <= 1e-6 * scale) or _is_ill_conditioned(tree, inputs)


def _is_ill_conditioned(tree: Node, inputs: Any) -> bool:
    """Whether rounding of the inputs alone changes the values."""
    moved = values(tree, np.ones(0), inputs * (1 + 1e-13))
    return not np.allclose(moved, values(tree, np.ones(0), inputs), rtol=1e-7, equal_nan=True)


@given(st.integers(0, 2**32))
def test_whatever_a_tree_can_say_a_simpler_one_can(seed: int) -> None:
    """Shown where the simpler one is linear in its parameters, so that they can be solved for exactly."""
    tree = draw(seed)
    simpler = read_skeleton(write_tree(simplify(tree), XV), XV)
    if len(simpler.linear) < simpler.n_params:
        return
    rng = np.random.default_rng(seed)
    inputs, params = rng.uniform(0.5, 2, (2, 40)), rng.uniform(0.5, 2, tree.n_parameters())
    said = values(tree, params, inputs)
    if not np.isfinite(said).all() or np.abs(said).max() > 1e6:
        return
    base = read_tree(simpler.source)
    offset = values(base, np.zeros(simpler.n_params), inputs)
    columns = [values(base, unit, inputs) - offset for unit in np.eye(simpler.n_params)]
    design = np.stack(columns, axis=1) if columns else np.zeros((40, 0))
    if not np.isfinite(design).all():
        return
    solved = np.linalg.lstsq(design, said - offset, rcond=None)[0]
    assert np.abs(design @ solved + offset - said).max() <= 1e-6 * (1 + np.abs(said).max())


@given(st.integers(0, 2**32))
@example(77980)  # a power whose last digit is another if numpy computes it of single numbers
def test_an_expression_has_the_values_that_python_gives_it(seed: int) -> None:
    tree, columns = draw(seed), {"x": np.linspace(0.1, 2, 9), "v": np.linspace(-2, 2, 9)}
    params = np.linspace(0.5, 1.7, 20).tolist()
    scope: dict[str, Any] = {"np": np}
    exec(write_tree(tree, XV), scope)  # noqa: S102
    numbers: dict[object, int] = {}
    for _, node, _ in tree.places():
        if node.operation == "parameter":
            numbers.setdefault(node.value, len(numbers))
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(scope["equation"](*columns.values(), params), 9)
    own = [0.0] * 20
    for value, at in numbers.items():
        own[int(str(value))] = params[at]
    has_scalar_power = any(node.operation == "power" and node.is_constant for _, node, _ in tree.places())
    rtol = 1e-9 if has_scalar_power else 0
    np.testing.assert_allclose(np.broadcast_to(tree.evaluate(columns, own), 9), expected, rtol=rtol, atol=0)


@given(st.integers(0, 2**32))
@example(536161)  # a term that begins with a power in parentheses
def test_what_a_person_reads_is_what_is_computed(seed: int) -> None:
    tree, columns = draw(seed), {"x": np.linspace(0.1, 2, 9), "v": np.linspace(-2, 2, 9)}
    params = [0.5, -1.25, 2.0, -0.75] * 5
    names = {name: getattr(np, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "absolute", "where")}
    names |= {"less": np.less, "greater": np.greater}
    with np.errstate(all="ignore"):
        read = np.broadcast_to(eval(write_infix(tree, params), {**names, **columns}), 9)  # noqa: S307
        np.testing.assert_allclose(read, np.broadcast_to(tree.evaluate(columns, params), 9), rtol=1e-9)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("params[0] * x + params[1]", "-1.5 * x + 2"),
        ("x + params[0] * v", "x - 1.5 * v"),
        ("x ** params[0]", "x**(-1.5)"),
        ("x - (v - x)", "x - (v - x)"),
        ("x / (v * x)", "x / (v * x)"),
        ("-(x + v)", "-(x + v)"),
        ("np.exp(-x) * 1.23456789", "exp(-x) * 1.23456789"),
        ("x ** 0.3333333333333333 - 0.333", "x**(1 / 3) - 0.333"),
    ],
)
def test_an_equation_is_read_without_parentheses_that_it_can_do_without(expression: str, expected: str) -> None:
    assert write_infix(read_tree(one_form(expression)), [-1.5, 2.0]) == expected


@given(st.integers(0, 2**32))
def test_terms_and_factors_put_together_again_have_the_same_values(seed: int) -> None:
    tree = draw(seed)
    columns = {"x": np.linspace(0.3, 2, 20), "v": np.linspace(1.5, 0.4, 20)}
    params = np.linspace(0.5, 1.5, 10).tolist()
    expected = tree.evaluate(columns, params)
    scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    again = build_total([build_product(term.factors()) for term in tree.terms()])
    assert again.evaluate(columns, params) == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale, nan_ok=True)


def test_what_is_subtracted_or_divided_by_is_a_term_or_factor_too() -> None:
    source = one_form("x * v / (params[0] * x) - (v - x)")
    first, *others = read_tree(source).terms()
    assert [(sign, factor.text) for sign, factor in first.factors()] == [
        (1, "variable x"),
        (1, "variable v"),
        (-1, "parameter 0"),
        (-1, "variable x"),
    ]
    assert [term.text for term in others] == ["negative(variable v)", "negative(negative(variable x))"]


def test_canonical_forms_keys_and_simplified_forms_are_those_of_earlier_versions() -> None:
    lines = []
    for name, problem in PROBLEMS.items():
        names = [variable.name for variable in problem.variables]
        parsed = parse_equation(problem.skeleton, names)
        assert isinstance(parsed, Hypothesis)
        simple = write_tree(simplify(read_tree(parsed.genotype)), tuple(names))
        terms = " ".join(sorted(find_terms(simple)))
        lines += [f"{name} {parsed.key}", *parsed.genotype.splitlines(), *simple.splitlines()[1:], f"    {terms}"]
    assert lines == (GOLDEN / "equations.txt").read_text().splitlines()
