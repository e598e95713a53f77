"""How an equation is found in a model's reply."""

import ast
from functools import partial
from textwrap import dedent, indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.equations.prompts.replies import MAX_CHARACTERS, read_reply
from evodiverse.vocabulary import Reason, Rejection
from tests.tasks.clock import is_read_in_time

XV = ("x", "v")
EARLIER = {
    "equation_v0": "def equation(x, v, params):\n    return params[0] * x\n",
    "equation_v1": "def equation(x, v, params):\n    return params[0] * x + params[1] * v\n",
}
BODY = "drag = params[0] * v\nreturn drag + params[1] * x"
INDENTED = indent(BODY, "    ")
FUNCTION = f"def equation_v2(x, v, params):\n{INDENTED}\n"
SHOWN = "".join(source.replace("equation", name) for name, source in EARLIER.items())
EQUATION = FUNCTION.replace("equation_v2", "equation")
SPLIT = "(\n    params[0]\n    * v\n)"


def read(reply: str, variables: tuple[str, ...] = XV) -> str | Rejection:
    return read_reply(reply, variables, EARLIER, f"equation_v{len(EARLIER)}")


def same(read_source: str | Rejection, expected: str) -> bool:
    """Whether both are the same program, however it is formatted."""
    assert isinstance(read_source, str), read_source
    return ast.dump(ast.parse(read_source)) == ast.dump(ast.parse(dedent(expected)))


def fenced(code: str, info: str = "python") -> str:
    return f"```{info}\n{code}\n```\n"


def law(name: str, value: str, arguments: str = "x, v, params") -> str:
    return f"def {name}({arguments}):\n    return {value}\n\n\n"


