"""Parsing of Python source code that others wrote."""

import ast

import pytest

from evodiverse.kit.python import MAX_MARKS, parse_quietly
from tests.tasks.clock import MAX_SECONDS, cpu_seconds

ABOVE, BELOW = "\N{COMBINING ACUTE ACCENT}", "\N{COMBINING CEDILLA}"


def test_a_name_may_have_marks() -> None:
    marked = f"e{ABOVE}" * 1_000
    (statement,) = parse_quietly(f"{marked} = 1").body
    assert isinstance(statement, ast.Assign)
    assert parse_quietly(f"# {ABOVE * MAX_MARKS} \u0928\u092e\u0938\u094d\u0924\u0947\nx").body


@pytest.mark.parametrize(
    "marks",
    [
        pytest.param(ABOVE * 25_000 + BELOW * 25_000, id="in the wrong order"),
        pytest.param((ABOVE + BELOW) * 25_000, id="in turn"),
        pytest.param("\N{HALFWIDTH KATAKANA VOICED SOUND MARK}\u0f73" * 25_000, id="that come to light in their parts"),
    ],
)
def test_a_flood_of_marks_is_refused_before_python_sorts_it(marks: str) -> None:
    def read() -> None:
        with pytest.raises(ValueError, match="more than 30 combining marks in a row"):
            parse_quietly(f"e{marks} = 1")

    assert cpu_seconds(read) < MAX_SECONDS
