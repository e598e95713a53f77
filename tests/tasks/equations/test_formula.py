import re
from collections.abc import Sequence
from typing import Any

import pytest
import sympy

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.equations.in_sandbox.formula import drive, shorten_numbers, translate
from evodiverse.tasks.equations.operators.trees import read_tree
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.report import _constants, _to_lists, write_formulas
from evodiverse.tasks.equations.skeleton import FUNCTIONS, read_skeleton

XV = ("x", "v")


def one_form(expression: str) -> str:
    return read_skeleton(f"def equation(x, v, params):\n    return {expression}\n", XV).source


def parts(source: str, params: Sequence[float]) -> list[Any]:
    return _to_lists(read_tree(source).replace_parameters(_constants(params)))


def show(target: str, source: str, params: list[float]) -> str:
    """Return an equation in LaTeX."""
    ((latex, _),) = drive(None, target, [parts(source, params)])
    return latex


def test_every_law_has_the_values_that_sympy_gives() -> None:
    for name, problem in PROBLEMS.items():
        inputs = problem.sample().train.inputs[:3]
        source = read_skeleton(problem.skeleton, [one.name for one in problem.variables]).source
        expression = translate(parts(source, problem.constants))
        symbols = [sympy.Symbol(one.name, real=True) for one in problem.variables]
        for row, expected in zip(inputs, problem.evaluate(inputs), strict=True):
            value = expression.subs(dict(zip(symbols, map(float, row), strict=True)))
            assert float(value) == pytest.approx(expected, rel=1e-9), name


@pytest.mark.parametrize(
    ("expression", "params", "expected"),
    [
        ("params[0] * x", [2.0], "a = 2 x"),
        ("params[0] * x", [2.0000001], "a = 2.0000001 x"),
        ("params[0] * x", [0.12345678901234568], "a = 0.12345678901234568 x"),
        ("3 * (params[0] * x)", [0.1], "a = 0.3 x"),  # in floats, this is 0.30000000000000004
        ("params[0] * (x / params[1])", [2.5, 0.7], "a = 3.5714 x"),
        ("v * x ** (1 / 3)", [], "a = v \\sqrt[3]{x}"),
        ("params[0] * x ** 2 + params[1]", [0.1235, -1e-7], "a = 0.1235 x^{2} - 1.0 \\cdot 10^{-7}"),
        ("np.where(x > params[0], x, -x)", [0.5], None),
        ("np.exp(-params[0] * x) * np.sqrt(v)", [1.5], "a = \\sqrt{v} e^{- 1.5 x}"),
        ("x * v / x", [], "a = v"),
        ("params[0] * +x", [3.0], "a = 3 x"),
    ],
)
def test_an_equation_is_shown_with_the_digits_that_its_constants_have(
    expression: str, params: list[float], expected: str | None
) -> None:
    latex = show("a", one_form(expression), params)
    assert latex.startswith("a = ")
    assert expected is None or latex == expected


@pytest.mark.parametrize(
    "unwritable",
    [
        "x * np.sqrt(params[0]) ** 21",
        "x * params[0] ** (1 / (params[1] - 1))",
        "x * 1e200 ** 30",
        "np.sinc(x)",
    ],
)
def test_an_equation_that_sympy_cannot_write_does_not_affect_the_others(unwritable: str) -> None:
    equations = [parts(one_form(expression), [-2.0, 1.0]) for expression in (unwritable, "params[0] * x")]
    assert drive(None, "a", equations) == [None, ["a = - 2 x", "-2*x"]]


def test_names_become_greek_letters_words_and_indices() -> None:
    names = ("beta", "strain", "x_0", "v2", "S")
    source = read_skeleton(f"def equation({', '.join(names)}, params):\n    return {' * '.join(names)}\n", names).source
    latex = show("sigma_max", source, [])
    assert latex.startswith(r"\sigma_{\mathrm{max}} = ")
    assert all(part in latex for part in (r"\beta", r"\mathrm{strain}", "x_{0}", "v_{2}", "S"))


def test_names_of_several_letters_are_kept_apart() -> None:
    source = read_skeleton(
        "def equation(dose, ka, sex, params):\n    return params[0] * dose * ka * sex / (dose * ka)**params[1]\n",
        ("dose", "ka", "sex"),
    ).source
    assert re.search(r"\}\s*\\mathrm", show("c", source, [2.5, 0.7])) is None
    assert show("c", read_skeleton(source, ("dose", "ka", "sex")).source, [2.0, 0.0]) == (
        r"c = 2 \cdot \mathrm{dose} \cdot \mathrm{ka} \cdot \mathrm{sex}"
    )


EXOTIC = {"exp2", "sinc", "deg2rad", "rad2deg", "fmod"}
EXOTIC |= {"logical_xor"}


def test_names_of_any_characters_can_be_set_in_type() -> None:
    latex = show("yield_50 %", one_form("x"), [])
    assert latex == r"\mathrm{yield}_{\mathrm{50 \%}} = x"
    assert show("é", one_form("x"), []) == r"\mathrm{é} = x"


def test_numpys_functions_are_shown_or_refused_by_name() -> None:
    for name in FUNCTIONS:
        is_conjunction = name.startswith("logical")
        arguments = ", ".join(
            ["x > 0" if name == "where" or is_conjunction else "x", "v > 0" if is_conjunction else "v", "x"][
                : FUNCTIONS[name]
            ]
        )
        called = f"np.{name}({arguments})"
        is_condition = is_conjunction or name.startswith(("less", "greater", "equal", "not"))
        source = one_form(f"np.where({called}, x, v)" if is_condition else called)
        if name in EXOTIC:
            with pytest.raises(ValueError, match=rf"np\.{name}.* has no counterpart in sympy"):
                translate(parts(source, []))
        else:
            assert show("a", source, []).startswith("a = "), name


def test_numbers_inside_functions_are_shortened_too() -> None:
    x = sympy.Symbol("x")
    assert str(shorten_numbers(sympy.sin(sympy.Float(1.00000001) * x), 7)) == "sin(x)"


def test_names_of_several_letters_do_not_run_together() -> None:
    names = ("dose", "sex")
    source = read_skeleton("def equation(dose, sex, params):\n    return params[0] * dose * sex\n", names).source
    assert show("y", source, [2.5]) == r"y = 2.5 \cdot \mathrm{dose} \cdot \mathrm{sex}"
    assert show("y", one_form("params[0] * x * v"), [2.5]) == "y = 2.5 v x"


def test_what_sympy_cannot_end_is_given_up() -> None:
    sandbox = ProcessSandbox()
    try:
        tower = one_form("9 ** (9 ** (9 ** 9)) * x")
        equations = [(tower, []), (one_form("params[0] * x"), [3.0])]
        assert write_formulas("a", equations, sandbox) == [None, ("a = 3 x", "3*x")]
    finally:
        sandbox.close()
