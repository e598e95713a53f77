"""Evaluators of users' own: what they may say, and what is refused."""

import pickle
from fractions import Fraction
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from evodiverse.errors import ContractError, InputError, ServiceError
from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.user_evaluator import UserEvaluator
from evodiverse.vocabulary import Limits, Reason, Rejection
from tests.tasks.programs.builders import EVALUATOR, EXAMPLE, write

LIMITS = Limits(5.0, 2048)
TWO_COLUMNS = """
    ENTRY_POINT = "main"
    COLUMNS = {"charm": float, "size": int}

    def score(result):
        return 1, result
"""


def evaluator_of(path: Path, score_timeout: float | None = None) -> UserEvaluator:
    return UserEvaluator(ProgramSettings(evaluator=str(path), timeout=5.0, score_timeout=score_timeout))


def load(folder: Path, content: str) -> UserEvaluator:
    return evaluator_of(write(folder, "evaluator.py", content))


def test_the_function_is_called_without_arguments_unless_the_file_names_some(tmp_path: Path) -> None:
    job = load(tmp_path, EVALUATOR).job("source")
    assert (job.source, job.entry_point, job.arguments, job.returns, job.driver) == ("source", "main", (), None, None)
    assert job.limits == LIMITS


def test_the_driver_is_read_in_the_encoding_of_the_file(tmp_path: Path) -> None:
    text = "# coding: latin-1\n" + dedent(EVALUATOR) + "\ndef drive(f):\n    return f(), 'ä'\n"
    path = tmp_path / "evaluator.py"
    path.write_bytes(text.encode("latin-1"))
    assert evaluator_of(path).job("source").driver == "def drive(f):\n    return f(), 'ä'"


def test_arguments_and_the_driver_go_into_the_job(tmp_path: Path) -> None:
    evaluator = load(
        tmp_path, EVALUATOR + "\n    ARGUMENTS = [1, {'a': 2.5}]\n\n    def drive(f, *a):\n        return f()\n"
    )
    job = evaluator.job("source")
    assert job.arguments == (1, {"a": 2.5})
    assert job.driver == "def drive(f, *a):\n    return f()"


@pytest.mark.parametrize("value", [0, 0.5, 12])
def test_a_score_is_a_number_of_at_least_0(tmp_path: Path, value: float) -> None:
    assert load(tmp_path, EVALUATOR).score(value) == Scored(float(value), {})


def test_a_score_may_come_with_columns(tmp_path: Path) -> None:
    scored = load(tmp_path, TWO_COLUMNS).score({"charm": 1, "size": 2})
    assert scored == Scored(1.0, {"charm": 1.0, "size": 2})
    assert load(tmp_path, TWO_COLUMNS).columns == {"charm": float, "size": int, "feedback": str}


def test_a_value_error_is_the_reason_for_which_a_result_is_invalid(tmp_path: Path) -> None:
    evaluator = load(tmp_path, EVALUATOR.replace("return result", "raise ValueError('too\\n heavy')"))
    assert evaluator.score(1) == Rejection(Reason.INVALID, "too heavy")


def test_an_assertion_is_the_reason_for_which_a_result_is_invalid(tmp_path: Path) -> None:
    code = "assert result < 5, 'too heavy'\n        assert result < 3\n        return result"
    evaluator = load(tmp_path, EVALUATOR.replace("return result", code))
    assert evaluator.score(5) == Rejection(Reason.INVALID, "too heavy")
    unnamed = evaluator.score(3)
    assert isinstance(unnamed, Rejection)
    assert unnamed.detail == f"the evaluator raised AssertionError ({tmp_path}/evaluator.py, line 6)"
    assert evaluator.score(2) == Scored(2.0, {})


def test_a_score_that_never_comes_fails_the_program_and_another_process_scores_the_next(tmp_path: Path) -> None:
    code = "import signal\n        while result == 7:\n            signal.pause()\n        return result"
    path = write(tmp_path, "evaluator.py", EVALUATOR.replace("return result", code))
    evaluator = evaluator_of(path, 1.5)
    assert evaluator.score(7) == Rejection(Reason.TIMED_OUT, "no score after 1.5 s")
    assert evaluator.score(2) == Scored(2.0, {})


