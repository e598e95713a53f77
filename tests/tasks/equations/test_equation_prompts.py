"""How a model is asked for an equation, and how its answer is read."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.equations.problems import PROBLEMS, Variable
from evodiverse.tasks.equations.prompts import EquationPrompts, read_chosen
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, read_skeleton
from evodiverse.vocabulary import Candidate, Prompt, Reason, Rejection, Request, Stream

TARGET = Variable("a", "acceleration")
VARIABLES = (Variable("x", "position"), Variable("v", ""))
SOURCES = (
    "def equation(x, v, params):\n    return params[0] * x\n",
    "def equation(x, v, params):\n    drag = params[0] * v\n    return drag + params[1] * x\n",
    "def equation(x, v, params):\n    return np.sin(x)\n",
)


def candidate(call: int, error: float) -> Candidate:
    return Candidate(call, SOURCES[call - 1], f"key {call}", -error, error)


WORST, BEST = candidate(2, 1.5), candidate(1, 1 / 3)


def request(*parents: Candidate, prompt: Prompt = Prompt.COLD) -> Request:
    return Request(1, 0, 0, 1, parents or (BEST, WORST), prompt, Stream(0, 4))


UNIT = "in units of the target's variance"


def build(folder: str | None, target: Variable, variables: Sequence[Variable], unit: str = UNIT) -> EquationPrompts:
    return EquationPrompts(read_chosen(folder), target, variables, unit)


def prompts(
    folder: Path | None = None, target: Variable = TARGET, variables: tuple[Variable, ...] = VARIABLES
) -> EquationPrompts:
    return build(None if folder is None else str(folder), target, variables)


def text(*parents: Candidate) -> str:
    return prompts().messages(request(*parents))[1].content


def system(target: Variable = TARGET, variables: tuple[Variable, ...] = VARIABLES) -> str:
    return prompts(target=target, variables=variables).messages(request())[0].content


CODE = '''```python
import numpy as np


def equation_v0(x, v, params):
    """Mean squared error 1.5 in units of the target's variance."""
    drag = params[0] * v
    return drag + params[1] * x


def equation_v1(x, v, params):
    """Mean squared error 0.333333 in units of the target's variance."""
    return params[0] * x


def equation_v2(x, v, params):
    """An equation that fits better than `equation_v1`."""
```'''


def test_the_model_is_asked_to_continue_the_parents_from_the_worst_to_the_best() -> None:
    assert re.findall("```.*```", text(), re.DOTALL) == [CODE]
    assert text(WORST, BEST) == text(BEST, WORST)
    assert text().endswith("\n\nAnswer with the whole function `equation_v2` in one code block, and with nothing else.")


def test_the_order_of_parents_that_are_equally_good_is_that_of_their_calls() -> None:
    one, other = candidate(1, 0.5), candidate(2, 0.5)
    assert text(one, other) == text(other, one)
    assert text(one, other).index(SOURCES[0][28:]) < text(one, other).index(SOURCES[1][28:])


def test_there_may_be_one_parent_or_many() -> None:
    assert re.findall(r"def (\w+)", text(BEST)) == ["equation_v0", "equation_v1"]
    many = text(BEST, WORST, candidate(3, 0.0))
    assert re.findall(r"def (\w+)", many) == ["equation_v0", "equation_v1", "equation_v2", "equation_v3"]
    assert "Mean squared error 0 in units" in many


def test_errors_have_six_digits_and_their_unit() -> None:
    templates = read_chosen(None)
    raw = EquationPrompts(templates, TARGET, VARIABLES, "in (m/s^2)^2")
    whole = raw.messages(request(candidate(1, 1.23456789e-9)))[1].content
    assert '"""Mean squared error 1.23457e-09 in (m/s^2)^2."""' in whole
    bare = EquationPrompts(templates, TARGET, VARIABLES, "")
    assert '"""Mean squared error 0.333333."""' in bare.messages(request())[1].content


def test_all_pools_are_asked_alike() -> None:
    assert prompts().messages(request(prompt=Prompt.HOT)) == prompts().messages(request(prompt=Prompt.COLD))


def test_the_target_is_named_with_its_meaning_if_there_is_one() -> None:
    assert "\n\na: acceleration\n\nfrom the variables\n\n- x: position\n- v\n\n" in system()
    assert f"up to {MAX_PARAMS} free constants" in system()


def test_every_builtin_problem_can_be_asked_for() -> None:
    for name, problem in PROBLEMS.items():
        asked = request(Candidate(1, problem.skeleton, "key", -0.5, 0.5))
        whole = build(None, problem.target, problem.variables).messages(asked)
        assert f"{problem.target.name}: {problem.target.meaning}\n" in whole[0].content, name
        assert problem.law in whole[1].content, name


@pytest.mark.parametrize("meaning", ["$target ${x} $$ $", "{x} {0} %s \\1", '"""\n```\ncode', " a\n\n\tb\r\u2028c "])
def test_a_meaning_may_hold_anything_and_has_one_line(meaning: str) -> None:
    line = " ".join(meaning.split())
    shown = system(Variable("a", meaning), (Variable("x", meaning), Variable("v", "")))
    assert f"\na: {line}\n" in shown
    assert f"\n- x: {line}\n- v\n" in shown


