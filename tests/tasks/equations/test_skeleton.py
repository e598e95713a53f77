import ast
from textwrap import indent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.skeleton import SkeletonError, find_function, read_skeleton
from tests.tasks.clock import MAX_SECONDS, cpu_seconds

XT = ("x", "t")


def read(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return read_skeleton(f"def equation(x, t, params):\n{lines}\n", XT).source


def body_of(source: str) -> str:
    return "; ".join(line.strip() for line in source.splitlines()[1:])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return params[3] * x + params[1]", "return params[0] * x + params[1]"),
        ('"""Says much."""\nreturn params[0] * np.sin(x)', "return params[0] * np.sin(x)"),
        ("import numpy as np\na: float = params[0]\nreturn a * x", "a = params[0]; return a * x"),
        ("a, b = params[:2]\nreturn a * x + b", "a = params[0]; b = params[1]; return a * x + b"),
        ("a, b = params[2], x\nreturn a * b", "a = params[0]; b = x; return a * b"),
        ("y = params[0]\nfor i in range(2):\n    y += params[i + 1] * x ** i\nreturn y", None),
        ("unused = params[0] * t\nreturn params[1] * x", "return params[0] * x"),
        ("return x\nreturn t", "return x"),
        ("return np.where((x > 0) & (t < 1), abs(x), np.pi)", "return np.where((x > 0) & (t < 1), np.abs(x), np.pi)"),
        ("x = x + 1\nreturn x * params[0]", "x_ = x + 1; return x_ * params[0]"),
    ],
)
def test_a_skeleton_has_one_form(body: str, expected: str | None) -> None:
    source = read(body)
    assert read_skeleton(source, XT).source == source
    if expected is not None:
        assert body_of(source) == expected


def test_arguments_in_another_order_mean_the_same() -> None:
    swapped = read_skeleton("def equation(params, t, x):\n    return params[0] * x - t\n", XT).source
    assert swapped == read_skeleton("def f(x, t, params):\n    return params[0] * x - t\n", XT).source
    renamed = read_skeleton("def f(position, when, p):\n    return p[0] * position - when\n", XT).source
    assert renamed == swapped


def test_a_constant_array_takes_a_parameter() -> None:
    assert body_of(read("return np.full_like(x, params[0])")) == "return params[0] * np.ones_like(x)"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            (
                "def v0(x, t, params):\n    return params[0] * x\n"
                "def equation(x, t, params):\n    return v0(x, t, params) + params[1] * t\n"
            ),
            "return params[0] * x + params[1] * t",
        ),
        (
            (
                "def spring(x, k):\n    force = -k * x\n    return force\n"
                "def equation(x, t, params):\n    force = t\n    return force + spring(x**2, params[0])\n"
            ),
            "force = t; x_ = x ** 2; k = params[0]; force_ = -k * x_; return force + force_",
        ),
        (
            (
                "def hill(x, n=2):\n    return x**n / (1 + x**n)\n"
                "def equation(x, t, params):\n    return hill(x) + params[0] * hill(t, 3)\n"
            ),
            "return x ** 2 / (1 + x ** 2) + params[0] * (t ** 3 / (1 + t ** 3))",
        ),
        (
            (
                "def twice(x):\n    return x + x\ndef v0(x, t, params):\n    return params[0] * twice(x)\n"
                "def equation(x, t, params):\n    rest = params[1:]\n    return params[0] * v0(x, t, rest)\n"
            ),
            "return params[0] * (params[1] * (x + x))",
        ),
        (
            (
                "def tail(q):\n    return q[0] + q[1]\n"
                "def equation(x, t, params):\n    y = params[0] * x\n    for i in range(2):\n"
                "        y += tail(params[2 * i + 1:])\n    return y\n"
            ),
            None,
        ),
        (
            (
                "from numpy import exp\nimport math\n"
                "def equation(x, t, params):\n    return exp(x) + math.atan(t) + np.pow(x, 2) + max(x, t) * params[0]\n"
            ),
            "return np.exp(x) + np.arctan(t) + np.power(x, 2) + np.maximum(x, t) * params[0]",
        ),
    ],
)
def test_calls_of_other_functions_are_inlined(program: str, expected: str | None) -> None:
    skeleton = read_skeleton(program, XT)
    if expected is not None:
        assert body_of(skeleton.source) == expected
    assert read_skeleton(skeleton.source, XT) == skeleton
    inputs, params = np.random.default_rng(0).uniform(0.5, 2, (2, 4)), np.arange(1.0, 11)
    results = []
    for source in (program, skeleton.source):
        scope: dict[str, Any] = {"np": np}
        exec(source, scope)  # noqa: S102
        scope |= {"max": np.maximum, "math": np}  # which take arrays
        results.append(scope["equation"](*inputs, params))
    np.testing.assert_allclose(results[1], results[0])


