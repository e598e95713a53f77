"""What a user permits: the operations of an equation, and its size."""

from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.equations.domain import build_prompts, find_violations
from evodiverse.tasks.equations.initial import initial_skeletons, read_equations
from evodiverse.tasks.equations.operators.operator import EquationOperator
from evodiverse.tasks.equations.parsing import parse_equation
from evodiverse.tasks.equations.permitted import Permitted
from evodiverse.tasks.equations.problems import Rows
from evodiverse.tasks.equations.settings import EquationSettings, OperatorSettings
from evodiverse.tasks.equations.skeleton import read_skeleton, write_function
from evodiverse.vocabulary import Candidate, Hypothesis, Prompt, Reason, Rejection, Request, Stream
from tests.tasks.equations.test_equation_operators import INPUTS, LINEAR, RICH, TARGET, XV


def find_fault(expression: str, permitted: Permitted) -> str | None:
    return permitted.find_fault(read_skeleton(write_function(XV, expression), XV).source)


@pytest.mark.parametrize(
    ("expression", "permitted", "fault"),
    [
        ("np.sin(x) + np.cos(v)", Permitted(), None),
        ("np.sin(x) + np.cos(v)", Permitted(deny=("sin",)), "it uses sin, which task.operators does not permit"),
        ("x * np.sqrt(v)", Permitted(allow=("multiply", "exp")), "it uses sqrt, which"),
        ("x - params[0] * v", Permitted(allow=("add", "multiply")), None),
        ("-x**2 * v**-1", Permitted(allow=("multiply", "divide")), None),
        ("x**2", Permitted(allow=("power",)), None),
        ("x**0.5", Permitted(allow=("multiply",)), "it uses power,"),
        ("x**-2", Permitted(allow=("multiply",)), "it uses power or divide,"),
        ("abs(x)", Permitted(deny=("fabs",)), "it uses abs,"),
        ("np.where(x > params[0], x, v)", Permitted(deny=("where",)), "it uses where, greater,"),
        ("params[0] * x + v", Permitted(max_size=5), None),
        ("params[0] * x + v", Permitted(max_size=4), "its size is 5, but task.max_size=4"),
    ],
)
def test_a_fault_names_what_is_not_permitted(expression: str, permitted: Permitted, fault: str | None) -> None:
    found = find_fault(expression, permitted)
    assert found == fault if fault is None else found is not None and found.startswith(fault)


def test_a_model_s_equation_with_a_denied_operation_is_rejected_before_it_costs_a_call() -> None:
    parsed = parse_equation(RICH, XV, Permitted(deny=("exp", "sin")))
    assert isinstance(parsed, Rejection)
    assert parsed.reason is Reason.UNPARSABLE
    assert "it uses sin, exp" in str(parsed)
    assert isinstance(parse_equation(RICH, XV), Hypothesis)


@pytest.mark.slow
@pytest.mark.parametrize(
    "permitted",
    [
        Permitted(deny=("sin", "cos", "exp", "absolute")),
        Permitted(allow=("add", "multiply", "divide")),
        Permitted(allow=("sqrt", "multiply"), max_size=12),
        Permitted(max_size=9),
    ],
)
def test_children_are_permitted(permitted: Permitted) -> None:
    operator = EquationOperator(XV, frozenset(), Rows(INPUTS, TARGET), permitted)
    start = initial_skeletons(XV, permitted)[0]
    fitted = {"params": "[1.0, 0.5, 2.0, 0.3, 1.5]"}
    parents = [Candidate(call, one, one, -1.0, 0.0, details=fitted) for call, one in ((1, start), (2, LINEAR))]
    requests = [Request(1, 0, at, 1, tuple(parents), Prompt.COLD, Stream(0, 5, 1, 0, at)) for at in range(150)]
    children = [one.genotype for one in operator.propose(requests) if one.genotype is not None]
    assert len(children) > 40
    assert {permitted.find_fault(child) for child in children} == {None}


@pytest.mark.parametrize(
    ("permitted", "expected"),
    [
        (Permitted(), ["params[0] * x + params[1] * v + params[2]"]),
        (Permitted(max_size=8), ["params[0] * x + params[1]", "params[0] * x + params[1]"]),
        (Permitted(allow=("multiply",)), ["params[0] * x", "params[0] * x"]),
        (Permitted(allow=("exp",)), ["v", "x"]),
        (Permitted(max_size=1), ["v", "x"]),
    ],
)
def test_a_search_starts_from_permitted_equations(permitted: Permitted, expected: list[str]) -> None:
    found = [source.partition("return ")[2].strip() for source in initial_skeletons(XV, permitted)]
    assert found[: len(expected)] == expected


def test_own_equations_to_start_from_must_be_permitted(tmp_path: Path) -> None:
    (tmp_path / "start.txt").write_text("params[0] * x\nnp.sin(x)\n")
    with pytest.raises(InputError, match=r"line 2 is not permitted: it uses sin"):
        read_equations(str(tmp_path / "start.txt"), XV, Permitted(deny=("sin",)))


@pytest.mark.parametrize(
    ("operators", "complaint"),
    [
        ({"deny": ["sine"]}, "task.operators.deny: sine is not an operation; did you mean sin?"),
        ({"allow": ["sqr"]}, "task.operators.allow: sqr is not an operation; did you mean sqrt?"),
        ({"allow": ["sin"], "deny": ["sin"]}, "task.operators leaves no operation; allow more, or deny fewer"),
    ],
)
def test_names_that_are_no_operations_are_refused(operators: dict[str, list[str]], complaint: str) -> None:
    settings = EquationSettings(problem="builtin/reaction3", operators=OperatorSettings(**operators))
    assert find_violations(settings) == [complaint]


def test_a_model_is_told_what_is_permitted() -> None:
    settings = EquationSettings(problem="builtin/reaction3", max_size=30, operators=OperatorSettings(deny=["sin"]))
    (system, _) = build_prompts(settings).messages(Request(1, 0, 0, 1, (), Prompt.COLD, Stream(0, 5)))
    assert "- It must not use sin.\n- It has at most 30 operations, variables, numbers" in system.content
