import pytest
import sympy

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.equations.in_sandbox.formula import drive, drive_all, round_numbers, translate
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.report import write_latex
from evodiverse.tasks.equations.skeleton import FUNCTIONS, read_skeleton

XV = ("x", "v")


def one_form(expression: str) -> str:
    return read_skeleton(f"def equation(x, v, params):\n    return {expression}\n", XV).source


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_law_has_the_values_that_sympy_gives(name: str) -> None:
    problem = PROBLEMS[name]
    inputs = problem.sample(problem).train.inputs[:3]
    expression = translate(
        read_skeleton(problem.skeleton, [one.name for one in problem.variables]).source, problem.constants
    )
    symbols = [sympy.Symbol(one.name, real=True) for one in problem.variables]
    for row, expected in zip(inputs, problem.evaluate(inputs), strict=True):
        value = expression.subs(dict(zip(symbols, map(float, row), strict=True)))
        assert float(value) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("expression", "params", "expected"),
    [
        ("params[0] * x", [2.0000001], "a = 2 x"),
        ("params[0] * x ** 2 + params[1]", [0.123456, -1e-7], "a = 0.1235 x^{2} - 1.0 \\cdot 10^{-7}"),
        ("np.where(x > params[0], x, -x)", [0.5], None),
        ("np.exp(-params[0] * x) * np.sqrt(v)", [1.5], "a = \\sqrt{v} e^{- 1.5 x}"),
        ("x * v / x", [], "a = v"),
        ("params[0] * +x", [3.0], "a = 3 x"),
    ],
)
def test_an_equation_is_shown_with_rounded_constants(
    expression: str, params: list[float], expected: str | None
) -> None:
    latex = drive(None, "a", one_form(expression), params, True)
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
    equations = [(one_form(expression), [-2.0, 1.0]) for expression in (unwritable, "params[0] * x")]
    assert drive_all(None, "a", equations) == [None, ["a = - 2 x", "-2*x"]]


def test_names_become_greek_letters_words_and_indices() -> None:
    names = ("beta", "strain", "x_0", "v2", "S")
    source = read_skeleton(f"def equation({', '.join(names)}, params):\n    return {' * '.join(names)}\n", names).source
    latex = drive(None, "sigma_max", source, [], False)
    assert latex.startswith(r"\sigma_{\mathrm{max}} = ")
    assert all(part in latex for part in (r"\beta", r"\mathrm{strain}", "x_{0}", "v_{2}", "S"))


EXOTIC = {"exp2", "sinc", "deg2rad", "rad2deg", "fmod"}
EXOTIC |= {"logical_xor", "equal", "not_equal"}


def test_names_of_any_characters_can_be_set_in_type() -> None:
    latex = drive(None, "yield_50 %", one_form("x"), [], False)
    assert latex == r"\mathrm{yield}_{\mathrm{50 \%}} = x"
    assert drive(None, "é", one_form("x"), [], False) == r"\mathrm{é} = x"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_functions_are_shown_or_refused_by_name(name: str) -> None:
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
            drive(None, "a", source, [], False)
    else:
        assert drive(None, "a", source, [], False).startswith("a = ")


def test_numbers_inside_functions_are_rounded_too() -> None:
    x = sympy.Symbol("x")
    assert str(round_numbers(sympy.sin(sympy.Float(1.00000001) * x))) == "sin(x)"


def test_what_sympy_cannot_end_is_given_up() -> None:
    sandbox = ProcessSandbox()
    try:
        tower = one_form("9 ** (9 ** (9 ** 9)) * x")
        assert write_latex("a", tower, [], sandbox) is None
        assert write_latex("a", one_form("params[0] * x"), [3.0], sandbox) == "a = 3 x"
    finally:
        sandbox.close()