@pytest.mark.parametrize(
    "body",
    [
        "a, b = x, t\na, b = b, a\nreturn a + 10 * b",
        "a, b = x, t\na, b = a + b, a - b\nreturn a + 10 * b",
        "x, t = t, x\nreturn x + 10 * t",
        "x_ = 2 * x\nx = x + 1\nreturn x_ + 10 * x",
        "x = x + 1\nx_ = 2 * x\nreturn x_ + 10 * x",
        "np_ = x\nequation = t\nequation_ = np_ + 1\nreturn equation + 10 * equation_",
        "for i in range(3):\n    x, t = t + i, x\nreturn x + 10 * t",
    ],
)
def test_a_skeleton_computes_what_the_program_does(body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    program = f"def equation(x, t, params):\n{lines}"
    results = []
    for source in (program, read(body)):
        scope: dict[str, object] = {"np": np}
        exec(source, scope)  # noqa: S102
        results.append(scope["equation"](3.0, 5.0, []))  # type: ignore[operator]
    assert results[0] == results[1]


def test_loops_are_unrolled() -> None:
    source = read("y = params[0]\nfor i in range(2):\n    y += params[i + 1] * x ** i\nreturn y")
    scope: dict[str, object] = {"np": np}
    exec(source, scope)  # noqa: S102
    assert scope["equation"](3.0, 0.0, [1.0, 10.0, 100.0]) == 1 + 10 + 300  # type: ignore[operator]
    assert "for" not in source


def test_arguments_are_known_by_their_place() -> None:
    source = read_skeleton("def equation_v3(pos: float, time, p) -> float:\n    return p[0] * pos - time\n", XT).source
    assert source == "def equation(x, t, params):\n    return params[0] * x - t\n"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("import os\nreturn x", "line 2: a statement of the kind Import"),
        ("y = x\nreturn os.system('ls')", "line 3: a call of os.system"),
        ("return np.mean(x)", "line 2: np.mean is not a function that works element by element"),
        ("return np.sin(x, t)", "line 2: np.sin takes 1 argument, got 2"),
        ("return params[10] * x", "line 2: params\\[10\\], but at most 10 parameters may be used"),
        ("return params[-1] * x", "an integer is expected"),
        ("return params * x", "params without an index"),
        ("return y", "line 2: y, which is not a variable"),
        ("if x > 0:\n    return x\nreturn t", "line 2: a statement of the kind If"),
        ("while True:\n    pass", "a statement of the kind While"),
        ("for i in range(10 ** 9):\n    pass\nreturn x", "an integer is expected"),
        ("for i in range(999):\n    pass\nreturn x", "a loop of 999 iterations"),
        ("x.real = 3\nreturn x", "an assignment to x.real"),
        ("return x.__class__", "x.__class__"),
        ("return [x]", "line 2"),
        ("return 'a'", "line 2"),
        ("return 1e999", "the number inf"),
        ("return True", "True"),
        ("return 0 < x < 1", "line 2"),
        ("return (lambda: x)()", "line 2"),
        ("y = x", "returns nothing"),
        ("return x +", "line 2"),
    ],
)
def test_what_is_no_skeleton_is_refused_with_its_line(body: str, complaint: str) -> None:
    with pytest.raises(SkeletonError, match=complaint):
        read(body)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("", "no function"),
        ("def equation(x, params):\n    return x\n", "the arguments must be x, t, params"),
        ("def equation(x, t, *params):\n    return x\n", "any number of arguments"),
        ("class Equation:\n    pass\n", "no function"),
        ("def equation(x, t, params):\n    return " + "(" * 500 + "x" + ")" * 500, "."),
        ("def equation(x, t, params):\n    return " + "-" * 30_000 + "x", "characters"),
        ("def equation(x, t, params):\n    return " + " + ".join(["x"] * 3_000), "operations|nested|Recursion"),
        ("\0", "."),
        ("def equation(x, t, params):\n    for i in range(0, 5, 0):\n        x = x\n    return x\n", "line 2: range"),
        ("def equation(x, t, params):\n    for i in range():\n        x = x\n    return x\n", "line 2: range"),
        (
            "def equation(x, t, params):\n    for i in range(0, 1, 1, 1):\n        x = x\n    return x\n",
            "line 2: range",
        ),
        (
            f"def equation(x, t, params):\n    for i in range({'999 * ' * 9}999):\n        x = x\n    return x\n",
            "line 2: range",
        ),
        ("def f(x, n=y):\n    return x\ndef equation(x, t, params):\n    return f(x)\n", "line 4: f has a default"),
        ("def equation(x, t, params):\n    return " + "abs(" * 99 + "x + x" + ")" * 99, "line 2: nested more than 100"),
        (
            "def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\ndef equation(x, t, params):\n    return f(x)\n",
            "f calls",
        ),
        (
            "def f(x, t):\n    return x\ndef equation(x, t, params):\n    return f(x)\n",
            "line 4: f takes 2 arguments, got 1",
        ),
        ("def f(x):\n    x + 1\ndef equation(x, t, params):\n    return f(x)\n", "line 2"),
        ("def f(x):\n    pass\ndef equation(x, t, params):\n    return f(x)\n", "f returns nothing"),
        ("def equation(x, t, params):\n    return f(x)\n", "line 2: a call of f"),
        (
            "def f0(x):\n    return x * x\n"
            + "".join(f"def f{n}(x):\n    return f{n - 1}(x) + f{n - 1}(x)\n" for n in range(1, 40))
            + "def equation(x, t, params):\n    return f39(x)\n",
            "operations",
        ),
    ],
)
def test_hostile_programs_are_refused(source: str, complaint: str) -> None:
    with pytest.raises(SkeletonError, match=complaint):
        read_skeleton(source, XT)


