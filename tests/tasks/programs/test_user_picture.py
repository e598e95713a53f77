"""The picture that a user's evaluator draws of the best program, and the value that it verifies."""

import logging
from fractions import Fraction
from pathlib import Path

import pytest

from evodiverse.kit.pictures import new_figure, to_png
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.user_evaluator import MAX_BYTES, UserEvaluator, lay_out_picture
from evodiverse.vocabulary import Candidate, Detail
from tests.runs import rows, run_here
from tests.tasks.programs.builders import write

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
PNG = to_png(new_figure(20)[0], ["a picture"])
DRAWING = """
    ENTRY_POINT = "main"
    COLUMNS = {"height": float, "label": str}

    def score(result):
        return 1 / (1 + abs(result)), {"height": float(result)}

    def draw(columns):
        return '<svg xmlns="http://www.w3.org/2000/svg"><text>%s</text></svg>' % columns
"""


def load(folder: Path, content: str = DRAWING) -> UserEvaluator:
    path = write(folder, "evaluator.py", content)
    return UserEvaluator(ProgramSettings(evaluator=str(path), timeout=5.0, score_timeout=None))


def returning(code: str) -> str:
    """An evaluator that returns something else as its picture."""
    return DRAWING[: DRAWING.index("return '<svg")] + f"return {code}\n"


def found(call: int = 1, **details: Detail) -> Discovery:
    return Discovery(Candidate(call, "", "k", 1.0, -1.0, details=details), 0, 0)


@pytest.mark.parametrize(
    "drawn", [SVG, SVG.encode(), f'<?xml version="1.0" encoding="utf-8"?>\n<!-- mine -->\n{SVG}', f"\n{SVG}\n"]
)
def test_an_svg_is_told_by_its_content_and_leaves_no_png(drawn: str | bytes) -> None:
    content = drawn.encode() if isinstance(drawn, str) else drawn
    assert lay_out_picture(drawn) == {"picture.svg": content, "picture.png": None}


def test_a_png_is_told_by_its_content_and_leaves_no_svg() -> None:
    assert lay_out_picture(PNG) == {"picture.png": PNG, "picture.svg": None}


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        (None, "a value of type NoneType, expected the bytes of a PNG or the text of an SVG"),
        (3, "a value of type int, expected"),
        ("", "neither a PNG nor an SVG"),
        ("<svg", "neither a PNG nor an SVG"),
        (b"GIF89a", "neither a PNG nor an SVG"),
        ('<?xml version="1.0" encoding="klingon"?>' + SVG, "neither a PNG nor an SVG"),
        ("<svg/>", "its root must be"),
        ("<html/>", "its root must be"),
        (SVG + " " * MAX_BYTES, "expected at most 5,000,000"),
    ],
)
def test_anything_else_is_not_a_picture(drawn: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lay_out_picture(drawn)


def test_a_picture_is_made_of_the_columns_and_a_column_without_a_value_is_none(tmp_path: Path) -> None:
    picture = load(tmp_path).illustrate(found(height=2.5))["picture.svg"]
    assert picture is not None
    assert "{'height': 2.5, 'label': None}" in picture.decode()


def test_an_evaluator_that_draws_nothing_has_no_files(tmp_path: Path) -> None:
    assert load(tmp_path, DRAWING[: DRAWING.index("def draw")]).illustrate(found(height=2.5)) == {}


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("1 / 0", "draw raised ZeroDivisionError: division by zero ("),
        ("exit(3)", "draw raised SystemExit: 3 ("),
        ("columns['breadth']", "draw raised KeyError: 'breadth' ("),
        ("7", "draw returned a value of type int, expected the bytes of a PNG or the text of an SVG ("),
        ("'\\ud800'", "draw returned neither a PNG nor an SVG ("),
    ],
)
def test_a_drawing_that_fails_is_one_warning_and_takes_the_older_picture_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: str, fault: str
) -> None:
    evaluator = load(tmp_path, returning(code))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert evaluator.illustrate(found(7, height=1.0)) == {"picture.svg": None, "picture.png": None}
    (record,) = caplog.records
    assert record.getMessage().startswith(f"best/ has no picture of call 7: {fault}")
    assert "evaluator.py" in record.getMessage()


def test_an_error_names_the_line_of_the_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    load(tmp_path, returning("1 / 0")).illustrate(found(height=1.0))
    assert "evaluator.py, line 9)" in caplog.text


def search(folder: Path, evaluator: str) -> Path:
    write(folder, "evaluator.py", evaluator)
    write(folder, "start.py", "def main():\n    return 8.5 + 3 * 2\n")
    return run_here(
        "task=program",
        "method=ea",
        f"task.evaluator={folder / 'evaluator.py'}",
        f"task.initial.path={folder / 'start.py'}",
        "budget.oracle_calls=8",
        "task.score_timeout=null",
        "evaluator.workers=1",
        f"outputs={folder}",
    )


def test_a_run_shows_the_picture_of_its_best_program(tmp_path: Path) -> None:
    run = search(tmp_path, DRAWING)
    best = max((row for row in rows(run, "evaluations") if row["call"] is not None), key=lambda row: row["score"])
    assert f"'height': {best['height']}" in (run / "best" / "picture.svg").read_text()


def test_a_picture_that_fails_does_not_end_a_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = search(tmp_path, returning("open('/no/such/picture').read()"))
    assert (run / "best" / "best_program.py").exists()
    assert not list((run / "best").glob("picture.*"))
    assert "draw raised FileNotFoundError" in caplog.text


VERIFYING = (
    DRAWING
    + """
    def verify(columns):
        from fractions import Fraction

        return Fraction(columns["height"]) / 3
"""
)


def test_a_value_that_the_file_verifies_is_exact(tmp_path: Path) -> None:
    verified = load(tmp_path, VERIFYING).verify(found(height=0.5))
    assert verified is not None
    assert verified.value == Fraction(1, 6)
    assert not verified.is_record
    assert load(tmp_path).verify(found(height=0.5)) is None


@pytest.mark.parametrize(
    ("code", "told"), [("1 / 0", "raised ZeroDivisionError"), ("'much'", "returned 'much', expected a finite number")]
)
def test_a_verifier_that_fails_costs_only_the_value(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: str, told: str
) -> None:
    failing = load(tmp_path, VERIFYING.replace('Fraction(columns["height"]) / 3', code))
    assert failing.verify(found(call=7, height=0.5)) is None
    assert f"no verified value of call 7: verify {told}" in caplog.text