def test_an_answer_may_call_the_parents_by_the_names_that_it_was_shown() -> None:
    equation = "def equation(x, v, params):\n    return equation_v0(x, v, params) + params[2]\n"
    reply = f"```python\n{equation.replace('equation(', 'equation_v2(', 1)}```"
    assert prompts().read(request(), reply) == f"{SOURCES[1].replace('equation', 'equation_v0')}\n\n{equation}"


def test_the_name_that_was_asked_for_takes_precedence() -> None:
    other = "def equation_v3(x, v, params):\n    return v\n"
    read = prompts().read(request(), f"def equation_v2(x, v, params):\n    return x\n\n\n{other}")
    assert read == "def equation(x, v, params):\n    return x\n"
    assert prompts().read(request(BEST, WORST, candidate(3, 0.1)), other) == other.replace("_v3", "")


def test_a_body_that_continues_where_the_prompt_ends_is_read() -> None:
    assert prompts().read(request(), "    return params[0] * v\n") == (
        "def equation(x, v, params):\n    return params[0] * v\n"
    )


@pytest.mark.parametrize(
    ("reply", "instead"),
    [
        ("", "no function"),
        ("I cannot help.", "no function"),
        (CODE, "equation_v1 is an earlier function, unchanged"),
        ("```python\nlambda x, v, params: x\n```", "a lambda without a name"),
        ("def equation_v2(x, v, params):\n    print(x)", "the function equation_v2 returns nothing"),
    ],
)
def test_an_answer_that_proposes_nothing_is_rejected_with_what_it_has_instead(reply: str, instead: str) -> None:
    expected = Rejection(Reason.NO_ANSWER, f"the reply proposes nothing: {instead}")
    assert prompts().read(request(), reply) == expected


@pytest.mark.parametrize("n_variables", [1, 2, 9, 12])
def test_the_example_is_a_skeleton_in_its_one_form_that_a_reply_can_hold(n_variables: int) -> None:
    names = [f"x{number}" for number in range(n_variables)]
    asked = prompts(variables=tuple(Variable(name, "") for name in names))
    assert read_skeleton(asked.example, names).source == asked.example
    assert asked.read(request(), f"So:\n\n```python\n{asked.example}```") == asked.example


def test_a_prompt_that_is_continued_is_a_program_with_the_answer_in_it() -> None:
    program = CODE.removeprefix("```python\n").removesuffix("```") + "    return params[0] * x + v\n"
    ast.parse(program)
    assert prompts().read(request(), program) == "def equation(x, v, params):\n    return params[0] * x + v\n"


def write_templates(folder: Path, **texts: str) -> Path:
    for name, content in {"system": "$target $variables", "task": "$earlier $header", **texts}.items():
        (folder / f"{name}.txt").write_text(content)
    return folder


def test_a_users_own_templates_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_templates(tmp_path, system="$target\n$variables!\n", task="$$5 $name\n$header|$earlier\n")
    asked, user = build("~", TARGET, VARIABLES).messages(request(BEST))
    assert (asked.role, asked.content) == ("system", "a: acceleration\n- x: position\n- v!")
    lines = user.content.splitlines()
    assert (user.role, lines[:2]) == ("user", ["$5 equation_v1", "def equation_v1(x, v, params):"])
    assert lines[2] == '    """An equation that fits better than `equation_v0`."""|def equation_v0(x, v, params):'


def test_texts_that_differ_have_another_digest(tmp_path: Path) -> None:
    shipped, mine = prompts().sha256, prompts(write_templates(tmp_path)).sha256
    assert mine == prompts(write_templates(tmp_path)).sha256
    edited = prompts(write_templates(tmp_path, task="$earlier $header!")).sha256
    meaning = prompts(target=Variable("a", "force")).sha256
    unit = build(None, TARGET, VARIABLES, "in squared units of the target").sha256
    assert len({shipped, mine, edited, meaning, unit}) == 5