OTHER = FUNCTION.replace("drag", "x")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(FUNCTION, id="the function alone"),
        pytest.param(f"A damped spring:\n\n{FUNCTION}\nIt's short (and physical.\n", id="between prose, unfenced"),
        pytest.param(f"A damped spring:\n{FUNCTION}# Why\nIt's short.\n", id="prose without empty lines"),
        pytest.param(fenced(FUNCTION), id="fenced"),
        pytest.param(fenced(FUNCTION, ""), id="fenced, no language"),
        pytest.param(fenced(FUNCTION, "python title='law.py' {1,3}"), id="fenced, strange language"),
        pytest.param(f"~~~python\n{FUNCTION}~~~\n", id="fenced by tildes"),
        pytest.param(f"````\n```python\n{FUNCTION}```\n````\n", id="fence in a fence"),
        pytest.param(f"Here:\n{fenced(FUNCTION)}Isn't it (nice?", id="fenced between prose"),
        pytest.param(f"Here: ```python\n{FUNCTION.rstrip()}``` as you asked.", id="fence in a line of prose"),
        pytest.param(f"```python\n{FUNCTION}", id="fence never closed"),
        pytest.param(f"```python\n{FUNCTION}\nThis law is a damped spring's.\n", id="fence never closed, then prose"),
        pytest.param(f"```python\nx = 1\n```python\n{FUNCTION}```", id="fence opened twice"),
        pytest.param(f"{FUNCTION}```\n", id="fence closed only"),
        pytest.param(f"1. The law:\n\n{indent(fenced(FUNCTION), '   ')}", id="indented fence"),
        pytest.param(f"1. The law:\n\n{indent(FUNCTION, '   ')}\nThat's it.", id="indented, unfenced"),
        pytest.param(f"<think>\n{FUNCTION.replace('drag', 'x')}\n</think>\n{fenced(FUNCTION)}", id="after thoughts"),
        pytest.param(f"{FUNCTION.replace('drag', 'x')}\n</think>{FUNCTION}", id="after thoughts that begin nowhere"),
        pytest.param(f"{fenced(FUNCTION)}<think>\n{OTHER}</think>", id="before thoughts"),
        pytest.param(f"{fenced(FUNCTION)}<think>\n{OTHER}", id="before thoughts that end nowhere"),
        pytest.param(f"<think>{OTHER}</think>{FUNCTION}\n<think>{OTHER}</think>", id="between thoughts"),
        pytest.param(f"<think>\n{FUNCTION}", id="in thoughts that end nowhere"),
        pytest.param(f"return the value:\n<think>\n{FUNCTION}", id="in thoughts after prose that looks like code"),
        pytest.param(f"It\u2019s:\n{FUNCTION}".replace("    ", "\u00a0" * 4), id="no-break spaces"),
        pytest.param(fenced(FUNCTION.replace("\n", "\u200b\n")), id="zero-width spaces"),
        pytest.param(fenced(FUNCTION.replace("drag", "x")) + fenced(FUNCTION), id="the last of two versions"),
        pytest.param(fenced(FUNCTION) + fenced("equation_v2(1.0, 2.0, [1, 2])"), id="a call of it afterwards"),
        pytest.param(FUNCTION.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(f"Here:\n{fenced(FUNCTION)}Isn't it (nice?".replace("\n", "\r"), id="CR"),
        pytest.param(FUNCTION.replace("    ", "\t"), id="tabs"),
    ],
)
def test_the_function_is_found_however_it_is_wrapped(reply: str) -> None:
    assert same(read(reply), EQUATION)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(INDENTED, id="indented"),
        pytest.param(BODY, id="dedented"),
        pytest.param(INDENTED.lstrip(), id="only the first line dedented"),
        pytest.param(f'"""A damped spring."""\n{INDENTED}', id="docstring first"),
        pytest.param(fenced(INDENTED), id="fenced"),
        pytest.param(fenced(BODY), id="fenced, dedented"),
        pytest.param(fenced(INDENTED.lstrip()), id="fenced, only the first line dedented"),
        pytest.param(f"```{INDENTED.lstrip()}```", id="fenced in line"),
        pytest.param(f"{INDENTED}\n```\nThat closes the function.", id="fence closed only"),
        pytest.param(f"{INDENTED}\n\nThis function isn't linear (in x.\n", id="then prose"),
        pytest.param(f"{BODY}\nThis function isn't linear (in x.\n", id="dedented, then prose"),
        pytest.param(f"{INDENTED.lstrip()}\n\nThis isn't linear.\n", id="only the first line dedented, then prose"),
        pytest.param(f"It's this body:\n{INDENTED}\n", id="after prose"),
        pytest.param(f"The law is\n\na = -k x - c v\n\nIt's this body:\n\n{BODY}\n\nThat's it", id="between formulas"),
        pytest.param(f"<think>return x</think>\n\n{INDENTED}\n", id="after thoughts"),
        pytest.param(INDENTED.replace("\n", "\n\n    # the spring\n"), id="with a comment"),
        pytest.param(
            INDENTED.replace("drag + params[1] * x", "(\n        drag\n    + params[1] * x\n)\nSo it is"), id="brackets"
        ),
        pytest.param(f"{BODY.replace('params[0] * v', SPLIT)}\nIt's (so.", id="statement of several lines, then prose"),
        pytest.param(fenced('def equation_v2(x, v, params):\n    """A law."""') + fenced(INDENTED), id="header apart"),
    ],
)
def test_a_body_without_its_header_is_completed(reply: str) -> None:
    assert same(read(reply), EQUATION)


def test_minus_signs_and_quotes_of_print_are_read() -> None:
    printed = FUNCTION.replace("+", "\u2212").replace(":\n", ":\n    \u201c\u201c\u201cA law.\u201d\u201d\u201d\n")
    assert same(read(printed), EQUATION.replace("+", "-"))


def test_a_loop_at_the_beginning_of_a_body_keeps_its_block() -> None:
    body = "for i in range(3):\n    x = x + params[i] * v\nreturn x"
    assert same(read(body), f"def equation(x, v, params):\n{indent(body, '    ')}")


WHOLE = f'''
import numpy as np
from scipy.optimize import minimize

N = 10


{SHOWN}
@np.vectorize
def equation_v2(x: np.ndarray, v: "array" = None, params: list[float] = np.ones(10)) -> np.ndarray:
    """Return the acceleration.

    Args:
        x: Position.
    """
{INDENTED}


def test_equation():
    print(equation_v2(1.0, 2.0, [1.0, 2.0]))


def evaluate(params, data):
    return np.mean((equation_v2(data["x"], data["v"], params) - data["a"]) ** 2)


if __name__ == "__main__":
    result = minimize(evaluate, np.ones(N))
    print(result.x)
'''