def nest(n_loops: int, inner: str, before: str = "", n_turns: int = 20) -> str:
    """An equation with loops inside each other."""
    loops = "".join(f"{' ' * depth}for i{depth} in range({n_turns}):\n" for depth in range(1, n_loops + 1))
    indented = "".join(f"{' ' * (n_loops + 1)}{line}\n" for line in inner.splitlines())
    return f"{before}def equation(x, t, params):\n{loops}{indented} return x\n"


# Each is read again and again in loops, without ever making an operation.
IDLE = {
    "pass": nest(12, "pass"),
    "a docstring": nest(12, "'again'"),
    "an import": nest(12, "import numpy as np"),
    "another name for the parameters": nest(12, "p = params"),
    "loops without turns": nest(3, "for j in range(0):\n pass\n" * 500),
    "a long index": nest(4, f"p = params[{' * '.join(['(' + ' + '.join(['1'] * 90) + ' - 90)'] * 40)}:]"),
    "long bounds": nest(4, f"for j in range({' + '.join(['0'] * 80)}):\n pass"),
    "names for nothing": nest(4, f"({'(), ' * 2_000}) = ({'(), ' * 2_000})"),
    "calls of a function of many arguments": nest(
        2,
        f"x = f({', '.join(['params'] * 1_200)})",
        f"def f({', '.join(f'a{at}' for at in range(1_200))}):\n return 1\n",
    ),
    "calls that call each other": nest(
        1,
        "x = f0(params)",
        "".join(f"def f{at}(p):\n for i in range(20):\n  p = p\n return f{at + 1}(p)\n" for at in range(20))
        + "def f20(p):\n for i in range(20):\n  for j in range(20):\n   p = p\n return p[0]\n",
    ),
}


@pytest.mark.parametrize("program", IDLE.values(), ids=IDLE)
def test_loops_that_compute_nothing_are_refused_at_once(program: str) -> None:
    def read() -> None:
        with pytest.raises(SkeletonError, match="more than 20,000 statements and loop iterations"):
            read_skeleton(program, XT)

    assert cpu_seconds(read) < MAX_SECONDS


def equation(body: str) -> str:
    return f"def equation(x, t, params):\n{indent(body, ' ')}\n"