@pytest.mark.parametrize("code", ["return 1 / result", "return result[3]", "return result.size", "return result + 'a'"])
def test_a_result_that_makes_the_evaluator_stumble_is_invalid_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: str
) -> None:
    rejection = load(tmp_path, EVALUATOR.replace("return result", code)).score(0)
    assert isinstance(rejection, Rejection)
    assert rejection.reason is Reason.INVALID
    assert rejection.detail.startswith("the evaluator raised ")
    assert "evaluator.py, line 5)" in rejection.detail
    assert "the program counts as invalid" in caplog.text


def test_an_error_in_a_library_names_the_line_of_the_file(tmp_path: Path) -> None:
    content = EVALUATOR.replace("return result", "import json; json.loads('{', cls=int)")
    assert "evaluator.py, line 5)" in load(tmp_path, content).score(0).detail


def test_any_other_error_stops_the_run_and_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        ServiceError, match=r"raised OSError: gone .*line 5\); fix it and start the run again, with overwrite=true if"
    ):
        load(tmp_path, EVALUATOR.replace("return result", "raise OSError('gone')")).score(0)


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(2), Fraction(1, 2)])
def test_any_kind_of_number_is_a_score(tmp_path: Path, value: object) -> None:
    assert load(tmp_path, EVALUATOR).score(value) == Scored(float(value), {})


def test_a_file_that_changes_is_another_evaluator_and_the_old_one_stays_as_it_was(tmp_path: Path) -> None:
    first = load(tmp_path, EVALUATOR)
    second = load(
        tmp_path, EVALUATOR.replace("return result", "return 7") + "\n    def drive(f):\n        return f()\n"
    )
    assert (first.score(1), second.score(1)) == (Scored(1.0, {}), Scored(7.0, {}))
    assert (first.job("").driver, second.job("").driver) == (None, "def drive(f):\n    return f()")


def test_a_file_may_use_dataclasses_and_future_annotations(tmp_path: Path) -> None:
    content = (
        "from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\nclass A:\n    a: int = 1\n"
    )
    path = write(tmp_path, "evaluator.py", content + dedent(EVALUATOR))
    assert evaluator_of(path).score(3) == Scored(3.0, {})


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), 10**400, True, "1", None, [1.0], (1.0, {}, 2)])
def test_anything_other_than_a_score_breaks_the_contract(tmp_path: Path, value: object) -> None:
    with pytest.raises(ContractError, match="the evaluator"):
        load(tmp_path, EVALUATOR).score(value)


@pytest.mark.parametrize(
    "details", [{"other": 1.0}, {"charm": "a"}, {"size": 1.5}, {"size": True}, {"size": 2**70}, {1: 2}, [1.0], None]
)
def test_columns_are_those_that_the_file_named(tmp_path: Path, details: object) -> None:
    with pytest.raises(
        ContractError, match=r"the columns are charm \(float\), size \(int\), feedback \(str\)|a dictionary of columns"
    ):
        load(tmp_path, TWO_COLUMNS).score(details)


def test_a_text_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    content = TWO_COLUMNS.replace('"charm": float', '"charm": str')
    with pytest.raises(ContractError, match="as charm; the columns are"):
        load(tmp_path, content).score({"charm": "\ud800"})


def test_feedback_needs_no_column_of_its_own_and_must_be_a_text(tmp_path: Path) -> None:
    evaluator = load(tmp_path, TWO_COLUMNS)
    assert evaluator.score({"feedback": "too heavy"}) == Scored(1.0, {"feedback": "too heavy"})
    with pytest.raises(ContractError, match=r"returned 3 as feedback; .*feedback \(str\)"):
        evaluator.score({"feedback": 3})


def test_the_metrics_are_the_numbers_among_the_columns(tmp_path: Path) -> None:
    content = TWO_COLUMNS.replace('"size": int', '"size": int, "packing": str')
    assert load(tmp_path, content).metrics == ("charm", "size")