@pytest.mark.parametrize("reply", [WHOLE, fenced(WHOLE), f"Look:\n\n{WHOLE}\nIt's done."])
def test_of_a_whole_program_only_the_function_is_taken(reply: str) -> None:
    assert same(read(reply), EQUATION)


@pytest.mark.parametrize(
    "code",
    [
        f"class Law:\n    def equation_v2(self, x, v, params):\n{indent(INDENTED, '    ')}",
        f"class Law:\n    @classmethod\n    def equation_v2(cls, x, v, params):\n{indent(INDENTED, '    ')}",
        f"class Law:\n    @staticmethod\n    def equation_v2(x, v, params):\n{indent(INDENTED, '    ')}",
        f"class Law(Base):\n    class Inner:\n        def law(self, x, v, params):\n{indent(INDENTED, '        ')}",
    ],
)
def test_a_method_becomes_a_function(code: str) -> None:
    assert same(read(code), EQUATION)


def test_a_static_method_keeps_its_first_argument_whatever_its_name() -> None:
    code = f"class Law:\n    @staticmethod\n{indent(law('spring', 'self', 'self, v, params'), '    ')}"
    assert same(read(code), law("equation", "self", "self, v, params"))


def test_a_variable_may_be_called_self() -> None:
    source = "def equation(self, params):\n    return params[0] * self\n"
    assert read(source, ("self",)) == source


@pytest.mark.parametrize("annotation", ["", ": Callable"])
@pytest.mark.parametrize("wrap", [str, fenced])
def test_a_lambda_with_a_name_becomes_a_function(annotation: str, wrap: type[str]) -> None:
    code = f"equation_v2{annotation} = lambda x, v, params: (\n    params[0] * x\n    + v\n)\n"
    assert same(read(wrap(code)), "def equation(x, v, params):\n    return params[0] * x + v\n")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(law("equation_v3", "v") + law("equation_v2", "x") + law("equation", "v"), id="asked"),
        pytest.param(law("equation", "v") + law("equation_v7", "x") + law("other", "v"), id="last of the versions"),
        pytest.param(law("equation_v7", "v") + law("equation", "x") + SHOWN, id="equation itself"),
        pytest.param(SHOWN + law("spring", "x") + law("equation_v1", "v"), id="a renamed one"),
        pytest.param(law("first", "v") + law("second", "x"), id="last of two renamed ones"),
        pytest.param(law("spring", "x") + law("loss", "spring(x, y, params) - y", "params, x, y"), id="arguments"),
        pytest.param(law("spring", "x") + law("main", "spring(1, 2, [])", ""), id="number of arguments"),
        pytest.param(law("spring", "x", "position, velocity, p") + law("main", "1", ""), id="names of arguments"),
        pytest.param(SHOWN + law("equation_v1", "x"), id="an earlier one, edited"),
    ],
)
def test_the_likeliest_of_several_functions_is_chosen(code: str) -> None:
    source = read(code)
    assert isinstance(source, str)
    assert source.startswith("def equation(")
    assert source.count("def") == 1
    assert source.endswith("    return x\n")


def test_a_function_that_a_likely_one_calls_is_not_chosen() -> None:
    code = law("spring", "damping(x, v, params) * x") + law("damping", "v")
    assert same(read(code), law("damping", "v") + law("equation", "damping(x, v, params) * x"))


