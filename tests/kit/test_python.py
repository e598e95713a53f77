"""Parsing of Python source code that others wrote."""

import ast
import gc
import runpy
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evodiverse.kit.python import MAX_MARKS, parse, parse_quietly
from tests.tasks.clock import MAX_SECONDS, cpu_seconds

ABOVE, BELOW = "\N{COMBINING ACUTE ACCENT}", "\N{COMBINING CEDILLA}"


CALLS = {
    "of a script": ("found = find_unguarded()", 2),
    "in a function": ("def work():\n    return find_unguarded()\n\nfound = work()", 5),
    "in a loop": ("for _ in range(1):\n    found = find_unguarded()", 3),
    "under another condition": ("if True:\n    found = find_unguarded()", 3),
    "below a guard": ("if __name__ == '__main__':\n    found = find_unguarded()", None),
    "below a guard within": (
        "try:\n    if '__main__' == __name__:\n        found = find_unguarded()\nfinally: pass",
        None,
    ),
    "of a function below a guard": (
        "def work():\n    return find_unguarded()\nif __name__ == '__main__': found = work()",
        None,
    ),
    "in a thread": ("from threading import Thread\nfound = None\nThread(target=find_unguarded).start()", None),
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_call_that_an_import_of_the_script_repeats_is_found(kind: str, tmp_path: Path) -> None:
    text, line = CALLS[kind]
    script = tmp_path / "script.py"
    script.write_text(f"from evodiverse.kit.python import find_unguarded\n{text}\n")
    found = runpy.run_path(str(script), run_name="__main__")["found"]
    assert found == (None if line is None else f"{script}, line {line}")


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


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads alternate as often as they can, even while Python builds a syntax tree."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()

    def pause(phase: str, info: dict[str, int]) -> None:
        """Give other threads an opportunity to run: Python code is where threads alternate."""

    gc.callbacks.append(pause)
    gc.set_threshold(20)
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(pause)


@pytest.mark.slow
@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("function", [parse, parse_quietly])
def test_threads_may_parse_at_the_same_time(function: Callable[[str], ast.Module]) -> None:
    terms = "+".join(f"params[{number}] * np.exp(A * ({number} + A * (2 + A)))" for number in range(60))
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(function, [f"def equation(A, params):\n    return {terms}\n"] * 40))
    assert len({len(list(ast.walk(tree))) for tree in trees}) == 1
