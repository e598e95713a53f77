"""What an equation is made of, by hand."""

import pytest

from evodiverse.tasks.equations.parsing import count_parts, find_terms, parse_equation
from evodiverse.vocabulary import Hypothesis


def source(body: str) -> str:
    read = parse_equation(f"def equation(x, v, params):\n    {body}\n", ["x", "v"])
    assert isinstance(read, Hypothesis), read
    return read.genotype


def terms(body: str) -> set[str]:
    return set(find_terms(source(body)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return params[0] * x + params[1] * v", {"x", "v"}),
        ("return params[0] * x - 3 * v + params[1]", {"x", "v"}),
        ("return params[0]", {"c"}),
        ("return x * v / params[0]", {"v*x"}),
        ("return v * params[0] * x", {"v*x"}),
        ("return x ** 2 + x ** 3 + x ** params[0]", {"x**2", "x**3", "x**c"}),
        ("return x ** -1 + x ** (-params[0])", {"x**-1", "x**c"}),
        ("return np.sin(params[0] * x + params[1])", {"sin((c + x))"}),
        ("return np.sin(params[1] + x)", {"sin((c + x))"}),
        ("return -x * np.exp(-v)", {"exp(v)*x"}),
        ("return x / v", {"x*/v"}),
        ("return v / (x / 2)", {"v*/x"}),
        ("return x + x + x", {"x"}),
        ("a = params[0] * x\n    return a + v", {"x", "v"}),
    ],
)
def test_terms_are_addends_without_their_constants(body: str, expected: set[str]) -> None:
    assert terms(body) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("return params[0] * x + v", "return v + params[0] * x"),
        ("return params[0] * x * v", "return v * x"),
        ("return x + 2.5", "return x * 7"),
    ],
)
def test_equations_that_differ_in_order_and_constants_have_the_same_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_parts_are_counted() -> None:
    assert count_parts(source("return params[0] * x + np.sin(x)")) == {"(sin(x) + x)": 1, "x": 3, "sin(x)": 1}


def test_a_skeleton_too_large_for_a_tree_is_a_term_of_its_own() -> None:
    lines = "\n    ".join(["a = x + v", *["a = a * a + x"] * 12])
    large = source(f"{lines}\n    return a")
    assert find_terms(large) == {large}
    assert count_parts(large) == {large: 1}


def test_a_long_sum_is_taken_apart_without_recursion() -> None:
    assert terms("return " + " + ".join(["x", "v"] * 45)) == {"x", "v"}