def test_a_function_of_other_arguments_is_still_what_the_reply_proposes() -> None:
    assert same(read(law("spring", "p[0] * x", "x, p")), law("equation", "p[0] * x", "x, p"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            law("equation_v2", "equation_v1(x, v, params) * x"),
            law("equation_v1", "params[0] * x + params[1] * v") + law("equation", "equation_v1(x, v, params) * x"),
            id="an earlier version",
        ),
        pytest.param(
            law("equation_v0", "v") + law("equation_v2", "equation_v0(x, v, params) * x"),
            law("equation_v0", "v") + law("equation", "equation_v0(x, v, params) * x"),
            id="an earlier version that is defined again",
        ),
        pytest.param(
            law("equation_v1", "equation_v1(x, v, params) * x"),
            law("equation_v1", "params[0] * x + params[1] * v") + law("equation", "equation_v1(x, v, params) * x"),
            id="an earlier version, in its edited self",
        ),
        pytest.param(
            law("equation_v2", "hill(x, 2) + hill(v)") + law("sq", "x**n", "x, n") + law("hill", "sq(x, n)", "x, n=1"),
            law("sq", "x**n", "x, n") + law("hill", "sq(x, n)", "x, n=1") + law("equation", "hill(x, 2) + hill(v)"),
            id="functions of its own, in whatever order",
        ),
        pytest.param(
            fenced(law("hill", "x / (1 + x)", "x")) + "Then:\n" + fenced("return params[0] * hill(x)"),
            law("hill", "x / (1 + x)", "x") + law("equation", "params[0] * hill(x)"),
            id="a function above a body",
        ),
        pytest.param(
            law("hill", "x / (1 + x)", "x") + "return params[0] * hill(x)",
            law("hill", "x / (1 + x)", "x") + law("equation", "params[0] * hill(x)"),
            id="a function and a body in one",
        ),
        pytest.param(
            "class Law:\n"
            + indent(law("hill", "x", "self, x") + law("equation_v2", "self.hill(v)", "self, x, v, params"), "    "),
            law("hill", "x", "x") + law("equation", "hill(v)"),
            id="a method",
        ),
        pytest.param(
            law("equation", "x") + law("hill", "equation(x)", "x") + law("equation_v2", "equation(x) + hill(x)"),
            law("equation_", "x") + law("hill", "equation_(x)", "x") + law("equation", "equation_(x) + hill(x)"),
            id="one with the name that the chosen one gets",
        ),
        pytest.param(
            law("equation_v2", "unknown(x) + np.exp(v)"),
            law("equation", "unknown(x) + np.exp(v)"),
            id="what nobody knows",
        ),
        pytest.param(
            law("one", "two(x)", "x") + law("two", "one(x) + equation_v2(x)", "x") + law("equation_v2", "one(x)"),
            law("two", "one(x) + equation_v2(x)", "x") + law("one", "two(x)", "x") + law("equation", "one(x)"),
            id="one another",
        ),
    ],
)
def test_what_a_function_calls_stands_above_it(code: str, expected: str) -> None:
    assert same(read(code), expected)


def proposes_nothing(answer: str | Rejection) -> bool:
    return isinstance(answer, Rejection) and answer.detail.startswith("the reply proposes nothing: ")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot help.",
        "The law may be a = -k x - c v, but I don't know.",
        "```python\n```",
        fenced("print(1)"),
        fenced("import numpy as np"),
        fenced("def equation_v2(x, v, params):\n    ..."),
        fenced("async def equation_v2(x, v, params):\n    return x"),
        fenced("def main():\n    print(1)"),
        SHOWN,
        f"These are\n{fenced(SHOWN)}and nothing is better.",
        f"<think>{FUNCTION}</think>",
        f"{FUNCTION}</think>",
    ],
)
def test_a_reply_without_a_function_proposes_nothing(reply: str) -> None:
    assert proposes_nothing(read(reply))


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (fenced("def equation_v2(x, v, params):\n    return x +"), "line 2: invalid syntax"),
        (fenced("def equation_v2(x, v, params)\n    return x"), "line 1: expected ':'"),
        ("So:\n\ndef equation_v2(x, v, params):\n    return (x\n\nDone.", "line 2: '(' was never closed"),
        (fenced("def equation_v2(x, v, params):\nreturn x"), "line 1: expected an indented block after function def"),
        (fenced(law("hill", "x", "x") + "def equation_v2(x, v, params):\n    return x +"), "line 2: invalid syntax"),
        (fenced(SHOWN + "def equation_v2(x, v, params):\n    a = ="), "line 2: invalid syntax"),
        (fenced("a = = 3\nreturn a"), "line 1: invalid syntax"),
        (fenced("def équation(x):\n    return 1 ≤ x"), "line 2: invalid character '≤' (U+2264)"),
        (fenced(law("equation_v2", "(" * 500 + "x" + ")" * 500)), "line 2: too many nested parentheses"),
        (fenced(law("equation_v2", "'\ud800'")), "not Python (UnicodeEncodeError)"),
        (fenced(law("equation_v2", "x" + ".real" * 900)), "not Python (RecursionError)"),
        (fenced(law("equation_v2", "0x" + "f" * 5_000)), "not Python (ValueError)"),
    ],
)
def test_code_that_is_not_python_is_unparsable(reply: str, problem: str) -> None:
    answer = read(reply)
    assert isinstance(answer, Rejection)
    assert answer.reason is Reason.UNPARSABLE
    assert answer.detail.startswith(problem)