def product(n_factors: int) -> str:
    """A whole number of three digits a factor, read without much depth."""
    return " * ".join([f"({' * '.join(['999'] * 40)})"] * (n_factors // 40))


LONG = "a" * 6_000
TURN = "for i in range({0}, {0} + 1):\n x = i\nreturn x"
# At the bounds of what is read: operations, depth, characters, numbers.
LARGE = {
    "all operations": nest(2, "x = x + params[0]", n_turns=18),
    "deep": equation(f"return {'abs(' * 98}x{')' * 98}"),
    "arrays of a constant in each other": equation(f"return {'np.full_like(' * 97}x{', x)' * 97}"),
    "arrays of a constant": nest(2, "x = np.full_like(x, t)", n_turns=19),
    "locals of a function that is called often": nest(2, "x = f(x)", "def f(x):\n a = x\n return a\n"),
    "long names in such a function": nest(2, "x = f(x)", f"def f(x):\n {LONG} = x\n return {LONG}\n"),
    "long names": equation(f"{LONG} = x\nfor i in range(20):\n {LONG} = {LONG} + i\nreturn {LONG}"),
    "numbers that are written longer": nest(2, "x = 1e15 + x + x", n_turns=19),
    "turns below zero": equation("for i in range(0 - 9, 9):\n x = x + t * i\nreturn x"),
    "a turn that cannot be written": equation(TURN.format(product(1_500))),
    "a large turn": equation(TURN.format(product(120))),
    "a large index": equation(f"return params[{product(1_600)}]"),
    "a number that cannot be written": equation(f"return 0x{'f' * 9_000}"),
    "a number that cannot be shown": equation(f"return x[0x{'f' * 9_000}]"),
}


@pytest.mark.parametrize("program", LARGE.values(), ids=LARGE)
def test_what_is_accepted_can_be_read_again_and_what_is_not_is_refused_at_once(program: str) -> None:
    def read() -> None:
        try:
            skeleton = read_skeleton(program, XT)
        except SkeletonError:
            return
        assert read_skeleton(skeleton.source, XT) == skeleton

    assert cpu_seconds(read) < MAX_SECONDS


def test_a_turn_below_zero_keeps_its_sign_in_a_power() -> None:
    source = read("y = x\nfor i in range(1 - 3, 0):\n    y = y + i ** 2\nreturn y")
    assert body_of(source) == "y = x; y = y + (-2) ** 2; y = y + (-1) ** 2; return y"


def test_a_function_may_be_given_a_turn_as_an_index() -> None:
    program = (
        "def at(p, place):\n    return p[place + 2]\n"
        "def equation(x, t, params):\n    for i in range(0 - 2, 1):\n        x = x + at(params, i)\n    return x\n"
    )
    source = read_skeleton(program, XT).source
    assert body_of(source) == "x_ = x + params[0]; x_ = x_ + params[1]; x_ = x_ + params[2]; return x_"


@pytest.mark.parametrize(
    ("expression", "linear"),
    [
        ("params[0] * x + params[1]", {0, 1}),
        ("params[0] * np.sin(params[1] * x)", {0}),
        ("params[0] * x * params[1]", {1}),
        ("x / params[0] + params[1] / t", {1}),
        ("np.where(params[0] > x, params[1] * x, -params[2])", {1, 2}),
        ("(params[0] + params[1] * x) * np.exp(-params[2] * t)", {0, 1}),
        ("params[0] ** 2 * x", set()),
    ],
)
def test_parameters_that_can_be_solved_for_are_found(expression: str, linear: set[int]) -> None:
    skeleton = read_skeleton(f"def equation(x, t, params):\n    return {expression}\n", XT)
    assert set(skeleton.linear) == linear


EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "t", "2.0", "params[0]", "params[1]", "params[2]", "params[3]"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda text: f"np.sin({text})"),
        inner.map(lambda text: f"-{text}"),
        st.tuples(inner, inner).map(lambda two: f"np.where(x > 0, {two[0]}, {two[1]})"),
    ),
    max_leaves=10,
)


@given(EXPRESSIONS, st.integers(0, 1_000))
def test_a_skeleton_is_linear_in_what_is_said_to_be(expression: str, seed: int) -> None:
    skeleton = read_skeleton(f"def equation(x, t, params):\n    return {expression}\n", XT)
    scope: dict[str, object] = {"np": np}
    exec(skeleton.source, scope)  # noqa: S102
    rng = np.random.default_rng(seed)
    x, t, start = rng.normal(size=5), rng.normal(size=5), rng.normal(size=skeleton.n_params)
    step = np.zeros(skeleton.n_params)
    step[list(skeleton.linear)] = rng.normal(size=len(skeleton.linear))
    with np.errstate(all="ignore"):
        low, middle, high = (scope["equation"](x, t, start + by * step) for by in (-1, 0, 1))  # type: ignore[operator]
        scale = 1 + np.abs(low) + np.abs(middle) + np.abs(high)
        bend = np.abs(low + high - 2 * middle)
    assert np.all((bend <= 1e-9 * scale) | ~np.isfinite(scale))


def test_the_builtin_laws_are_skeletons() -> None:
    for name, problem in PROBLEMS.items():
        skeleton = read_skeleton(problem.skeleton, [variable.name for variable in problem.variables])
        assert skeleton.n_params == len(problem.constants), name
        assert ast.parse(skeleton.source), name


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "def f(x, t, params):\n    def g(x):\n        return x\n    return x\ndef h(x, t, params):\n    return t\n",
            "h",
        ),
        ("def h(x, t, params):\n    def g(x):\n        return x\n    return t\n", "h"),
        ("class A:\n    def h(self):\n        return 1\n", "h"),
        ("class A:\n    def equation(self):\n        return 1\ndef h(x):\n    return x\n", "equation"),
        (
            "def equation(x):\n    def equation(t):\n        return 1\n    return x\ndef h(x):\n    return x\n",
            "equation",
        ),
    ],
)
def test_the_function_of_a_program_is_an_outer_one_if_possible(source: str, expected: str) -> None:
    tree = ast.parse(source)
    found = find_function(tree, "equation")
    assert found.name == expected
    assert found in tree.body or not any(isinstance(one, ast.FunctionDef) and one.name == expected for one in tree.body)