def test_all_violations_in_templates_are_reported(tmp_path: Path) -> None:
    write_templates(tmp_path, system="$target $variable 5$$", task="$header 5$")
    own = f"task.prompts.dir: {tmp_path}"
    known = "$target, $target_name, $variables, $variable_names, $max_params"
    with pytest.raises(InputError) as refused:
        prompts(tmp_path)
    assert list(refused.value.violations) == [
        f"{own}/system.txt has the unknown field $variable; expected {known}",
        f"{own}/task.txt has a $ without the name of a field; write $$ for the character itself",
    ]


@pytest.mark.parametrize("folder", ["/nowhere", "~nobody-has-this-name/prompts"])
def test_a_missing_folder_is_named(folder: str) -> None:
    with pytest.raises(InputError, match=f"task.prompts.dir: cannot read {re.escape(folder)}/system.txt"):
        build(folder, TARGET, VARIABLES)


# The shape of LLM-SR's prompt, which the paper uses, in words of our own: one message, the functions decorated and
# typed, each below its number and score, and the first with a docstring that lists its arguments.
LIKE_THE_PAPERS = {
    "system": "",
    "variable": "        $variable: An array of values of $variable.\n",
    "task": "Write down a function for $target_name from $variable_names.\n\n$earlier\n\n\n$header\n",
    "first": '''(Function $number, score $score)
@equation.search
def equation($typed_arguments) -> np.ndarray:
    """A function for $target_name.

    Args:
$variables
        params: An array of constants.
    """
$body
''',
    "version": '''(Function $number, score $score)
@equation.search
def $name($typed_arguments) -> np.ndarray:
    """Better than `$previous`."""
$body
''',
    "header": '''@equation.search
def $name($typed_arguments) -> np.ndarray:
    """Better than `$previous`."""
''',
}
ASKED = '''Write down a function for a from x, and v.

(Function 0, score -1.5)
@equation.search
def equation(x: np.ndarray, v: np.ndarray, params: np.ndarray) -> np.ndarray:
    """A function for a.

    Args:
        x: An array of values of x.
        v: An array of values of v.
        params: An array of constants.
    """
    drag = params[0] * v
    return drag + params[1] * x


(Function 1, score -0.333333)
@equation.search
def equation_v1(x: np.ndarray, v: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Better than `equation_v0`."""
    return params[0] * x


@equation.search
def equation_v2(x: np.ndarray, v: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Better than `equation_v1`."""'''


def test_a_prompt_of_the_papers_shape_can_be_written(tmp_path: Path) -> None:
    own = prompts(write_templates(tmp_path, **LIKE_THE_PAPERS))
    (message,) = own.messages(request())
    assert (message.role, message.content) == ("user", ASKED)
    reply = '''@equation.search
def equation_v2(x: np.ndarray, v: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Better than `equation_v1`."""
    a = params[0] * np.sin(x)
    return a
'''
    assert own.read(request(), reply) == "def equation(x, v, params):\n    a = params[0] * np.sin(x)\n    return a\n"
    assert (
        own.read(request(), "    return params[0] * v\n") == "def equation(x, v, params):\n    return params[0] * v\n"
    )


def test_what_a_folder_leaves_out_is_as_shipped_but_the_first_function_is_as_the_others(tmp_path: Path) -> None:
    write_templates(tmp_path, system="$target $variables", task="$earlier\n$header")
    shown = prompts(tmp_path).messages(request())[1].content
    assert shown.startswith('def equation_v0(x, v, params):\n    """Mean squared error 1.5 in')
    write_templates(tmp_path, version="$name $score $arguments\n$body")
    assert prompts(tmp_path).messages(request())[1].content.startswith("equation_v0 -1.5 x, v, params\n    drag")


@pytest.mark.parametrize("told", ["$variables", "$variable_names"])
def test_templates_must_say_what_is_to_be_explained_and_by_what(tmp_path: Path, told: str) -> None:
    write_templates(tmp_path, system="A law.", task=f"{told} $earlier $header")
    with pytest.raises(InputError) as refused:
        prompts(tmp_path)
    (line,) = refused.value.violations
    assert line == f"task.prompts.dir: {tmp_path} must use $target or $target_name in system.txt or task.txt"


def test_a_function_that_is_shown_needs_its_arguments_and_its_body(tmp_path: Path) -> None:
    write_templates(tmp_path, version="$name")
    with pytest.raises(InputError) as refused:
        prompts(tmp_path)
    problems = ["is missing $arguments or $typed_arguments", "is missing $body"]
    assert list(refused.value.violations) == [f"task.prompts.dir: {tmp_path}/version.txt {one}" for one in problems * 2]