def test_only_the_end_of_a_long_reply_is_read() -> None:
    assert same(read(f"{'I think. ' * 100_000}\n{fenced(FUNCTION)}"), EQUATION)
    assert read(f"{fenced(FUNCTION)}{'I think. ' * 100_000}") == Rejection(
        Reason.NO_ANSWER, "the reply proposes nothing: no function"
    )


FLOODS = [
    *("`", "```", "```\n", "~~~\n", "def ", "def \n", "def f(x):\n return x\n", "def f(x):\n return x +\n"),
    *("class a:\n", "@f\n", "return x\n", "return (\n", "return x\n```\n", "    return x\n\t", "x = 1 +\n"),
    *("a = ", "a, ", "a: ", "=", "(", "{[", '"""', "'", "f'{", "-", "not ", "lambda: ", "x = lambda: ", "x if x else "),
    *(
        "x.",
        "x[",
        "x<",
        "x;",
        "f(",
        "f(a=",
        "f'{x}'",
        "\u0301\u0327",
        "match x:\n ",
        "<think>",
        "</think>",
        "#",
        "é",
        "\0",
        "\ud800",
    ),
    *(" ", "\t", "\n", "\r", "\r\n", "\\\n"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [("", ""), ("```\ndef f(x):\n    return ", ""), ("", f"\n{FUNCTION}")])
def test_a_flood_is_read_in_linear_time(before: str, after: str) -> None:
    def flood(unit: str, size: int) -> str:
        return before + unit * ((size - len(before) - len(after)) // len(unit)) + after

    assert [unit for unit in FLOODS if not is_read_in_time(read, partial(flood, unit), MAX_CHARACTERS)] == []


@pytest.mark.parametrize("unit", ["x", "```\n", "<think>", "</think>", "\r", "\r\n", "\n"])
def test_what_comes_before_the_end_is_passed_over_in_linear_time(unit: str) -> None:
    assert is_read_in_time(read, lambda size: unit * (size // len(unit)) + FUNCTION)


def test_functions_that_call_each_other_in_a_long_chain_are_refused() -> None:
    chain = "".join(f"def f{at}(x):return f{at + 1}(x)\n" for at in range(1_500))
    answer = read(f"{chain}{law('equation_v2', 'f0(x)')}")
    assert answer == Rejection(Reason.UNPARSABLE, "not Python (RecursionError)")


def test_blocks_nested_deeply_are_refused() -> None:
    nested = "".join(f"{' ' * depth}if x:\n" for depth in range(1, 99)) + " " * 99 + "return x"
    assert isinstance(read(f"def equation_v2(x, v, params):\n{nested}"), str | Rejection)


FRAGMENTS = [
    *FUNCTION.splitlines(keepends=True),
    *(
        "```python\n",
        "```",
        "~~~\n",
        "\n",
        "\r",
        "    ",
        "\t",
        "It's (so.\n",
        "</think>",
        "def ",
        "class A:\n",
        "return",
    ),
    *("equation = lambda x: x\n", ")", '"""', "'", "=", ":\n", "#", "\\\n", "\0", "\ud800"),
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)))
def test_whatever_a_reply_is_the_answer_is_a_program_that_ends_with_the_equation_or_a_rejection(reply: str) -> None:
    answer = read(reply)
    if isinstance(answer, str):
        last = ast.parse(answer).body[-1]
        assert isinstance(last, ast.FunctionDef)
        assert last.name == "equation"
    else:
        assert answer.reason in {Reason.NO_ANSWER, Reason.UNPARSABLE}