STAGED = """
    ENTRY_POINT = "main"
    ARGUMENTS = [100]
    STAGES = {"quick": {"arguments": [10], "timeout": 0.5, "threshold": 0.25}, "full": {"timeout": 99}}

    def score(result, stage):
        return result, {"feedback": stage}
"""


@pytest.mark.parametrize("score_timeout", [None, 60.0])
def test_each_stage_has_its_arguments_its_limit_and_its_name(tmp_path: Path, score_timeout: float | None) -> None:
    quick, full = evaluator_of(write(tmp_path, "evaluator.py", STAGED), score_timeout).stages
    assert (quick.name, quick.threshold, full.name, full.threshold) == ("quick", 0.25, "full", None)
    assert (quick.job("source").arguments, full.job("source").arguments) == ((10,), (100,))
    assert (quick.job("source").limits, full.job("source").limits) == (Limits(0.5, 2048), LIMITS)
    assert quick.score(2, "") == Scored(2.0, {"feedback": "quick"})
    assert full.score(3, "") == Scored(3.0, {"feedback": "full"})


def test_without_stages_there_is_one_without_a_name(tmp_path: Path) -> None:
    (stage,) = load(tmp_path, EVALUATOR).stages
    assert (stage.name, stage.threshold, stage.score(2, "")) == ("", None, Scored(2.0, {}))


def test_a_model_is_told_what_each_stage_needs(tmp_path: Path) -> None:
    assert load(tmp_path, STAGED).description.splitlines() == [
        "",
        "A program runs once in each of these stages, until it fails:",
        "- quick: it may take 0.5 s of CPU time; it must score at least 0.25 there.",
        "- full: it may take 5 s of CPU time; its score is the score of the program.",
    ]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ("{'quick': {'threshold': 1}}", "must define STAGES as a dictionary .* of at least two stages"),
        ("['quick', 'full']", "must define STAGES as a dictionary"),
        ("{'a b': {'threshold': 1}, 'full': {}}", "must define STAGES as a dictionary"),
        ("{'quick': 0.5, 'full': {}}", "must define STAGES as a dictionary"),
        (
            "{'quick': {'treshold': 1, 'threshold': 1}, 'full': {}}",
            "has STAGES, whose stage quick has .*'treshold'; ex",
        ),
        ("{'quick': {}, 'full': {}}", "must give the stage quick a threshold"),
        ("{'quick': {'threshold': 0}, 'full': {}}", "must give the stage quick a threshold"),
        ("{'quick': {'threshold': 1}, 'full': {'threshold': 1}}", "must give the stage full no threshold"),
        ("{'quick': {'threshold': 1, 'timeout': True}, 'full': {}}", "must give the stage quick a timeout"),
        ("{'quick': {'threshold': 1, 'arguments': 3}, 'full': {}}", "must define the arguments of the stage quick"),
    ],
)
def test_stages_that_cannot_be_meant_are_refused(tmp_path: Path, stages: str, message: str) -> None:
    content = STAGED.replace("def score", f"STAGES = {stages}\n\n    def score")
    with pytest.raises(InputError, match=rf"task\.evaluator=.*evaluator\.py {message}"):
        load(tmp_path, content)


def test_a_score_that_asks_for_the_source_gets_it(tmp_path: Path) -> None:
    asks = EVALUATOR.replace("score(result)", "score(result, source)").replace("return result", "return len(source)")
    (stage,) = load(tmp_path, asks).stages
    assert stage.score(0, "abc") == Scored(3.0, {})
    both = STAGED.replace("score(result, stage)", "score(result, stage, *, source)").replace(
        '"feedback": stage', '"feedback": stage + source'
    )
    quick, _ = load(tmp_path, both).stages
    assert quick.score(1, "abc") == Scored(1.0, {"feedback": "quickabc"})


def test_helpers_are_in_the_job_and_their_files_are_sources_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    write(tmp_path / "tools", "helper.py", "X = 1")
    evaluator = load(tmp_path, EVALUATOR + '\n    HELPERS = "tools"\n')
    assert evaluator.job("source").folder == str(tmp_path / "tools")
    sources = UserEvaluator.find_sources(ProgramSettings(evaluator=str(tmp_path / "evaluator.py")))
    assert sources["evaluator/helper.py"] == tmp_path / "tools" / "helper.py"


@pytest.mark.parametrize("name", ["..", "a/b", "", "missing", ["tools"]])
def test_helpers_must_be_a_folder_next_to_the_evaluator(tmp_path: Path, name: object) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(InputError, match="must define HELPERS as the name of a folder next to it"):
        load(tmp_path, EVALUATOR + f"\n    HELPERS = {name!r}\n")


def test_what_else_is_next_to_the_evaluator_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "dangling").symlink_to("x" * 300)  # Python 3.11 raises an error when asked whether it is a folder
    assert load(tmp_path, EVALUATOR + '\n    HELPERS = "tools"\n').job("source").folder == str(tmp_path / "tools")


def test_all_that_is_wrong_with_columns_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, EVALUATOR + "\n    COLUMNS = {'a': list, 'feedback': str}")
    assert [" must define COLUMNS " in caught.value.violations[0], len(caught.value.violations)] == [True, 2]


def test_a_score_that_knows_no_stages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must define score\(result, stage\), because it has STAGES"):
        load(tmp_path, STAGED.replace("result, stage)", "result)"))


@pytest.mark.parametrize("parameters", ["source, result", "result, stage", ""])
def test_a_score_that_cannot_be_called_is_refused(tmp_path: Path, parameters: str) -> None:
    with pytest.raises(InputError, match=r"must define score\(result\) or score\(result, source\)"):
        load(tmp_path, EVALUATOR.replace("score(result)", f"score({parameters})"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must define ENTRY_POINT"),
        ("ENTRY_POINT = 'main'", r"must define score\(result\)"),
        ("ENTRY_POINT = 'not a name'", "must define ENTRY_POINT"),
        (EVALUATOR + "\n    COLUMNS = {'a': list}", "must define COLUMNS"),
        (EVALUATOR + "\n    COLUMNS = ['a']", "must define COLUMNS"),
        (EVALUATOR + "\n    COLUMNS = {'a': []}", "must define COLUMNS"),
        (EVALUATOR + "\n    COLUMNS = {'feedback': str}", "must name no column feedback, output"),
        (EVALUATOR + "\n    COLUMNS = {'seconds_1': float}", "must name no column feedback, output"),
        (EVALUATOR + "\n    drive = print", "must define drive with def"),
        (EVALUATOR + "\n    draw = 'circle'", r"must define draw\(columns\) as a function"),
        (EVALUATOR + "\n    ARGUMENTS = 3", "must define ARGUMENTS"),
        (EVALUATOR + "\n    ARGUMENTS = [object()]", "must define ARGUMENTS"),
        (EVALUATOR + "\n    ARGUMENTS = [float('nan')]", "must define ARGUMENTS"),
        ("import no_such_module", "cannot be imported .*no_such_module"),
        ("raise SystemExit(3)", "cannot be imported"),
        ("def (", "cannot be imported .*SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"task\.evaluator=.*evaluator\.py {message}"):
        load(tmp_path, content)


def test_a_file_that_is_missing_or_not_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read .*check the path"):
        evaluator_of(tmp_path / "absent.py")
    with pytest.raises(InputError, match="is not a Python file"):
        evaluator_of(write(tmp_path, "evaluator.txt", EVALUATOR))


def test_an_evaluator_can_be_sent_to_another_process(tmp_path: Path) -> None:
    sent = pickle.loads(pickle.dumps(load(tmp_path, TWO_COLUMNS)))
    assert sent.score({}) == Scored(1.0, {})


def test_the_worked_example_refuses_a_packing_that_cheats() -> None:
    evaluator = evaluator_of(EXAMPLE / "evaluator.py")
    _, instances = evaluator.job("").arguments
    apart = [list(range(len(items))) for items in instances]
    scored = evaluator.score(apart)
    assert isinstance(scored, Scored)
    assert scored.details == {"bins": 600}
    assert scored.score == pytest.approx(sum(map(sum, instances)) / 60_000)
    together = evaluator.score([[0] * len(items) for items in instances])
    assert isinstance(together, Rejection)
    assert "at most 100 go in" in together.detail
    assert isinstance(evaluator.score(apart[1:]), Rejection)
